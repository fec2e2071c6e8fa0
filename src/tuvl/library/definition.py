"""What an `AgentLoop` is: everything that does not change from run to run, checked when it is written down."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Literal, cast

from tuvl.agent.gates import Gates
from tuvl.agent.ports import (
    Audit,
    Continuation,
    ConversationSink,
    RequestObserver,
    Surface,
    ToolReservation,
    Trim,
    WorkReservation,
)
from tuvl.agent.prompt import system_text, user_text
from tuvl.clock import Clock, SystemClock
from tuvl.dataclass import dataclass
from tuvl.errors import UsageError
from tuvl.given import able, flag, instance, items, not_negative, one_of, positive, text
from tuvl.library.models import ModelChoice, check_model
from tuvl.library.tool import Tool
from tuvl.library.toolbox import Toolbox
from tuvl.library.typed import NotOfTypeError, NotTypableError, read_as, schema_of
from tuvl.library.values import Compaction, Conclude, Limits, Retry
from tuvl.plan.model import ContextLimits
from tuvl.spec.signals import RESERVED_EXITS
from tuvl.tools.approval import Approvals
from tuvl.tools.schema import ValueSchema, Violation, schema_problem
from tuvl.tools.toolbox import ToolPolicy
from tuvl.values import JsonObject, JsonValue, NotJsonError, dump_json, to_json

RESULT_WORDS = (
    "# Result\nYour final answer is one JSON object. Its key `result` must satisfy this JSON Schema:\n{schema}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDefinition:
    """A bounded agent: a model, a closed set of tools, the outcomes it may choose, and a bound on every axis.

    Nothing in it changes, so that any number of runs may share it. A collaborator that keeps state (a `ChatModel`
    object, a surface, a sink) is shared with it, and looks after that itself.
    """

    model: ModelChoice
    """Which model: a provider string such as `openai/gpt-4.1`, `OpenAICompatible(…)`, `LiteLLM(…)`, a `ChatModel`, or a
    function that makes one for each run."""
    tools: Toolbox | Sequence[Callable[..., object] | Tool] = ()
    """What the model may do: Python functions, `Tool` objects, or a `Toolbox`."""
    instructions: str = ""
    """What always holds for the agent."""
    skills: Sequence[str] = ()
    """Further instructions, applied when they are relevant."""
    outcomes: Sequence[str] = ()
    """Exits the model may choose; it must choose one. Without any, every answer ends on `default`."""
    result_type: object = None
    """Type of the result, or its JSON Schema: the model is told of it, and the answer is held against it."""
    limits: Limits = field(default_factory=Limits)
    """Bounds of each run."""
    retry: Retry = field(default_factory=Retry)
    """When a model call is made again."""
    policy: ToolPolicy = field(default_factory=ToolPolicy)
    """How tool calls are treated: errors, validation, repeats, time, how many run at once."""
    timeout_s: float = 120.0
    """Seconds one attempt of a model call may take."""
    max_output_tokens: int | None = None
    """Most tokens of one reply."""
    temperature: float | None = None
    """Sampling temperature."""
    steer_mode: Literal["boundary", "interrupt"] = "boundary"
    """Whether a steer waits for the next turn, or cancels the model call in flight."""
    heartbeat_s: float | None = None
    """Seconds between events while a model call or a tool is in flight."""
    stream: bool = False
    """Whether the model's text comes in pieces, as events; with gates it is held back until they have seen it."""
    conclude: Conclude | None = None
    """A notice to finish near a bound."""
    compaction: Compaction | None = None
    """Keeps a long history inside the model's window."""
    context_limits: ContextLimits | None = None
    """Bounds of one request, tested after compaction."""
    gates: Gates | None = None
    """Look at the task, at each tool's result and at the answer; may change them or end the run."""
    approvals: Approvals | None = None
    """Decides on calls of tools that need approval; without it they are refused."""
    surface: Surface | None = None
    """Narrows the offered tools, from turn 2 on."""
    trim: Trim | None = None
    """Rewrites the messages of each request."""
    reservation: WorkReservation | None = None
    """An outside quota around each model call."""
    tool_reservation: ToolReservation | None = None
    """An outside quota of tool calls, asked before the calls of a reply run."""
    observer: RequestObserver | None = None
    """Sees each request before it goes out, and may veto it."""
    continuation: Continuation | None = None
    """Asked whether there is more to do when the model has answered."""
    max_continuations: int = 3
    """How often it may say so in one run."""
    audit: Audit | None = None
    """Keeps a record of every model call and tool call."""
    conversation: ConversationSink | None = None
    """Stores the conversation as it happens."""
    name: str = "agent"
    """What events, traces and records call the agent."""
    clock: Clock = field(default_factory=SystemClock)
    """Time; a `ManualClock` in tests."""
    toolbox: Toolbox = field(init=False)
    """The tools, read."""
    result_schema: ValueSchema | None = field(init=False)
    """The schema of the result, read."""

    def __post_init__(self) -> None:
        """Refuse what cannot be meant, and read the tools and the type of the result."""
        where = type(self).__name__
        check_model(self.model)
        text(where, "name", self.name)
        positive(where, "timeout_s", self.timeout_s)
        positive(where, "max_output_tokens", self.max_output_tokens, whole=True, optional=True)
        positive(where, "heartbeat_s", self.heartbeat_s, optional=True)
        positive(where, "max_continuations", self.max_continuations, whole=True)
        one_of(where, "steer_mode", self.steer_mode, ("boundary", "interrupt"))
        if self.temperature is not None:
            not_negative(where, "temperature", self.temperature)
        instance(where, "instructions", self.instructions, str)
        flag(where, "stream", self.stream)
        self._check_parts(where)
        self._check_ports(where)
        _check_outcomes(self.outcomes)
        items(where, "skills", self.skills)
        for skill in self.skills:
            text(where, "skills", skill)
        object.__setattr__(self, "toolbox", Toolbox.of(self.tools))
        object.__setattr__(self, "result_schema", _result_schema(self.result_type))

    def _check_parts(self, where: str) -> None:
        instance(where, "limits", self.limits, Limits)
        instance(where, "retry", self.retry, Retry)
        instance(where, "policy", self.policy, ToolPolicy)
        instance(where, "conclude", self.conclude, Conclude, optional=True)
        instance(where, "compaction", self.compaction, Compaction, optional=True)
        instance(where, "context_limits", self.context_limits, ContextLimits, optional=True)

    def _check_ports(self, where: str) -> None:
        able(where, "gates", self.gates, "input", "observation", "output")
        able(where, "approvals", self.approvals, "ask")
        able(where, "surface", self.surface, "offered")
        able(where, "trim", self.trim, "trimmed")
        able(where, "reservation", self.reservation, "reserve", "refund")
        able(where, "tool_reservation", self.tool_reservation, "reserve")
        able(where, "observer", self.observer, "observe_request")
        able(where, "continuation", self.continuation, "more")
        check_records(where, self.audit, self.conversation)
        if self.clock is None:
            raise UsageError(f"{where}: clock is None; leave it out for the real time")
        able(where, "clock", self.clock, "now", "monotonic", "sleep")

    def opening(self, task: str | Mapping[str, object], untrusted: Sequence[str]) -> tuple[str, str]:
        """Return the system prompt and the first user message of a run; raises `UsageError`."""
        system = system_text(self.instructions, self.skills, self.outcomes)
        if self.result_schema is not None:
            system += "\n\n" + RESULT_WORDS.format(schema=dump_json(self.result_schema.schema))
        if isinstance(task, str):
            text("the task", "text", task)
            if untrusted:
                raise UsageError("untrusted names keys of a task; give the task as a mapping")
            return system, task
        return system, user_text(_task(task), _known(untrusted, task))


