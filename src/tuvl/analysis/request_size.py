"""How large the requests of an agent can get, piece by piece."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from tuvl.analysis import own_words
from tuvl.analysis.agent_fields import AgentFields
from tuvl.analysis.amount import NOTHING, Amount, exactly, unbounded
from tuvl.analysis.history import History
from tuvl.analysis.judges import Site, look_at
from tuvl.analysis.language_models import Lookup, whole
from tuvl.analysis.measure import Measure
from tuvl.analysis.parameters import ToolUse, tool_uses
from tuvl.analysis.signals import outcomes
from tuvl.analysis.steps import StepView, WorkflowView, items, mapping
from tuvl.analysis.surroundings import Surroundings
from tuvl.analysis.text_size import TextSize, prose_sizes, size
from tuvl.analysis.value_sizes import Longest, unknown_sizes
from tuvl.dataclass import dataclass
from tuvl.values import dump_json

_ANY_REQUEST = "context_limits.max_bytes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Requests:
    """Sizes of an agent's requests, in tokens."""

    history: History
    input_site: Site
    """What the guardrails on the input cost, once."""
    fixed: float
    """What stands in every request, whatever the context holds: instructions and tools."""
    summary: Amount
    """What one compaction puts in the place of old messages."""


@dataclass(frozen=True, kw_only=True)
class RequestSizes:
    """Weighs the requests of one agent."""

    step: StepView
    workflow: WorkflowView
    fields: AgentFields
    context_bytes: int
    """Bytes of the context, items of lists around the agent included."""
    context_field: str
    project: Surroundings
    lookup: Lookup
    measure: Measure
    longest: Longest = unknown_sizes

    def requests(self) -> Requests:
        """All of it."""
        measure, fields = self.measure, self.fields
        system, user = self._opening()
        told, instructed = self._length(user), self._length(system)
        site = look_at(
            self.step,
            "input",
            exactly(measure.bytes(told), self.context_field),
            project=self.project,
            lookup=self.lookup,
            measure=measure,
            context_bytes=self.context_bytes,
        )
        instructions = measure.bytes(system.literal) + self._offer + 2 * measure.frame + measure.request_frame
        rendered = measure.bytes(instructed - system.literal)
        said = self._said_on_the_way() if fields.autonomous else NOTHING
        first = exactly(instructions + rendered) + site.text + said
        summary = self._summary()
        growth = NOTHING
        if fields.autonomous:
            # Compaction may come twice in a turn: before the request, and when the provider finds it too long.
            growth = fields.reply() + exactly(measure.frame) + summary.times(2)
        history = History(
            first=first,
            reply=growth,
            call=self._call() if fields.autonomous else NOTHING,
            calls_per_turn=fields.calls_per_turn(measure) if fields.autonomous else NOTHING,
            calls=fields.tool_calls(measure) if fields.autonomous else NOTHING,
            limit=self._limit(),
        )
        fixed = measure.bytes(system.literal + user.literal) + self._offer
        return Requests(history=history, input_site=site, fixed=fixed, summary=summary)

    def _length(self, text: TextSize) -> int:
        return text.length(self.context_bytes, proof=self.measure.retries, longest=self.longest)

    def _opening(self) -> tuple[TextSize, TextSize]:
        agent, project = self.step.agent, self.project
        injected = [key for key in items(agent.get("context_injection")) if isinstance(key, str)]
        skills = items(agent.get("skills"))
        marks = TextSize(literal=sum(own_words.DELIMITERS + 2 * size(key) for key in injected))
        if not self.fields.autonomous:
            user = prose_sizes([agent.get("prompt")], project) + marks
            system = prose_sizes([agent.get("system"), *skills], project)
            system += TextSize(literal=own_words.SKILLS + 2 * len(skills) if skills else 0)
            return system, user + TextSize(paths=tuple((key,) for key in injected))
        system = prose_sizes([agent.get("steering"), *skills], project)
        answer = sum(size(dump_json(name)) + 2 for name in outcomes(self.step))
        system += TextSize(literal=own_words.SYSTEM + answer + 2 * len(skills))
        # The whole context stands there once; what is injected is taken out of the block.
        return system, TextSize(literal=own_words.FENCE, paths=((),)) + marks

    @cached_property
    def _tools(self) -> tuple[ToolUse, ...]:
        return tuple(tool_uses(self.step, self.workflow)) if self.fields.autonomous else ()

    @cached_property
    def _offer(self) -> float:
        """Tokens of the tools in each request."""
        return sum(
            self.measure.bytes(size(use.ref) + size(use.description.strip()) + size(_schema(use.parameters)))
            + self.measure.frame
            for use in self._tools
        )

    def _call(self) -> Amount:
        """One call in the history beside what the model wrote, with its result."""
        measure, fields = self.measure, self.fields
        refusal = measure.bytes(own_words.REFUSAL)
        longest = exactly(refusal)
        for use in self._tools:
            own = whole(use.entry.get("max_result_chars"))
            name = "max_result_chars of its tools" if own else "tool_result_max_chars"
            result = exactly(measure.characters(own or fields.result_chars), name)
            if fields.result_bytes is not None:
                result = result.at_most(exactly(measure.bytes(fields.result_bytes), "tool_result_max_bytes"))
            longest = longest.or_more(result)
        return longest + exactly(2 * measure.frame)

    def _said_on_the_way(self) -> Amount:
        """What the engine and helpers say between the turns."""
        measure, fields, agent = self.measure, self.fields, self.step.agent
        said = NOTHING
        enum = sum(size(dump_json(name)) + 2 for name in outcomes(self.step))
        if fields.answer_retries:
            words = measure.bytes(own_words.CORRECTION + enum) + measure.frame
            said += exactly(words * min(fields.answer_retries, fields.iterations - 1), "answer_retries")
        if isinstance(agent.get("conclude"), dict):
            notice = agent["conclude"].get("notice")
            words = size(notice) if isinstance(notice, str) else own_words.NOTICE
            said += exactly(measure.bytes(words) + measure.frame)
        if measure.retries:  # a proof has to hold whatever these steps return
            for name, since in (("continue_on_stop", 2), ("trim", 1)):
                if isinstance(agent.get(name), str) and fields.iterations >= since:
                    said += unbounded(_ANY_REQUEST)
        return said

    def _summary(self) -> Amount:
        if not self.fields.autonomous or not isinstance(self.step.agent.get("compaction"), dict):
            return NOTHING
        return self.fields.reply() + exactly(self.measure.bytes(own_words.SUMMARY_TITLE) + self.measure.frame)

    def _limit(self) -> History | None:
        """What a bound on requests leaves of them: it counts texts, not what is around them, and not the tools."""
        found = self._limits()
        return next(found, None)

    def _limits(self) -> Iterator[History]:
        measure, fields = self.measure, self.fields
        window = mapping(self.step.agent.get("compaction"))
        if not fields.autonomous:
            return
        calls, per_turn = fields.tool_calls(measure), fields.calls_per_turn(measure)
        around = exactly(self._offer + 2 * measure.frame + measure.request_frame)
        if fields.request_bytes is not None:
            yield History(
                first=around + exactly(measure.bytes(fields.request_bytes), _ANY_REQUEST),
                reply=exactly(measure.frame),
                call=exactly(2 * measure.frame),
                calls_per_turn=per_turn,
                calls=calls,
            )
        elif window and not measure.retries:
            most = whole(window.get("max_tokens")) or self.fields.model.window
            if most is not None:
                kept = around + exactly(most, "compaction.max_tokens")
                yield History(first=kept, reply=NOTHING, call=NOTHING, calls_per_turn=NOTHING, calls=NOTHING)


def _schema(parameters: Mapping[str, Any]) -> str:
    """The parameters as they are offered."""
    return dump_json({"type": "object", "properties": {}, **parameters})
