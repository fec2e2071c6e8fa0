"""The worst case of one agent: every turn taken, every reply as long as it may be, every call made."""

from collections.abc import Callable, Mapping
from functools import cached_property

from tuvl.analysis import own_words
from tuvl.analysis.agent_fields import AgentFields, agent_fields
from tuvl.analysis.agent_seconds import agent_seconds
from tuvl.analysis.amount import NOTHING, Amount, exactly, highest
from tuvl.analysis.judges import Site, look_at, unread
from tuvl.analysis.language_models import ModelFacts, model_facts, whole
from tuvl.analysis.parameters import tool_uses
from tuvl.analysis.request_size import Requests, RequestSizes
from tuvl.analysis.scope import Scope
from tuvl.analysis.spend import NO_SPEND, Spend, by_field, calls
from tuvl.analysis.step_envelope import StepEnvelope
from tuvl.analysis.steps import StepView, mapping, text
from tuvl.analysis.supervision_spend import judge_looks, one_look, steer_tokens
from tuvl.analysis.value_sizes import Longest, unknown_sizes
from tuvl.dataclass import dataclass

TOKEN_BUDGET = "token_budget"
COST_BUDGET = "cost_budget_usd"


@dataclass(frozen=True)
class AgentEnvelope:
    """Reckons one agent under one measure; `nested` gives the worst case of a workflow that a step runs."""

    step: StepView
    scope: Scope
    nested: Callable[[StepView], StepEnvelope]
    longest: Longest = unknown_sizes
    """What is known of the lengths of values, for a figure that is no proof."""

    @cached_property
    def fields(self) -> AgentFields:
        """What bounds it."""
        return agent_fields(self.step, self.scope.project, self.scope.lookup)

    @cached_property
    def requests(self) -> Requests:
        """How large its requests get."""
        scope = self.scope
        return RequestSizes(
            step=self.step,
            workflow=scope.workflow,
            fields=self.fields,
            context_bytes=scope.context_bytes,
            context_field="limits.max_context_bytes",
            project=scope.project,
            lookup=scope.lookup,
            measure=scope.measure,
            longest=self.longest,
        ).requests()

    @cached_property
    def largest_request(self) -> Amount:
        """The last request, when no budget ends the agent before it."""
        return self.requests.history.request(self.fields.iterations if self.fields.autonomous else 1)

    @cached_property
    def unbudgeted(self) -> Spend:
        """What it uses when no budget ends it."""
        own = self._loop + self._summaries + self.requests.input_site.spend + self._answers + self._results
        own += one_look(self.step, self.scope).times(self._looks)
        tool_calls = Spend(tool_calls=self._tool_calls)
        return own + tool_calls + self._nested(self._tool_calls)

    @cached_property
    def spend(self) -> Spend:
        """What it uses within its own budgets: they are tested before each turn, and that turn is then finished."""
        spend = self.unbudgeted
        budget, cost = self.fields.token_budget, self.fields.cost_budget_usd
        if budget is not None:
            before = exactly(budget - 1, TOKEN_BUDGET)
            spend = spend.within_tokens(before + self._last_turn(before).counted_total.set_by())
        if cost is not None:
            spend = spend.within_cost(exactly(cost, COST_BUDGET) + self.turn.counted_cost.set_by())
        return spend

    @cached_property
    def turn(self) -> Spend:
        """The worst single turn."""
        return self._turn(self.largest_request)

    @cached_property
    def envelope(self) -> StepEnvelope:
        """All of it."""
        return StepEnvelope(spend=self.spend, turn=self.turn, seconds=self.seconds)

    @cached_property
    def seconds(self) -> Amount:
        """How long it may take."""
        judges = (self.requests.input_site.judges, self._result_site.judges, self._answer_site.judges)
        return agent_seconds(
            self.step,
            self.fields,
            self.scope,
            tool_calls=self._tool_calls,
            judges=judges,
            nested=self._nested_seconds,
            looks=self._looks,
        )

    # ---- pieces ------------------------------------------------------------------------------------------------

    @property
    def _iterations(self) -> Amount:
        autonomous = self.fields.autonomous
        return exactly(self.fields.iterations, "max_iterations" if autonomous else "retry.attempts")

    @property
    def _attempts(self) -> int:
        """Attempts of one model call; a request that was too long, and is compacted, is made anew."""
        attempts = self.scope.measure.attempts(self.fields.attempts)
        return 2 * attempts if self._compacts and self.scope.measure.retries else attempts

    @property
    def _compacts(self) -> bool:
        return self.fields.autonomous and isinstance(self.step.agent.get("compaction"), dict)

    @property
    def _tool_calls(self) -> Amount:
        return self.fields.tool_calls(self.scope.measure) if self.fields.autonomous else NOTHING

    @property
    def _looks(self) -> int:
        return judge_looks(self.step, self.scope.workflow, self.fields.iterations)

    @cached_property
    def _steers(self) -> Amount:
        return steer_tokens(self.step, self.scope, self.fields.iterations)

    @cached_property
    def _all_requests(self) -> Amount:
        """The requests of all turns, with what the supervisor adds to them."""
        history, count = self.requests.history, self.fields.iterations
        if not self.fields.autonomous:
            return history.first.times(count)
        return history.requests(count) + self._steers.times(count)

    @cached_property
    def _loop(self) -> Spend:
        inputs = self._all_requests
        return self._calls(self._iterations, inputs.set_by(*inputs.by, *self._iterations.by))

    def _calls(self, count: Amount, inputs: Amount) -> Spend:
        fields = self.fields
        return calls(
            count,
            inputs=inputs,
            outputs=fields.reply() * count,
            model=fields.model,
            attempts=self._attempts,
            measure=self.scope.measure,
        )

    @cached_property
    def _summaries(self) -> Spend:
        """Summaries of old messages: at most one before each request, and one when the provider finds it too long."""
        if not self._compacts:
            return NO_SPEND
        return self._summary(self.fields.iterations, self._all_requests)

    def _summary(self, turns: int, read: Amount) -> Spend:
        """The summaries of so many turns, whose requests together are `read`."""
        measure = self.scope.measure
        each = 2 if measure.retries else 1
        told = measure.bytes(own_words.SUMMARY + own_words.DELIMITERS) + 2 * measure.frame + measure.request_frame
        model = self._summary_model
        count = exactly(turns * each, "max_iterations")
        return calls(
            count,
            # Arguments of calls are JSON inside a text: each quote in them takes two bytes.
            inputs=read.times(each * each) + exactly(told).times(turns * each),
            outputs=model.longest_reply(self._asked_output, "max_output_tokens") * count,
            model=model,
            attempts=measure.attempts(self.fields.attempts),
            measure=measure,
        )

    @property
    def _asked_output(self) -> int | None:
        """What a summary is limited to: as the agent's own replies."""
        reply = self.fields.reply().value
        return self.fields.output or (None if reply is None else int(reply))

    @cached_property
    def _summary_model(self) -> ModelFacts:
        name = text(mapping(self.step.agent.get("compaction")).get("model"))
        return self.fields.model if name is None else model_facts(name, self.scope.project, self.scope.lookup)

    def _site(self, site: str, given: Amount) -> Site:
        scope = self.scope
        return look_at(
            self.step,
            site,
            given,
            project=scope.project,
            lookup=scope.lookup,
            measure=scope.measure,
            context_bytes=scope.context_bytes,
        )

    @cached_property
    def _answer_site(self) -> Site:
        return self._site("output", self.fields.reply())

    @cached_property
    def _result_site(self) -> Site:
        # Guardrails see a result in full, before it is cut; nothing says how long it may be.
        return (
            self._site("tools", unread("tools"))
            if self.fields.autonomous
            else Site(spend=NO_SPEND, judges=0, text=NOTHING)
        )

    @cached_property
    def _answers(self) -> Spend:
        """Judges of final answers: one is read anew after each correction."""
        fields = self.fields
        count = min(fields.iterations, fields.answer_retries + 1) if fields.autonomous else fields.iterations
        return self._answer_site.spend.times(count)

    @cached_property
    def _results(self) -> Spend:
        """Judges of tool results."""
        return self._result_site.spend * self._tool_calls

    @cached_property
    def _tools(self) -> tuple[tuple[StepEnvelope, int | None], ...]:
        """Tools that run workflows: the worst case of one call, and how often each may be called."""
        return tuple(
            (self.nested(use.step), whole(use.entry.get("max_calls")))
            for use in tool_uses(self.step, self.scope.workflow)
            if use.step.kind == "Workflow"
        )

    def _nested(self, count: Amount) -> Spend:
        """What the workflows behind so many tool calls use."""
        if not self._tools:
            return NO_SPEND
        together = NO_SPEND
        for envelope, most in self._tools:
            together += envelope.spend * (count if most is None else count.at_most(exactly(most, "max_calls")))
        dearest = by_field([envelope.spend for envelope, _ in self._tools], highest) * count
        return together.at_most(dearest) if len(self._tools) > 1 else together

    @property
    def _nested_seconds(self) -> Mapping[str, Amount]:
        return {
            use.ref: self.nested(use.step).seconds
            for use in tool_uses(self.step, self.scope.workflow)
            if use.step.kind == "Workflow"
        }

    def _turn(self, request: Amount) -> Spend:
        """One turn with a request of this size: the call, what surrounds it, and the calls that the reply asks for."""
        request += self._steers
        turn = self._calls(exactly(1), request) + self.requests.input_site.spend
        if self._looks:
            turn += one_look(self.step, self.scope)
        if self._compacts:
            turn += self._summary(1, request)
        pace = self.fields.calls_per_turn(self.scope.measure) if self.fields.autonomous else NOTHING
        asked = self._result_site.spend * pace + self._nested(pace) + Spend(tool_calls=pace)
        return turn + asked.or_more(self._answer_site.spend)

    def _last_turn(self, used: Amount) -> Spend:
        """The worst turn that may begin when so much is used."""
        if not self.fields.autonomous:
            return self.turn
        return self._turn(self.requests.history.last_request(self.fields.iterations, used))
