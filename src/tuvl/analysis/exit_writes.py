"""Which context keys a step writes, exit by exit: a step that fails writes nothing but the engine's own keys.

Whatever its kind, a step that leaves by `error` or `aborted` says why; the engine sees to that. A question that nobody
has answered in time did not fail: `timeout` there says nothing.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tuvl.analysis.object_keys import ObjectKeys
from tuvl.analysis.parameters import writing_tools
from tuvl.analysis.signals import ABORTED, BUILT_IN_NODES, FAILURES, outcomes
from tuvl.analysis.steps import StepView, WorkflowView, items, mapping, text
from tuvl.analysis.surroundings import Surroundings
from tuvl.dataclass import dataclass
from tuvl.spec.signals import ERROR, RESERVED_EXITS

LAST_ERROR: frozenset[str] = frozenset(
    {"_last_error", "_last_error_type", "_last_error_step", "_last_error_detail"},
)
"""Keys the engine sets when a step ends abnormally."""

STATUS_KEY = "_api_status_code"

_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Writes:
    """Keys that are set when a step leaves by one exit."""

    sure: frozenset[str] = _NONE
    """Set each time."""
    maybe: frozenset[str] = _NONE
    """Set at times, the sure ones apart."""
    more: bool = False
    """Whether keys that are not listed may be set too."""
    anything: bool = False
    """Whether nothing is known: no list is given, so any key may be there afterwards."""


NOTHING = Writes()
UNKNOWN = Writes(more=True, anything=True)


@dataclass(frozen=True, slots=True)
class ExitWrites:
    """What one step writes on success or decision, and what on its failures."""

    done: Writes
    failed: Writes
    failures: frozenset[str]
    aborted: Writes | None = None
    """What it writes on `aborted`, when that differs from other failures."""
    late: Writes | None = None
    """What it writes on `timeout`, when that is no failure."""

    def on(self, signal: str) -> Writes:
        """What is written when the step leaves by `signal`."""
        match signal:
            case "aborted" if self.aborted is not None:
                return self.aborted
            case "timeout" if self.late is not None:
                return self.late
        return self.failed if signal in self.failures else self.done


_BROKEN = Writes(sure=LAST_ERROR)
_PLAIN_FAILURES = frozenset({ERROR, ABORTED})


def exit_writes(step: StepView, workflow: WorkflowView, project: Surroundings) -> ExitWrites:
    """What a step writes on each exit, when it runs on the spine."""
    match step.kind:
        case "Functional":
            return _by_node(step, project)
        case "APICall":
            failed = Writes(sure=LAST_ERROR, maybe=frozenset({STATUS_KEY}))
            return ExitWrites(Writes(sure=_responses(step) | {STATUS_KEY}), failed, _PLAIN_FAILURES)
        case "MCP":
            return ExitWrites(Writes(sure=_responses(step)), _BROKEN, _PLAIN_FAILURES)
        case "ModelOp":
            return ExitWrites(Writes(sure=_named(step.data.get("output"), step)), _BROKEN, _PLAIN_FAILURES)
        case "Workflow" | "ForEach":
            return ExitWrites(Writes(sure=_named(step.data.get("output_key"), step)), _BROKEN, _PLAIN_FAILURES)
        case "HumanInTheLoop":
            answer = _named(step.data.get("output_key"), step)
            # Choices may be named like the exits of the engine; with an answer, the keys of the answer are set.
            late, stopped = Writes(maybe=answer), Writes(sure=LAST_ERROR, maybe=answer)
            return ExitWrites(Writes(sure=answer), _BROKEN, _PLAIN_FAILURES, aborted=stopped, late=late)
        case "Agent":
            return _by_agent(step, workflow, project)
        case "Router" | "Response":
            return ExitWrites(NOTHING, _BROKEN, _PLAIN_FAILURES)
        case _:
            return ExitWrites(UNKNOWN, UNKNOWN, _NONE)


def _named(value: object, step: StepView) -> frozenset[str]:
    return frozenset({text(value) or f"{step.id}_result"})


def response_keys(response: Mapping[str, Any]) -> Iterator[str]:
    """Keys that the `response:` of a call names."""
    for name in (response.get("output_key"), *(mapping(each).get("as") for each in items(response.get("extract")))):
        if isinstance(name, str):
            yield name


def _responses(step: StepView) -> frozenset[str]:
    return frozenset(response_keys(mapping(step.data.get("response"))))


def _by_node(step: StepView, project: Surroundings) -> ExitWrites:
    runner = text(step.data.get("runner")) or ""
    if runner in BUILT_IN_NODES:
        done = Writes(sure=frozenset(mapping(step.data.get("values")))) if runner == "set" else NOTHING
        return ExitWrites(done, _BROKEN, _PLAIN_FAILURES)
    node = project.nodes.declared.get(runner)
    if node is None or node.writes is None:
        return ExitWrites(UNKNOWN, _BROKEN, _PLAIN_FAILURES, aborted=UNKNOWN)
    written = frozenset(node.writes)
    # A node that returns `aborted` itself may hand over keys with it.
    return ExitWrites(Writes(sure=written), _BROKEN, _PLAIN_FAILURES, aborted=Writes(sure=LAST_ERROR, maybe=written))


def _by_agent(step: StepView, workflow: WorkflowView, project: Surroundings) -> ExitWrites:
    answer = _by_answer(step)
    tools = _by_tools(step, workflow, project)
    done = Writes(
        sure=answer.sure,
        maybe=answer.maybe | tools.maybe,
        more=answer.more or tools.more,
        anything=answer.anything or tools.anything,
    )
    failed = Writes(sure=LAST_ERROR, maybe=tools.maybe, more=tools.more, anything=tools.anything)
    # A loop of turns leaves by `timeout` or `parse_error` only where they are outcomes of the author's.
    return ExitWrites(done, failed, RESERVED_EXITS if step.mode == "autonomous" else FAILURES)


def _by_answer(step: StepView) -> Writes:
    """Keys that the accepted answer of an agent sets."""
    outcome = mapping(step.agent.get("outcome"))
    as_json = step.mode == "completion" and (outcome.get("format") == "json" or bool(outcomes(step)))
    if not as_json:
        return Writes(sure=_named(outcome.get("write"), step))
    whole = text(outcome.get("write"))
    sure = {whole} if whole else set()
    renamed = {field: target for field, target in mapping(outcome.get("map")).items() if isinstance(target, str)}
    fields = ObjectKeys(mapping(outcome.get("schema")))
    maybe: set[str] = set()
    for field in {*renamed, *fields.named, *fields.required} - {"outcome"}:
        (sure if field in fields.required else maybe).add(renamed.get(field, field))
    return Writes(frozenset(sure), frozenset(maybe - sure), more=fields.is_open, anything=fields.is_silent)


def _by_tools(step: StepView, workflow: WorkflowView, project: Surroundings) -> Writes:
    """Keys that tools with `writes_context` may set while the agent runs."""
    maybe: set[str] = set()
    more = anything = False
    for use in writing_tools(step, workflow):
        done = _by_answer(use.step) if use.step.kind == "Agent" else exit_writes(use.step, workflow, project).done
        maybe |= {key for key in done.sure | done.maybe if not key.startswith("_")}
        more |= done.more
        anything |= done.anything
    return Writes(maybe=frozenset(maybe), more=more, anything=anything)
