"""The compiled workflow: frozen, resolved, in the words of the engine. Durations are seconds."""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Literal, TypeAlias

from tuvl.data.model import DataModel, Operation
from tuvl.dataclass import dataclass
from tuvl.given import positive
from tuvl.http.url import UrlTemplate
from tuvl.mcp.endpoint import McpServer
from tuvl.plan.guards import GuardrailSites
from tuvl.plan.hooks import HookPlan
from tuvl.plan.language_model import ModelPlan as ModelPlan
from tuvl.plan.supervisor import SupervisorPlan
from tuvl.spec.human import HumanStep
from tuvl.spec.kinds import ApiCallStep, ToolResponse
from tuvl.templating.render import Template, TemplateTree
from tuvl.tools.schema import ValueSchema
from tuvl.tools.tool import ArgValidation, ToolPlan
from tuvl.values import JsonValue

Effects = Literal["read", "write"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """Bounds of a whole run; `None` is off."""

    max_steps: int = 200
    timeout_s: float | None = None
    max_tokens: int | None = None
    max_cost_usd: float | None = None
    max_context_bytes: int = 262_144
    concurrency: int | None = None
    """Most runs of the workflow at once, where they share a queue or a process."""
    max_tokens_field: str = "limits.max_tokens"
    """Which field set `max_tokens`: the workflow's own, or the project's policy."""
    max_cost_field: str = "limits.max_cost_usd"
    """The same of `max_cost_usd`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLimits:
    """Bounds of one agent; `None` is off."""

    max_iterations: int = 8
    token_budget: int | None = None
    cost_budget_usd: float | None = None
    budget_check: Literal["turn_start", "after_call"] = "turn_start"
    max_wall_clock_s: float | None = None
    max_tool_calls: int | None = None
    max_calls_per_turn: int | None = None
    max_consecutive_tool_failures: int | None = None
    max_repeated_calls: int | None = None
    answer_retries: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPlan:
    """How often a model call is attempted, on what, and the wait between: `backoff_s * 2**n`, capped."""

    attempts: int = 1
    on: frozenset[str] = frozenset({"timeout", "error"})
    backoff_s: float = 1.0
    max_backoff_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcludePlan:
    """When an agent is told to finish: `margin` turns before the last, or after `deadline_s` seconds."""

    margin: int = 1
    deadline_s: float | None = None
    notice: str = "The limit of this run is near. Finish now: reply with your final answer, without a tool call."
    offer_tools: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextLimits:
    """Bounds of one request to the model, tested after compaction; `None` is off."""

    max_bytes: int | None = None
    max_messages: int | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        positive("ContextLimits", "max_bytes", self.max_bytes, whole=True, optional=True)
        positive("ContextLimits", "max_messages", self.max_messages, whole=True, optional=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionPlan:
    """How a long history is kept inside `max_tokens - reserve` tokens; `preserve` names tools whose calls stay."""

    max_tokens: int
    reserve: int = 0
    trigger_percent: float = 80
    target_percent: float = 50
    recent_tail: int = 8
    preserve: frozenset[str] = frozenset()
    model: "ModelPlan | None" = None
    calibrate: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomePlan:
    """How an agent's answer is read and where it goes."""

    write: str
    enum: tuple[str, ...] = ()
    format: Literal["text", "json"] = "text"
    map: Mapping[str, str] = field(default_factory=dict)
    write_whole: bool = True
    """Completion with `format: json`: whether the whole payload goes to `write` too."""
    schema: ValueSchema | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservePlan:
    """Steps asked around each model call; each is the id of a Functional step."""

    reserve: str
    refund: str | None = None
    observe_request: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPlan:
    """An `Agent` step of either mode. `trim`, `tool_surface` and `continue_on_stop` are ids of Functional steps."""

    mode: Literal["completion", "autonomous"]
    model: ModelPlan
    outcome: OutcomePlan
    limits: AgentLimits
    retry: RetryPlan
    timeout_s: float
    max_output_tokens: int | None = None
    temperature: float | None = None
    steering: Template | None = None
    skills: tuple[Template, ...] = ()
    context_injection: tuple[str, ...] = ()
    system: Template | None = None
    prompt: Template | None = None
    tools: tuple[ToolPlan, ...] = ()
    tool_error_policy: Literal["report", "fail"] = "report"
    arg_validation: ArgValidation = "strict"
    dedup_within_turn: bool = False
    tool_concurrency: int = 1
    conclude: ConcludePlan | None = None
    compaction: CompactionPlan | None = None
    context_limits: ContextLimits | None = None
    trim: str | None = None
    tool_surface: str | None = None
    continue_on_stop: str | None = None
    max_continuations: int = 3
    reserve: ReservePlan | None = None
    heartbeat_s: float | None = None
    steer_mode: Literal["boundary", "interrupt"] = "boundary"
    stream: bool = False
    audit: bool = False
    conversation: Template | str | None = None
    """Id of the conversation in the store of runs; a plain text is the id of a Functional step that keeps it."""
    guardrails: GuardrailSites = field(default_factory=GuardrailSites)


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionalPlan:
    """A custom node: the function that `@node(runner)` marks in `file`, imported when a step first needs it.

    However late that is, what is imported is the file as the plan was compiled from it.
    """

    runner: str
    file: str
    source: bytes = field(repr=False)
    """What the file held."""
    code: str
    """Digest of all code in the folder of the file, which it may import."""
    params: TemplateTree


@dataclass(frozen=True, slots=True, kw_only=True)
class SetPlan:
    """Built-in `set`."""

    values: TemplateTree


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitPlan:
    """Built-in `wait`."""

    seconds: float | Template


@dataclass(frozen=True, slots=True, kw_only=True)
class FailPlan:
    """Built-in `fail`."""

    message: Template


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPlan:
    """Built-in `log`."""

    message: Template
    level: Literal["debug", "info", "warning", "error"] = "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiCallPlan:
    """An HTTP call; `spec` holds the literal settings, the trees what is rendered for each call.

    `url` is compiled by `http.url.compile_url`, `idempotency_key` comes from the step itself. The three host fields
    are the project's: `spec.http.allow_hosts`, `spec.http.deny_private` and `spec.policy.allow_hosts`.
    """

    spec: ApiCallStep
    url: UrlTemplate
    headers: TemplateTree
    query: TemplateTree
    body: TemplateTree | None
    body_kind: Literal["json", "form", "body"] | None
    idempotency_key: Template | None
    allow_hosts: tuple[str, ...] = ()
    deny_private: bool = True
    only_hosts: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class McpPlan:
    """A call of a tool of an MCP server."""

    server: McpServer
    tool: str
    timeout_s: float
    arguments: TemplateTree
    response: ToolResponse


Operator: TypeAlias = Literal["eq", "neq", "gt", "gte", "lt", "lte", "in", "contains", "is_empty", "is_not_empty"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionPlan:
    """Router form 1: one typed comparison, to `true` or `false`."""

    field: tuple[str, ...]
    operator: Operator
    value: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchPlan:
    """Router form 2: a value as the signal; `default` when that value has no route."""

    field: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WhenPlan:
    """Router form 3: the first expression that is true names the signal; `default` when none is."""

    cases: tuple[tuple[Template, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponsePlan:
    """The run's output: one key, or a mapping of names to dot paths."""

    source: tuple[str, ...] | None = None
    mapping: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOpPlan:
    """An operation on records of a data model; `models` are that model and those its relations lead to, by name.

    `payload` is a tree of templates or one template that gives the mapping, `order_by` names fields (`-field` sorts
    downwards).
    """

    operation: Operation
    model: DataModel
    models: Mapping[str, DataModel]
    output: str
    payload: TemplateTree | Template | None = None
    record_id: Template | int | None = None
    filters: TemplateTree | None = None
    include: tuple[str, ...] = ()
    limit: int = 100
    order_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SubWorkflowPlan:
    """Another workflow of the project as a step; its output goes to `output_key`."""

    plan: "ExecutionPlan"
    input: TemplateTree
    output_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ForEachPlan:
    """The step `step`, once for each item of a list; the results go to `output_key`, in the list's order."""

    items: TemplateTree
    name: str
    """Name under which the step sees its item."""
    step: str
    output_key: str
    concurrency: int = 1
    max_items: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallPlan:
    """One call of an agent's tool in place of a loop; no file has such a step, `with_tool_call` makes it."""

    agent: AgentPlan
    tool: ToolPlan
    arguments: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanPlan:
    """A question to a person; who may answer is judged when the answer comes."""

    spec: HumanStep
    title: Template
    instruction: Template | None
    assignee: Template | None
    output_key: str


Action: TypeAlias = (
    FunctionalPlan
    | SetPlan
    | WaitPlan
    | FailPlan
    | LogPlan
    | ApiCallPlan
    | McpPlan
    | ConditionPlan
    | MatchPlan
    | WhenPlan
    | ResponsePlan
    | AgentPlan
    | ModelOpPlan
    | SubWorkflowPlan
    | ForEachPlan
    | ToolCallPlan
    | HumanPlan
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPlan:
    """One step: what it does, and where each signal leads (`END` ends the run)."""

    id: str
    kind: str
    action: Action
    routes: Mapping[str, str]
    next: str | None
    """Where an unmapped `default` falls through to; `None` at the last step of the spine."""
    effects: Effects
    keyed: bool = False
    """Whether an `idempotency_key` makes it harmless to run the step again."""
    timeout_s: float | None = None
    hooks: tuple[HookPlan, ...] = ()
    """What observes this step: the hooks of the workflow, then its own."""
    required_scope: str | None = None
    required_group: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionPlan:
    """A workflow ready to run; it is shared by any number of runs at once, so nothing in it changes."""

    workflow: str
    schema_version: str
    entry: str
    steps: Mapping[str, StepPlan]
    limits: RunLimits
    input_schema: ValueSchema | None = None
    output: tuple[str, ...] | None = None
    required_scope: str | None = None
    required_group: str | None = None
    hooks: tuple[HookPlan, ...] = ()
    """What observes the run as a whole: the `on_stop` hooks of the workflow."""
    durable: bool = False
    """Whether the workflow asks to be run so that it survives its process."""
    supervisor: SupervisorPlan | None = None
    """What watches the agents of the run, and steps in."""
    refusals: tuple[str, ...] = ()
    """Why a run refuses before its first step: what this version cannot do yet, what the project's policy forbids."""

    def with_tool_call(self, call: ToolCallPlan) -> "ExecutionPlan":
        """Return a plan that makes one call of a tool of this workflow, and nothing else."""
        # No file can have this id: it is none by the rules for ids.
        step_id = f"call:{call.tool.ref}"
        step = StepPlan(id=step_id, kind="ToolCall", action=call, routes={}, next=None, effects=call.tool.effects)
        return replace(self, entry=step_id, steps={**self.steps, step_id: step}, input_schema=None, output=None)

    def with_nested(self) -> "tuple[ExecutionPlan, ...]":
        """Return this plan and those of the workflows that it runs as steps, at any depth, each once."""
        found: dict[str, ExecutionPlan] = {self.workflow: self}
        ahead = [self]
        while ahead:
            for step in ahead.pop().steps.values():
                if isinstance(step.action, SubWorkflowPlan) and step.action.plan.workflow not in found:
                    found[step.action.plan.workflow] = step.action.plan
                    ahead.append(step.action.plan)
        return tuple(found.values())
