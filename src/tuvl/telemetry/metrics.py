"""Events of a run → OpenTelemetry counters, and the process's own counters on their way out."""

from collections import Counter
from collections.abc import Iterable, Mapping

from opentelemetry.metrics import CallbackOptions, MeterProvider, Observation

from tuvl import __version__
from tuvl.events.types import (
    AgentEnded,
    Event,
    Intervened,
    Iteration,
    RunFinished,
    RunStarted,
    ToolCallFinished,
    ToolCallStarted,
)
from tuvl.metrics import HOOK_EVENTS, Counters
from tuvl.spec.signals import Reserved

METER = "tuvl.agent"

REFUSED = "(refused)"
"""Stands for the tool of a call that was not run: the name may be one that the model made up."""


class Metrics:
    """The instruments of one provider; `sink` counts one run with them."""

    def __init__(self, provider: MeterProvider) -> None:
        meter = provider.get_meter(METER, __version__)
        self.iterations = meter.create_counter("tuvl.agent.iterations", "{turn}", "Turns of agents.")
        self.tool_calls = meter.create_counter("tuvl.agent.tool_calls", "{call}", "Tool calls that were answered.")
        self.aborts = meter.create_counter("tuvl.agent.aborts", "{agent}", "Agents that were aborted.")
        self.budget_exceeded = meter.create_counter(
            "tuvl.agent.budget_exceeded", "{agent}", "Agents that ran out of a budget."
        )
        self.interventions = meter.create_counter(
            "tuvl.supervisor.interventions", "{intervention}", "Times that a supervisor or a person stepped in."
        )
        self.active = meter.create_up_down_counter("tuvl.runs.active", "{run}", "Runs that are going on.")
        self._counters: list[Counters] = []
        meter.create_observable_counter(HOOK_EVENTS, [self._observe], "{event}", "Hooks with `action: metric`.")

    def sink(self) -> "MetricsSink":
        """Return a sink for one run."""
        return MetricsSink(self)

    def export(self, counters: Counters) -> None:
        """Let what an engine counts itself, hooks for one, be read whenever the provider collects."""
        self._counters.append(counters)

    def _observe(self, _: CallbackOptions) -> Iterable[Observation]:
        sums: Counter[frozenset[tuple[str, str]]] = Counter()
        for counters in self._counters:
            for name, told, amount in counters.items():
                if name == HOOK_EVENTS:
                    sums[frozenset(told.items())] += amount
        return [Observation(amount, dict(told)) for told, amount in sums.items()]


class MetricsSink:
    """Counts the events of one run. Attributes are names that stand in files, so that there are only so many."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._workflow = ""
        self._running: set[str] = set()

    def accept(self, event: Event) -> None:
        """Count one event."""
        body = event.body
        match body:
            case RunStarted():
                self._workflow = body.workflow
                self._metrics.active.add(1, {"tuvl.workflow": self._workflow})
            case RunFinished():
                self._metrics.active.add(-1, {"tuvl.workflow": self._workflow})
            case Iteration():
                self._metrics.iterations.add(1, self._of(event))
            case ToolCallStarted():
                self._running.add(body.call_id)
            case ToolCallFinished():
                called = {"tuvl.agent.tool": self._tool(body), "tuvl.agent.tool_signal": body.signal}
                self._metrics.tool_calls.add(1, {**self._of(event), **called})
            case Intervened():
                said = {"tuvl.supervisor.action": body.action, "tuvl.supervisor.source": body.source}
                self._metrics.interventions.add(1, {**self._of(event), **said})
            case AgentEnded(signal=Reserved.ABORTED):
                self._metrics.aborts.add(1, self._of(event))
            case AgentEnded(signal=Reserved.BUDGET_EXCEEDED):
                self._metrics.budget_exceeded.add(1, self._of(event))
            case _:
                return

    def _of(self, event: Event) -> Mapping[str, str]:
        # The items of a list are one step: `each[3]/agent` is counted as `each[]/agent`.
        step = "/".join(part.partition("[")[0] + "[]" * ("[" in part) for part in (event.step_id or "").split("/"))
        return {"tuvl.workflow": self._workflow, "tuvl.agent.step_id": step}

    def _tool(self, answered: ToolCallFinished) -> str:
        if answered.call_id not in self._running:
            return REFUSED
        self._running.discard(answered.call_id)
        return answered.tool