def check_records(where: str, audit: object, conversation: object) -> None:
    """Refuse what can keep no record; `None` keeps none."""
    able(where, "audit", audit, "completion", "tool_call")
    able(where, "conversation", conversation, "append")


def _check_outcomes(outcomes: Sequence[str]) -> None:
    items("AgentLoop", "outcomes", outcomes)
    for outcome in outcomes:
        text("AgentLoop", "outcomes", outcome)
        if outcome in RESERVED_EXITS:
            raise UsageError(f"outcome {outcome!r} is reserved; the engine ends runs on it. Choose another name")
    if len(set(outcomes)) < len(outcomes):
        raise UsageError("outcomes repeats a name")


class TypedResult(ValueSchema):
    """The schema of a Python type, and the type itself: that 2030-13-01 is no date, only the type knows."""

    def __init__(self, schema: Mapping[str, JsonValue], kind: object) -> None:
        super().__init__(schema)
        self._kind = kind

    def is_valid(self, value: JsonValue) -> bool:
        """Tell whether a value fits."""
        return not self.violations(value)

    def violations(self, value: JsonValue, *, most: int = 5) -> list[Violation]:
        """Return what is wrong with a value by the schema, else by the type."""
        found = super().violations(value, most=most)
        if found:
            return found
        try:
            read_as(value, cast(type[object], self._kind))
        except NotOfTypeError as error:
            return [Violation(path=(), keyword="type", message=str(error))]
        except Exception as error:  # noqa: BLE001 - a type may bring validators of its own, which are guests
            return [Violation(path=(), keyword="type", message=f"cannot be read as its type ({type(error).__name__})")]
        return []


def _result_schema(kind: object) -> ValueSchema | None:
    if kind is None:
        return None
    if isinstance(kind, Mapping):
        schema = cast(JsonObject, dict(kind))
        problem = schema_problem(schema)
        if problem is not None:
            raise UsageError(f"result_type is no JSON Schema: {problem}")
        return ValueSchema(schema)
    try:
        return TypedResult(schema_of(kind), kind)
    except NotTypableError as error:
        raise UsageError(f"result_type {kind!r} cannot be described to a model: {error}") from error


def _task(task: object) -> JsonObject:
    if not isinstance(task, Mapping):
        raise UsageError(f"the task is a {type(task).__name__!r}; give a text or a mapping")
    try:
        value: JsonValue = to_json(task, where="the task")
    except NotJsonError as error:
        raise UsageError(str(error)) from None
    return cast(JsonObject, value)


def _known(untrusted: Sequence[str], task: Mapping[str, object]) -> Sequence[str]:
    items("the task", "untrusted", untrusted)
    unknown = [name for name in untrusted if name not in task]
    if unknown:
        raise UsageError(f"untrusted names {unknown[0]!r}, which is no key of the task")
    return untrusted
