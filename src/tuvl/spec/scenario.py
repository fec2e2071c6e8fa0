"""`kind: WorkflowTest`: one scenario of a workflow, with scripted models and stubbed steps."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tuvl.spec.base import WORDS, Contract, Count, Envelope, Json, Many, NonNegative, Ruled, StepRef, Text, Tree
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
    signal: Text | None = None
    """Signal it returns; default `default`, and `error` where there is an `error`."""
    output: Json = None
    """The run's output, of a Response step."""
    error: Text | None = None
    """Message of a failure: the step then goes wrong instead of working."""
    error_type: Text | None = None
    """Type of the failure, as `_last_error_type` shows it; default `stubbed`."""


class ExpectedCall(Contract):
    """One tool call of an agent."""

    tool: StepRef
    """The tool."""
    arguments: Tree | None = None
    """Arguments and their values; the call may have others."""


_OVER = r"^(output|trace|context(\.[^.\s]+)*)$"
_OVER_WORDS = "`output`, `trace`, `context`, or `context.` and a dot path"


class JudgedAssertion(Contract):
    """What a model is asked about the run. Its verdict is reported apart, and never fails a scenario."""

    name: Text
    """What the report calls it."""
    criteria: Text
    """What must hold of the text: literal text, or an artifact of type steering."""
    model: Text | None = None
    """AgentModel or `provider/model` that judges; `tuvl test --judge-model` goes before it. Default: skipped."""
    over: Annotated[str, Field(pattern=_OVER, json_schema_extra={WORDS: _OVER_WORDS})] = "output"
    """What is judged: `output`, `trace` (what agents said and did), `context`, or one key as `context.reply`."""


class Expectation(Contract):
    """What must hold at the end; what is not given is not looked at."""

    status: Literal["completed", "failed", "aborted", "suspended"] | None = None
    """How the run ended."""
    signal: Text | None = None
    """Signal of the last step."""
    output: Json = None
    """The run's output. A mapping may have other keys, at any depth; a list has as many items."""
    context: Tree | None = None
    """Context keys and their values; other keys may be there, at any depth."""
    error_type: Text | None = None
    """Type of the last abnormal end."""
    steps: Many[StepRef] | None = None
    """Ids of the steps that ran, in order."""
    calls: Many[ExpectedCall | StepRef] | None = None
    """Tool calls of the agents, all of them and in order; a plain name looks at no arguments."""
    max_llm_calls: Annotated[int, Field(ge=0)] | None = None
    """Most model calls."""
    max_tool_calls: Annotated[int, Field(ge=0)] | None = None
    """Most tool calls."""
    max_tokens: Count | None = None
    """Most tokens, input and output together."""
    max_cost_usd: NonNegative | None = None
    """Most US dollars, at the price of the model that the replies stand for; an unknown cost fails."""
    judge: Many[JudgedAssertion] = ()
    """Assertions that a model judges, reported apart: they never fail the scenario."""


class WorkflowTestSpec(Contract):
    """One scenario."""

    workflow: Text
    """Name of the workflow."""
    input: Tree = Field(default_factory=dict)
    """Initial context."""
    models: dict[str, ScenarioModel] = Field(default_factory=dict)
    """Model, as the workflow names it → the replies that stand for it."""
    stubs: dict[str, Stub | Many[Stub]] = Field(default_factory=dict)
    """Step (`id`, in a workflow inside `workflow/id`) → what it does instead of its work; a list: one each time."""
    allow_effects: bool | Many[StepRef] = False
    """Steps that may work without a stub although they reach outside: all, or those that are named."""
    approve: Literal["all", "none"] = "none"
    """What becomes of tool calls that need a person's approval."""
    answers: dict[str, Tree | Many[Tree]] = Field(default_factory=dict)
    """HumanInTheLoop step (`id`, in a workflow inside `workflow/id`) → the answer given; a list: one each time."""
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
