"""`spec.supervisor`: rules and a judge that watch agents while they run."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Discriminator, Field

from tuvl.spec.base import Contract, Count, Many, Reaction, StepRef, Text


class IterationReached(Contract):
    """Speaks when an agent has made that many model calls."""

    when: Literal["iteration_reached"]
    """What the rule waits for."""
    gte: Count
    """Iteration from which it holds."""
    then: Reaction
    """What happens, once a run."""


class ToolRepeated(Contract):
    """Speaks when a tool was called that often."""

    when: Literal["tool_repeated"]
    """What the rule waits for."""
    tool: StepRef | None = None
    """The tool; default any."""
    count: Count = 3
    """Calls from which it holds."""
    then: Reaction
    """What happens, once a run."""


class BudgetFraction(Contract):
    """Speaks when that part of a budget is used."""

    when: Literal["budget_fraction"]
    """What the rule waits for."""
    gt: Annotated[float, Field(gt=0, lt=1)] = 0.8
    """Part of the token or cost budget, between 0 and 1."""
    then: Reaction
    """What happens, once a run."""


class NoProgress(Contract):
    """Speaks when iterations in a row brought nothing new."""

    when: Literal["no_progress"]
    """What the rule waits for."""
    count: Count
    """Iterations in a row."""
    then: Reaction
    """What happens, once a run."""


SupervisorRule: TypeAlias = Annotated[
    IterationReached | ToolRepeated | BudgetFraction | NoProgress, Discriminator("when")
]


class Judge(Contract):
    """A model that looks at counts and tool names, never at values."""

    model: Text | None = None
    """AgentModel name or provider string."""
    criteria: Text | None = None
    """What it judges by: text or a reference to a `type: steering` artifact."""
    every_n_iterations: Count = 1
    """How often it looks."""
    on_violation: Reaction = "pause"
    """What happens when it objects."""
    on_judge_error: Literal["ignore", "pause", "abort"] = "ignore"
    """What happens when it cannot be asked."""


class Supervisor(Contract):
    """Watches agents of this workflow."""

    watches: Annotated[Many[StepRef], Field(min_length=1)]
    """Ids of the Agent steps."""
    rules: Many[SupervisorRule] = ()
    """Rules, each with its reaction."""
    judge: Judge | None = None
    """A model that looks at counts and tool names."""
    steer_message: Text | None = None
    """What a `steer` reaction says to the agent."""
