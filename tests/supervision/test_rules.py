"""Rules over any course of a loop: each speaks exactly once, and never later than its bound."""

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from tuvl.agent.limits import Budget
from tuvl.llm.meter import Meter
from tuvl.spec.supervisor import BudgetFraction, IterationReached, NoProgress, SupervisorRule, ToolRepeated
from tuvl.supervision.rules import LoopFacts, met, speaking
from tuvl.supervision.watching import LoopWatch
from tuvl.tools.arguments import Arguments
from tuvl.tools.result import Observation
from tuvl.tools.tool import ToolFailure
from tuvl.tools.toolbox import RequestedCall

TOOLS = ("look", "put")
BUDGET = 1000

small = st.integers(1, 6)
rules = st.lists(
    st.one_of(
        st.builds(IterationReached, when=st.just("iteration_reached"), gte=small, then=st.just("pause")),
        st.builds(
            ToolRepeated,
            when=st.just("tool_repeated"),
            tool=st.sampled_from([None, *TOOLS]),
            count=small,
            then=st.just("pause"),
        ),
        st.builds(BudgetFraction, when=st.just("budget_fraction"), gt=st.floats(0.05, 0.95), then=st.just("pause")),
        st.builds(NoProgress, when=st.just("no_progress"), count=small, then=st.just("pause")),
    ),
    max_size=5,
)


@dataclass(frozen=True)
class Call:
    tool: str
    argument: int
    result: int
    failed: bool


@dataclass(frozen=True)
class Turn:
    tokens: int
    calls: tuple[Call, ...] = ()


calls = st.builds(Call, st.sampled_from([*TOOLS, "unknown"]), st.integers(0, 2), st.integers(0, 2), st.booleans())
turns = st.lists(st.builds(Turn, st.integers(0, 400), st.lists(calls, max_size=4).map(tuple)), max_size=8)


@dataclass
class Course:
    """A loop that goes the way of some turns, and looks at its rules where the real one does."""

    rules: list[SupervisorRule]
    spoken: list[int] = field(default_factory=list)
    late: list[str] = field(default_factory=list)

    def go(self, course: list[Turn]) -> None:
        meter = Meter()
        self.watch = LoopWatch(TOOLS, [Budget(meter=meter, max_tokens=BUDGET)])
        for number, turn in enumerate(course):
            self.look(number)
            meter.total_tokens += turn.tokens
            for call in turn.calls:
                self.look(number + 1)
                self.watch.called(call.tool)
            self.watch.turn_ended(*_answered(turn.calls))
        self.look(len(course))

    def look(self, iterations: int) -> None:
        facts = self.watch.facts(iterations)
        silent = [(index, rule) for index, rule in enumerate(self.rules) if index not in self.spoken]
        self.spoken += [each.index for each in speaking(silent, facts)]
        self.late += [rule.when for index, rule in enumerate(self.rules) if _over(rule, facts, index in self.spoken)]


def _over(rule: SupervisorRule, facts: LoopFacts, spoken: bool) -> bool:
    """Whether a bound is passed of a rule that is silent; said here in other words than in the code."""
    match rule:
        case IterationReached(gte=least):
            passed = facts.iterations > least - 1
        case ToolRepeated(tool=None, count=least):
            passed = any(count > least - 1 for count in facts.calls.values())
        case ToolRepeated(tool=tool, count=least):
            passed = facts.calls[tool] > least - 1
        case BudgetFraction(gt=part):
            passed = facts.budget_used * BUDGET > part * BUDGET
        case NoProgress(count=least):
            passed = facts.idle > least - 1
    return passed and not spoken


def _answered(asked: tuple[Call, ...]) -> tuple[list[RequestedCall], list[Observation]]:
    requested, observed = [], []
    for number, call in enumerate(asked):
        arguments = Arguments(values={"n": call.argument}, history="{}")
        requested.append(RequestedCall(id=str(number), name=call.tool, arguments=arguments))
        failure = ToolFailure(type="error", message="no") if call.failed else None
        observed.append(
            Observation(call_id=str(number), tool=call.tool, content=str(call.result), size=1, failure=failure)
        )
    return requested, observed


@given(rules, turns)
def test_a_rule_speaks_at_most_once_and_never_after_its_bound(rules, course):
    loop = Course(rules)
    loop.go(course)
    assert loop.late == []
    assert len(loop.spoken) == len(set(loop.spoken))


@given(rules, turns)
def test_a_rule_speaks_when_its_condition_held_at_some_time_and_only_then(rules, course):
    loop = Course(rules)
    loop.go(course)
    silent = Course([])
    held: set[int] = set()
    silent.look = lambda iterations: held.update(  # type: ignore[method-assign]
        index for index, rule in enumerate(rules) if met(rule, silent.watch.facts(iterations)) is not None
    )
    silent.go(course)
    assert set(loop.spoken) == held


@given(turns)
def test_calls_of_undeclared_tools_are_neither_counted_nor_named(course):
    loop = Course([])
    loop.go(course)
    assert set(loop.watch.facts(0).calls) == set(TOOLS)


@given(turns)
def test_idle_turns_are_the_last_ones_without_a_first_success_of_its_kind(course):
    loop = Course([])
    loop.go(course)
    seen, idle = set(), 0
    for turn in course:
        fresh = {(each.tool, each.argument, each.result) for each in turn.calls if not each.failed} - seen
        seen |= fresh
        idle = 0 if fresh else idle + 1
    assert loop.watch.facts(0).idle == idle
