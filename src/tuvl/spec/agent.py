"""The `Agent` step in its two modes, and what its `agent:` block may say."""

from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from tuvl.spec.base import WORDS, Contract, Count, Many, NonNegative, Seconds, StepRef, Temperature, Text, Tree, Usd
from tuvl.spec.signals import RESERVED_EXITS, Reserved
from tuvl.spec.step import BaseStep

Approval: TypeAlias = Annotated[
    str,
    Field(
        pattern=r"^(never|required)$|\{\{",
        json_schema_extra={WORDS: "`never`, `required`, or an expression such as `{{ args.amount > 100 }}`"},
    ),
]
Exit: TypeAlias = Annotated[
    str, Field(min_length=1, json_schema_extra={"not": {"enum": [exit.value for exit in Reserved]}})
]
Percent: TypeAlias = Annotated[int, Field(ge=1, le=100)]


class Retry(Contract):
    """When a model call is made again; the engine owns all retries."""

    attempts: Count = 1
    """Attempts in all, the first included."""
    on: Many[Literal["timeout", "error", "parse_error"]] = ("timeout", "error")
    """What is worth another attempt; `parse_error` concerns `mode: completion` only."""
    backoff: NonNegative = 1.0
    """Seconds before the second attempt; doubled for each further one. `Retry-After` is a floor."""
    max_backoff_s: Seconds = 30.0
    """Longest wait between two attempts, in seconds."""


class Outcome(Contract):
    """How the answer is read, where it goes, and which exits the model may choose."""

    write: Text | None = None
    """Context key of the result; default `<id>_result`."""
    enum: Annotated[Many[Exit], Field(json_schema_extra={"uniqueItems": True})] = ()
    """Exits the model may choose; each needs a route. Without it the exit is `default`."""
    format: Literal["json", "text"] = "text"
    """`mode: completion`: whether the answer is text or one JSON object whose fields go to the context."""
    map: dict[str, Text] = Field(default_factory=dict)
    """Answer field → context key, for `format: json`."""
    schema_: Tree | None = Field(default=None, alias="schema")
    """JSON Schema (2020-12) that the result must satisfy."""

    @model_validator(mode="after")
    def _check_enum(self) -> Self:
        reserved = RESERVED_EXITS.intersection(self.enum)
        if reserved:
            raise ValueError(f"enum uses reserved exits: {', '.join(sorted(reserved))}")
        if len(set(self.enum)) < len(self.enum):
            raise ValueError("enum repeats a value")
        return self


class Guardrails(Contract):
    """Guardrail artifacts by the site where they look."""

    input: Many[Text] = ()
    """On the assembled user text, before the model sees it."""
    tools: Many[Text] = ()
    """On each tool result, before the model sees it; `mode: autonomous` only."""
    output: Many[Text] = ()
    """On the final text, before anything is written."""


class ToolEntry(Contract):
    """A step of this workflow offered to the model as a tool."""

    ref: StepRef
    """Id of the step."""
    description: str | None = None
    """What the model reads of it; default the step's own description."""
    parameters: Tree | None = None
    """JSON Schema (2020-12) of the arguments; derived from what a call or `ModelOp` takes, else any object."""
    writes_context: bool = False
    """Whether what the call changed goes into the context of the run."""
    timeout_s: Seconds | None = None
    """Seconds one call may take; default the step's `timeout_s`, else `TUVL_AGENT_TOOL_TIMEOUT_S`."""
    max_calls: Count | None = None
    """Most calls of this tool in one run of the agent; `null` is off."""
    max_result_chars: Count | None = None
    """Longest result the model gets, in characters; default the agent's `tool_result_max_chars`."""
    approval: Approval = "never"
    """Whether a person must approve a call: `never`, `required`, or an expression such as `{{ args.amount > 100 }}`."""
    on_timeout: Literal["fail", "report"] = "fail"
    """Whether a timeout ends the agent on `error` or is reported to the model."""


class Conclude(Contract):
    """Near a bound, one notice to finish."""

    margin: Annotated[int, Field(ge=0)] = 1
    """Notice when this many iterations or fewer are left; 0 is never."""
    deadline_s: Seconds | None = None
    """Notice once the agent has run this many seconds."""
    notice: Text | None = None
    """Text of the notice."""
    offer_tools: bool = True
    """`false`: the last iteration offers no tools."""


class Compaction(Contract):
    """Summarises older messages when a request grows too large."""

    max_tokens: Count | None = None
    """Size of a request, in tokens, that the percentages count from; default the model's `context_window`."""
    reserve: Count | None = None
    """Tokens kept free for the answer; default `max_output_tokens`."""
    trigger_percent: Percent = 80
    """Compact at this fill."""
    target_percent: Percent = 50
    """Compact down to this fill."""
    recent_tail: Count = 8
    """Newest messages that are always kept."""
    preserve: Many[Text] = ()
    """Tools whose results are always kept."""
    model: Text | None = None
    """Model that summarises; default the agent's."""
    calibrate: bool = True
    """Whether token estimates are corrected by the usage that the provider reports."""


class Conversation(Contract):
    """A built-in store of conversations."""

    store: Literal["sql"]
    """The built-in SQL store."""
    id: Text
    """Id of the conversation; a template."""


class Reserve(Contract):
    """Functional steps asked around each model call, for a quota kept elsewhere."""

    reserve: StepRef
    """Step asked before a call; its failure stops the agent."""
    refund: StepRef | None = None
    """Step told after a call what was really used."""
    observe_request: StepRef | None = None
    """Step that may veto a call, retries included."""


