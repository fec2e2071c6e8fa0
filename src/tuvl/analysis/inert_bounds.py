"""Bounds that can never be reached, and bounds that are reached at once; each said with the numbers that show it."""

from collections.abc import Iterator

from tuvl.analysis.agent_envelope import AgentEnvelope
from tuvl.analysis.fault import Fault
from tuvl.analysis.language_models import positive, whole
from tuvl.analysis.parameters import tool_uses
from tuvl.analysis.run_bounds import RunBounds
from tuvl.analysis.steps import StepView, mapping
from tuvl.dataclass import dataclass
from tuvl.values import number_text

LEAVE_OUT = "lower it, or leave it out"
"""What to do about a bound that another one, or the sum of all turns, makes pointless."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InertBounds:
    """Compares the bounds of one autonomous agent with what it can use at most, and at least."""

    step: StepView
    proved: AgentEnvelope
    expected: AgentEnvelope
    run: RunBounds

    def found(self) -> Iterator[Fault]:
        """All of them, in the order of the fields."""
        yield from self._tokens()
        yield from self._dollars()
        yield from self._calls()
        yield from self._repeats()
        yield from self._failures()
        yield from self._deadlines()
        yield from self._compaction()

    def _fault(
        self, field: str, value: float, why: str, hint: str = LEAVE_OUT, *, below: tuple[str, ...] = ()
    ) -> Fault:
        path = (*self.step.path, "agent", *below, field)
        place = self.step.agent if not below else mapping(self.step.agent.get(below[0]))
        # The number that stands in the file, which may be larger than any that is reckoned with.
        written = place.get(field)
        shown = number_text(written if isinstance(written, int | float) else value)
        return Fault(path, f"`{field}: {shown}` of step {self.step.id!r} {why}", hint)

    def _tokens(self) -> Iterator[Fault]:
        budget = self.proved.fields.token_budget
        if budget is None:
            return
        most, first = self.proved.unbudgeted.total_tokens.value, self.expected.requests.fixed
        if self.run.max_tokens is not None and budget > self.run.max_tokens:
            why = f"is never reached: `{self.run.max_tokens_field}: {self.run.max_tokens}` ends the run before"
        elif most is not None and budget > most:
            why = f"is never reached: all its turns together use {most:,.0f} tokens at most"
        elif first >= budget:
            why = f"lets it make one call: instructions and tools of one request take about {first:,.0f} tokens already"
            yield self._token_fault(budget, why, "raise it, or shorten the instructions and the tools")
            return
        else:
            return
        yield self._token_fault(budget, why, LEAVE_OUT)

    def _token_fault(self, budget: int, why: str, hint: str) -> Fault:
        return self._fault("token_budget", budget, why, hint)

    def _dollars(self) -> Iterator[Fault]:
        fields = self.proved.fields
        budget, price = fields.cost_budget_usd, fields.model.input_price
        if budget is None:
            return
        most = self.proved.unbudgeted.cost_usd.value
        first = None if price is None else price * self.expected.requests.fixed
        if self.run.max_cost_usd is not None and budget > self.run.max_cost_usd:
            limit = f"{self.run.max_cost_field}: {number_text(self.run.max_cost_usd)}"
            yield self._fault("cost_budget_usd", budget, f"is never reached: `{limit}` ends the run before")
        elif most is not None and budget > most:
            yield self._fault(
                "cost_budget_usd", budget, f"is never reached: all its turns together cost ${most:.4g} at most"
            )
        elif first is not None and first >= budget:
            why = f"lets it make one call: instructions and tools of one request cost about ${first:.4g} already"
            yield self._fault("cost_budget_usd", budget, why, "raise it, or shorten the instructions and the tools")

    def _calls(self) -> Iterator[Fault]:
        fields = self.proved.fields
        turn, total, iterations = fields.max_calls_per_turn, fields.max_tool_calls, fields.iterations
        if turn is not None and total is not None and turn > total:
            yield self._fault("max_calls_per_turn", turn, f"is never reached: `max_tool_calls: {total}` ends it before")
        elif turn is not None and total is not None and total > turn * iterations:
            why = f"is never reached: {iterations} iterations of {turn} calls make {turn * iterations}"
            yield self._fault("max_tool_calls", total, why)
        bounds = [total] if total is not None else []
        bounds += [turn * iterations] if turn is not None else []
        for use in tool_uses(self.step, self.proved.scope.workflow):
            most = whole(use.entry.get("max_calls"))
            if most is not None and bounds and most > min(bounds):
                yield Fault(
                    (*use.path, "max_calls"),
                    f"`max_calls: {number_text(use.entry['max_calls'])}` of tool {use.ref!r} is never reached: "
                    f"step {self.step.id!r} makes {min(bounds)} calls at most",
                    LEAVE_OUT,
                )

    def _repeats(self) -> Iterator[Fault]:
        bound, fields = whole(self.step.agent.get("max_repeated_calls")), self.proved.fields
        most = self.proved.fields.max_tool_calls
        if fields.max_calls_per_turn is not None:
            of_turns = fields.max_calls_per_turn * fields.iterations
            most = of_turns if most is None else min(most, of_turns)
        if bound == 1:
            why = "is reached at once: the first call of any tool ends the agent"
            yield self._fault("max_repeated_calls", bound, why, "2 is the smallest number that lets a tool be called")
        elif bound is not None and most is not None and bound > most:
            why = f"is never reached: the agent makes {most} calls at most"
            yield self._fault("max_repeated_calls", bound, why)

    def _failures(self) -> Iterator[Fault]:
        iterations = self.proved.fields.iterations
        for field in ("max_consecutive_tool_failures", "answer_retries"):
            bound = whole(self.step.agent.get(field))
            least = 0 if field == "max_consecutive_tool_failures" else 1
            if bound is not None and bound > iterations - least:
                yield self._fault(field, bound, f"is never reached: `max_iterations: {iterations}` ends it before")

    def _deadlines(self) -> Iterator[Fault]:
        clock = self.proved.fields.max_wall_clock_s
        around = {"timeout_s": positive(self.step.data.get("timeout_s")), "limits.timeout_s": self.run.timeout_s}
        if clock is not None:
            for name, deadline in around.items():
                if deadline is not None and clock > deadline:
                    yield self._fault(
                        "max_wall_clock_s", clock, f"is never reached: `{name}: {number_text(deadline)}` ends it before"
                    )
                    break
        deadlines = {name: deadline for name, deadline in {"max_wall_clock_s": clock, **around}.items() if deadline}
        if not deadlines:
            return
        name = min(deadlines, key=lambda each: deadlines[each])
        late = positive(mapping(self.step.agent.get("conclude")).get("deadline_s"))
        if late is not None and late >= deadlines[name]:
            why = f"is never reached: `{name}: {number_text(deadlines[name])}` ends it before"
            yield self._fault("deadline_s", late, why, below=("conclude",))
        for use in tool_uses(self.step, self.proved.scope.workflow):
            timeout = positive(use.entry.get("timeout_s"))
            if timeout is not None and timeout > deadlines[name]:
                yield Fault(
                    (*use.path, "timeout_s"),
                    f"`timeout_s: {number_text(timeout)}` of tool {use.ref!r} is never reached: "
                    f"`{name}: {number_text(deadlines[name])}` ends step {self.step.id!r} before",
                    LEAVE_OUT,
                )

    def _compaction(self) -> Iterator[Fault]:
        compaction = mapping(self.step.agent.get("compaction"))
        trigger, target = whole(compaction.get("trigger_percent")) or 80, whole(compaction.get("target_percent")) or 50
        if compaction and target >= trigger:
            field = "target_percent" if "target_percent" in compaction else "trigger_percent"
            why = f"drops nothing: compaction begins at {trigger} percent and stops at {target}"
            value = target if field == "target_percent" else trigger
            yield self._fault(field, value, why, "let the target be lower than the trigger", below=("compaction",))


def late_deadlines(step: StepView, run: RunBounds) -> Iterator[Fault]:
    """Deadlines of a step, and of its call, that come after one that ends it before."""
    if step.kind == "HumanInTheLoop":
        return  # a run that waits for a person does not run
    own = positive(step.data.get("timeout_s"))
    if own is not None and run.timeout_s is not None and own > run.timeout_s:
        yield _late(step, ("timeout_s",), "limits.timeout_s", run.timeout_s)
    around = {"timeout_s": own, "limits.timeout_s": run.timeout_s}
    deadlines = {name: deadline for name, deadline in around.items() if deadline is not None}
    for block in ("http", "mcp"):
        timeout = positive(step.get(block, "timeout"))
        if timeout is not None and deadlines:
            name = min(deadlines, key=lambda each: deadlines[each])
            if timeout > deadlines[name]:
                yield _late(step, (block, "timeout"), name, deadlines[name])


def _late(step: StepView, inside: tuple[str, ...], name: str, deadline: float) -> Fault:
    field, written = ".".join(inside), step.get(*inside)
    shown = number_text(written) if isinstance(written, int | float) else "…"
    return Fault(
        (*step.path, *inside),
        f"`{field}: {shown}` of step {step.id!r} is never reached: `{name}: {number_text(deadline)}` ends it before",
        LEAVE_OUT,
    )
