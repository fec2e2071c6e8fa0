"""The gates of one agent run: each text passes the guards of its site, in order, or ends the run."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tuvl.errors import StepError
from tuvl.guardrails.guard import Guard, GuardServices, Objection
from tuvl.guardrails.guards.llm_judge import LlmJudge
from tuvl.guardrails.register import guard_for
from tuvl.plan.guards import GuardrailPlan, GuardrailSites
from tuvl.spec.signals import Reserved

Site: TypeAlias = Literal["input", "tools", "output"]

VIOLATION = Reserved.GUARDRAIL_VIOLATION


@dataclass(frozen=True, slots=True)
class Posted:
    """A guard, and the artifact it comes from as `name@version`."""

    artifact: str
    guard: Guard


@dataclass(slots=True)
class GuardedGates:
    """Looks at the user text, at each tool result in full, and at the final answer."""

    _input: tuple[Posted, ...]
    _tools: tuple[Posted, ...]
    _output: tuple[Posted, ...]
    _services: GuardServices

    @classmethod
    def of(cls, sites: GuardrailSites, services: GuardServices) -> "GuardedGates":
        """Make the gates of one agent run; raises `ConfigError` for a judge whose model cannot be made."""
        return cls(
            _posted(sites.input, services), _posted(sites.tools, services), _posted(sites.output, services), services
        )

    async def input(self, text: str) -> str:
        """Look at the assembled user text, before anything is sent; judges without a price are refused first."""
        for posted in (*self._input, *self._tools, *self._output):
            if isinstance(posted.guard, LlmJudge):
                self._services.require_price(posted.guard.model)
        return await _pass(self._input, "input", text)

    async def observation(self, text: str) -> str:
        """Look at the whole text of a tool result."""
        return await _pass(self._tools, "tools", text)

    async def output(self, text: str) -> str:
        """Look at the final answer, before it is read and anything is written."""
        return await _pass(self._output, "output", text)


def _posted(plans: Sequence[GuardrailPlan], services: GuardServices) -> tuple[Posted, ...]:
    return tuple(Posted(plan.artifact, guard_for(check, services)) for plan in plans for check in plan.checks)


async def _pass(guards: Sequence[Posted], site: Site, text: str) -> str:
    for posted in guards:
        try:
            text = await posted.guard.look(text)
        except Objection as objection:
            raise _violation(posted, site, objection) from objection
    return text


def _violation(posted: Posted, site: Site, objection: Objection) -> StepError:
    check = posted.guard.check
    return StepError(
        f"guardrail {posted.artifact!r} refused the {_WORDS[site]}: check {check!r}, {objection}",
        type=VIOLATION.value,
        signal=VIOLATION.value,
        detail={"artifact": posted.artifact, "check": check, "site": site},
    )


_WORDS = {"input": "input", "tools": "result of a tool", "output": "answer"}
