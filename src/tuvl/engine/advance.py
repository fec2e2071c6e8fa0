"""Where a signal leads: `(plan, step, signal)` → the next step, or the end. Pure."""

from typing import Literal, TypeAlias

from tuvl.dataclass import dataclass
from tuvl.errors import EngineError
from tuvl.plan.model import ExecutionPlan, StepPlan
from tuvl.spec.signals import DEFAULT, END, ERROR, Reserved
from tuvl.values import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Goto:
    """The run goes on with this step."""

    step: StepPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """The workflow reached an end, by a route or by fall-through."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """The run ends here, cleanly, on a failure or abort that nothing routes."""

    status: Literal["failed", "aborted"]
    warning: str


Move: TypeAlias = Goto | Finish | Stop


def advance(plan: ExecutionPlan, step: StepPlan, signal: str) -> Move:
    """Return the next move; raises `EngineError` for a signal that the step does not map."""
    target = step.routes.get(signal)
    if target is None and signal == DEFAULT:
        target = END if step.next is None else step.next
    if target == END:
        return Finish()
    if target is not None:
        return Goto(step=plan.steps[target])
    if signal in {ERROR, Reserved.ABORTED}:
        return Stop(
            status="failed" if signal == ERROR else "aborted",
            warning=f"step {step.id!r} left on {signal!r}, which it does not map; the run ends here",
        )
    mapped = ", ".join(repr(name) for name in sorted(step.routes)) or "none"
    raise EngineError(
        f"step {step.id!r} left on the signal {signal!r}, which it does not map (mapped: {mapped});"
        f" add `{signal}: <step id>` to its routes",
        type="unmapped_signal",
        step=step.id,
        detail={"signal": signal, "mapped": list[JsonValue](sorted(step.routes))},
    )