class ContextLimits(Contract):
    """Largest request, tested after compaction."""

    max_bytes: Count | None = None
    """Most bytes of messages; `null` is off."""
    max_messages: Count | None = None
    """Most messages; `null` is off."""


class Agent(Contract):
    """What both modes have in common."""

    model: Text | None = None
    """AgentModel name, or a provider string such as `openai/gpt-4o`; default the project's `default_model`."""
    context_injection: Many[Text] = ()
    """Context keys given to the model as delimited, untrusted content."""
    skills: Many[Text] = ()
    """Instructions applied when relevant: text or references to `type: skill` artifacts."""
    guardrails: Guardrails = Field(default_factory=Guardrails)
    """Guardrail artifacts by site."""
    retry: Retry = Field(default_factory=Retry)
    """When a model call is made again."""
    timeout_s: Seconds | None = None
    """Seconds one model call may take; default the preset's `timeout`, else 120."""
    max_output_tokens: Count | None = None
    """Most tokens of one reply; default the preset's `max_tokens`."""
    temperature: Temperature | None = None
    """Sampling temperature; default the preset's."""
    outcome: Outcome = Field(default_factory=Outcome)
    """How the answer is read, where it goes, and which exits the model may choose."""


class CompletionAgent(Agent):
    """`mode: completion`: one model call, no tools."""

    system: Text | None = None
    """System prompt: text, a template, or a reference to a `type: prompt` artifact."""
    prompt: Text | None = None
    """User prompt: text, a template, or a reference to a `type: prompt` artifact."""


class AutonomousAgent(Agent):
    """`mode: autonomous`: the bounded tool loop."""

    steering: Text | None = None
    """Instructions that always hold: text or a reference to a `type: steering` or `type: prompt` artifact."""
    tools: Annotated[Many[ToolEntry], Field(min_length=1)]
    """The closed set of steps the model may call."""
    max_iterations: Count = 8
    """Most model calls of the loop; transport retries are not counted."""
    token_budget: Count | None = None
    """Tokens in all; `null` is off."""
    cost_budget_usd: Usd | None = None
    """US dollars in all; needs a model with a known price; `null` is off."""
    budget_check: Literal["turn_start", "after_call"] = "turn_start"
    """Whether budgets are tested before each model call, or also after it and before its tools run."""
    max_wall_clock_s: Seconds | None = None
    """Seconds in all, pauses included; cancels what is in flight; `null` is off."""
    max_tool_calls: Count | None = None
    """Tool calls in all, unknown and repeated ones included; `null` is off."""
    max_calls_per_turn: Count | None = None
    """Most calls in one reply; with more, none of them runs; `null` is off."""
    max_consecutive_tool_failures: Count | None = None
    """Replies in a row in which every call failed; `null` is off."""
    max_repeated_calls: Count | None = None
    """So many calls of one tool with the same arguments and the same result end the agent; `null` is off."""
    tool_concurrency: Count = 1
    """How many calls of one reply run at once; steps that write stay serial among themselves."""
    dedup_within_turn: bool = False
    """Whether a call repeated in one reply is answered by a notice instead of being run."""
    arg_validation: Literal["strict", "lenient", "none"] = "strict"
    """How arguments are held against `parameters`; `lenient` converts texts and numbers that the schema makes clear."""
    tool_error_policy: Literal["report", "fail"] = "report"
    """Whether a failed tool is reported to the model or ends the agent on `error`."""
    tool_result_max_chars: Count = 8000
    """Longest tool result the model gets, in characters."""
    tool_result_max_bytes: Count | None = None
    """Longest tool result the model gets, in bytes of UTF-8; `null` is off."""
    answer_retries: Annotated[int, Field(ge=0)] = 0
    """How often an unreadable answer is answered by a correction and another iteration."""
    conclude: Conclude | None = None
    """Near a bound, one notice to finish; `null` is off."""
    steer_mode: Literal["boundary", "interrupt"] = "boundary"
    """Whether a steer waits for the next iteration or cancels the model call in flight."""
    compaction: Compaction | None = None
    """Summarises older messages when a request grows too large; `null` is off."""
    trim: StepRef | None = None
    """Functional step that rewrites the message list before each model call."""
    heartbeat_s: Seconds | None = None
    """Seconds between events while one model call or tool is in flight; `null` is off."""
    stream: bool = False
    """Whether text arrives as events while the model writes it."""
    conversation: Conversation | StepRef | None = None
    """Where each turn is appended as it happens: a store, or a Functional step."""
    audit: bool | None = None
    """One record for each model call and tool call; default on in `serve` and in durable runs."""
    continue_on_stop: StepRef | None = None
    """Functional step asked on every graceful stop; what it returns is appended and the loop goes on."""
    max_continuations: Count = 3
    """How often `continue_on_stop` may go on."""
    tool_surface: StepRef | None = None
    """Functional step that may narrow the offered tools from the second iteration on."""
    reserve: Reserve | None = None
    """Functional steps asked around each model call, for a quota kept elsewhere."""
    context_limits: ContextLimits | None = None
    """Largest request; `null` is off."""


class AgentStep(BaseStep):
    """A step that a language model decides."""

    kind: Literal["Agent"]
    """A step that a language model decides."""


class CompletionStep(AgentStep):
    """One model call."""

    mode: Literal["completion"]
    """`completion`: one model call. `autonomous`: the bounded tool loop."""
    agent: CompletionAgent
    """What the model is told and how its answer is read."""


class AutonomousStep(AgentStep):
    """The bounded tool loop."""

    mode: Literal["autonomous"]
    """`completion`: one model call. `autonomous`: the bounded tool loop."""
    agent: AutonomousAgent
    """What the model is told, what it may do, and what bounds it."""
