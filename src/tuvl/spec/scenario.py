"""`kind: WorkflowTest`: one scenario of a workflow, with scripted models and stubbed steps."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tuvl.spec.base import Contract, Count, Envelope, Json, Many, Ruled, StepRef, Text, Tree
from tuvl.spec.llm import ScriptedReply


class ScenarioModel(Ruled):
    """Replies that stand for a model."""

    exactly_one: ClassVar[tuple[str, ...]] = ("script", "replies")

    script: Text | None = None
    """Path of a file of replies, from the folder of this file."""
    replies: Many[ScriptedReply | str] | None = None
    """The replies; a plain text is short for `{text: …}`."""


class Stub(Contract):
    """What a step does instead of its work."""

    delta: Tree = Field(default_factory=dict)
    """Context keys it sets."""
    signal: Text = "default"
    """Signal it returns."""
    error: Text | None = None
    """Message of a failure; the step then leaves on `error`."""


class Expectation(Contract):
    """What must hold at the end; what is not given is not looked at."""

    status: Literal["completed", "failed", "aborted", "suspended"] | None = None
    """How the run ended."""
    signal: Text | None = None
    """Signal of the last step."""
    output: Json = None
    """The run's output, exactly."""
    context: Tree | None = None
    """Context keys and their values; other keys may be there."""
    error_type: Text | None = None
    """Type of the last abnormal end."""
    steps: Many[StepRef] | None = None
    """Ids of the steps that ran, in order."""
    tool_calls: Many[StepRef] | None = None
    """Tools that were called, in order."""
    max_llm_calls: Count | None = None
    """Most model calls."""


class WorkflowTestSpec(Contract):
    """One scenario."""

    workflow: Text
    """Name of the workflow."""
    input: Tree = Field(default_factory=dict)
    """Initial context."""
    models: dict[str, ScenarioModel] = Field(default_factory=dict)
    """Model, as the workflow names it → the replies that stand for it."""
    stubs: dict[str, Stub] = Field(default_factory=dict)
    """Step id → what it does instead of its work."""
    answers: dict[str, Tree] = Field(default_factory=dict)
    """HumanInTheLoop step id → the answers given."""
    timeout_s: Annotated[float, Field(gt=0)] = 30.0
    """Seconds the scenario may take."""
    expect: Expectation
    """What must hold at the end."""


class WorkflowTest(Envelope):
    """A scenario test."""

    kind: Literal["WorkflowTest"]
    """A scenario test."""
    spec: WorkflowTestSpec
    """The scenario."""
