"""The steps of a workflow, one class a kind (`Agent` has its own file), and their union."""

from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag

from tuvl.spec.agent import AutonomousStep, CompletionStep
from tuvl.spec.base import (
    WORDS,
    Contract,
    Count,
    Expression,
    Json,
    Many,
    Needs,
    NonNegative,
    Ruled,
    Scalar,
    Seconds,
    StepRef,
    Text,
    Tree,
)
from tuvl.spec.human import HumanStep as HumanStep  # every step class is to be had from here
from tuvl.spec.step import BaseStep

MOST_RECORDS = 1_000_000
"""Most that a `limit` may say: a list of records becomes a part of the context, whole."""

BUILT_IN_RUNNERS = ("set", "wait", "fail", "log")
"""Functional runners that come with tuvl; any other name is a node of the project."""


class FunctionalStep(BaseStep):
    """Calls a Python node of the project's `nodes/` folder."""

    kind: Literal["Functional"]
    """A Python node, or one of the built-ins `set`, `wait`, `fail`, `log`."""
    runner: Text
    """Name of the node, as its `@node(...)` gives it."""
    params: Tree = Field(default_factory=dict)
    """Parameters of the node, templates allowed at any depth; the node reads them as `ctx.params`."""


class SetStep(BaseStep):
    """Sets context keys."""

    kind: Literal["Functional"]
    """A Python node, or one of the built-ins `set`, `wait`, `fail`, `log`."""
    runner: Literal["set"]
    """The built-in `set`."""
    values: Tree
    """Context key → value; templates allowed at any depth, a single expression keeps the value's type."""


class WaitStep(BaseStep):
    """Waits."""

    kind: Literal["Functional"]
    """A Python node, or one of the built-ins `set`, `wait`, `fail`, `log`."""
    runner: Literal["wait"]
    """The built-in `wait`."""
    seconds: Seconds | Expression
    """How long, in seconds: a number or a template that gives one."""


class FailStep(BaseStep):
    """Fails on purpose: the step leaves on `error`."""

    kind: Literal["Functional"]
    """A Python node, or one of the built-ins `set`, `wait`, `fail`, `log`."""
    runner: Literal["fail"]
    """The built-in `fail`."""
    message: Text
    """What `_last_error` will say; a template."""


class LogStep(BaseStep):
    """Writes one line to the log."""

    kind: Literal["Functional"]
    """A Python node, or one of the built-ins `set`, `wait`, `fail`, `log`."""
    runner: Literal["log"]
    """The built-in `log`."""
    message: Text
    """The line; a template."""
    level: Literal["debug", "info", "warning", "error"] = "info"
    """Level of the log line."""


StatusClass: TypeAlias = Annotated[
    str, Field(pattern=r"^[1-5]xx$", json_schema_extra={WORDS: "a class of statuses such as `5xx`"})
]
StatusCode: TypeAlias = Annotated[int, Field(ge=100, le=599)]


class HttpRetry(Contract):
    """When an HTTP call is made again. Only idempotent methods, or calls with an `idempotency_key`, are."""

    attempts: Count = 1
    """Attempts in all, the first included."""
    backoff: NonNegative = 1.0
    """Seconds before the second attempt; doubled for each further one. `Retry-After` is a floor."""
    on: Many[Literal["timeout", "connect"] | StatusCode | StatusClass] = ("timeout", "connect", 429, "5xx")
    """What is worth another attempt: `timeout`, `connect`, a status (`429`) or a class of them (`5xx`)."""


class BasicAuth(Contract):
    """User and password."""

    username: Text
    """User name; `${VAR}` is read from the environment."""
    password: Text
    """Password; give it as `${VAR}`."""


class HeaderAuth(Contract):
    """A header that carries the credential."""

    name: Text
    """Header name, for example `X-Api-Key`."""
    value: Text
    """Header value; give it as `${VAR}`."""


class HttpAuth(Ruled):
    """How a call authenticates; exactly one form."""

    exactly_one: ClassVar[tuple[str, ...]] = ("bearer", "basic", "header")

    bearer: Text | None = None
    """Token for `Authorization: Bearer …`; give it as `${VAR}`."""
    basic: BasicAuth | None = None
    """User and password for `Authorization: Basic …`."""
    header: HeaderAuth | None = None
    """A header of its own."""


class Http(Ruled):
    """The request of an APICall. Values put into a URL segment, query or header stay inside it."""

    at_most_one: ClassVar[tuple[str, ...]] = ("json", "form", "body")

    url: Text
    """Where to; a template. The host may come from a template only when the project's `allow_hosts` covers it."""
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] = "GET"
    """HTTP method."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Header → value; values are templates. `Host`, and what says where a request ends, are the client's own."""
    query: dict[str, Scalar | Many[Scalar]] = Field(default_factory=dict)
    """Query parameter → value, or list of values; strings are templates."""
    json_: Json = Field(default=None, alias="json")
    """Body sent as JSON; templates allowed at any depth."""
    form: dict[str, Scalar] | None = None
    """Body sent as a form; strings are templates."""
    body: str | None = None
    """Body sent as text; a template."""
    timeout: Seconds = 30.0
    """Seconds for one attempt, reading included."""
    follow_redirects: bool = False
    """Whether redirects are followed; each hop is judged by the project's address policy."""
    max_response_bytes: Count = 10_485_760
    """Largest body that is read, in bytes after decompression; a larger one fails the step."""
    retry: HttpRetry = Field(default_factory=HttpRetry)
    """When the call is made again."""
    auth: HttpAuth | None = None
    """How the call authenticates."""


class Extract(Contract):
    """One value taken out of a response."""

    path: Text
    """Dot path into the response; a numeric segment indexes a list."""
    as_: Text = Field(alias="as")
    """Context key the value goes to."""


class ToolResponse(Contract):
    """What becomes of a result."""

    output_key: Text | None = None
    """Context key the whole result goes to."""
    extract: Many[Extract] = ()
    """Single values taken out of the result."""


class HttpResponse(ToolResponse):
    """What becomes of an HTTP response."""

    expect_status: Many[StatusCode | StatusClass] = ("2xx",)
    """Statuses that count as success; any other leaves on `error` with `_api_status_code`."""


class ApiCallStep(BaseStep):
    """Calls an HTTP API."""

    kind: Literal["APICall"]
    """An HTTP call."""
    http: Http
    """The request."""
    response: HttpResponse = Field(default_factory=HttpResponse)
    """What becomes of the response."""


class McpCall(Contract):
    """A tool of an MCP server. How the server is reached is said in the artifact, and only there."""

    server: Text
    """Reference to a `type: mcp` artifact: `artifact://name@version`."""
    tool: Text
    """Name of the tool on that server."""
    timeout: Seconds = 30.0
    """Seconds for one call."""
    arguments: Tree = Field(default_factory=dict)
    """Arguments of the tool; templates allowed at any depth."""


class McpStep(BaseStep):
    """Calls a tool of an MCP server."""

    kind: Literal["MCP"]
    """A call to an MCP server's tool."""
    mcp: McpCall
    """Which server and tool."""
    response: ToolResponse = Field(default_factory=ToolResponse)
    """What becomes of the result."""


class ModelOpStep(BaseStep, Ruled):
    """Reads or writes records of a data model that the workflow's `context:` names."""

    needs: ClassVar[tuple[Needs, ...]] = (
        Needs("operation", ("create", "update"), ("payload",)),
        Needs("operation", ("read", "update", "delete"), ("record_id",)),
    )

    kind: Literal["ModelOp"]
    """An operation on a data model."""
    model: Text
    """Name of the ModelDefinition."""
    operation: Literal["create", "read", "list", "update", "delete"]
    """What to do."""
    payload: Tree | Expression | None = None
    """Field → value for create and update, or one template that gives the mapping."""
    record_id: str | int | None = None
    """Primary key for read, update and delete; a template."""
    filters: Tree = Field(default_factory=dict)
    """Field → value that listed records must have; templates allowed."""
    include: Many[Text] = ()
    """Relations loaded with each record."""
    limit: Annotated[Count, Field(le=MOST_RECORDS)] = 100
    """Most records a list returns."""
    order_by: Text | Many[Text] | None = None
    """Field, or fields, to sort by; `-field` sorts downwards."""
    output: Text | None = None
    """Context key of the result; default `<id>_result`."""


class Condition(Ruled):
    """One typed comparison; numbers compare with numbers, text with text, anything else is an error."""

    needs: ClassVar[tuple[Needs, ...]] = (Needs("operator", ("is_empty", "is_not_empty"), ("value",), otherwise=True),)

    field: Text
    """Dot path of the context value."""
    operator: Literal["eq", "neq", "gt", "gte", "lt", "lte", "in", "contains", "is_empty", "is_not_empty"]
    """How it is compared."""
    value: Json = None
    """What it is compared with; not for `is_empty` and `is_not_empty`."""


class Match(Contract):
    """A context value as the signal."""

    field: Text
    """Dot path of the context value; as text it is the signal, `default` when no route has that name."""


class When(Contract):
    """One expression and the signal it stands for."""

    if_: Text = Field(alias="if")
    """Expression that must give a real boolean, e.g. `{{ amount > 100 }}`."""
    signal: Text
    """Signal when it is true."""


class RouterStep(BaseStep, Ruled):
    """Chooses a route from the context; exactly one of its three forms."""

    exactly_one: ClassVar[tuple[str, ...]] = ("condition", "match", "when")

    kind: Literal["Router"]
    """A decision on context values."""
    condition: Condition | None = None
    """One comparison, to the signal `true` or `false`."""
    match: Match | None = None
    """A value as the signal."""
    when: Annotated[Many[When], Field(min_length=1)] | None = None
    """Expressions in order; the first that is true names the signal, `default` when none is."""


class ResponseStep(BaseStep, Ruled):
    """Sets the run's output; exactly one form."""

    exactly_one: ClassVar[tuple[str, ...]] = ("source", "mapping")

    kind: Literal["Response"]
    """The run's output."""
    source: Text | None = None
    """Dot path of the context value that is the output."""
    mapping: dict[str, Text] | None = None
    """Output key → dot path of a context value."""


class WorkflowStep(BaseStep):
    """Runs another workflow of the project; limits and budgets are inherited, never reset."""

    kind: Literal["Workflow"]
    """Another workflow as a step."""
    workflow: Text
    """Name of the workflow."""
    input: Tree = Field(default_factory=dict)
    """Its input; templates allowed at any depth."""
    output_key: Text | None = None
    """Context key of its output; default `<id>_result`."""


class ForEachStep(BaseStep):
    """Runs one step for each item of a list; results are in the list's order."""

    kind: Literal["ForEach"]
    """A step for each item of a list."""
    items: Many[Json] | Expression
    """The list, or one template that gives it."""
    as_: Text = Field(default="item", alias="as")
    """Name under which the step sees the item."""
    step: StepRef
    """Id of the step to run."""
    concurrency: Count = 1
    """How many items run at once."""
    max_items: Count = 100
    """Longest list that is taken; a longer one fails the step."""
    output_key: Text | None = None
    """Context key of the list of results; default `<id>_result`."""


def _runner(value: Any) -> str:
    runner = value.get("runner") if isinstance(value, dict) else getattr(value, "runner", None)
    return runner if runner in BUILT_IN_RUNNERS else "custom"


Functional: TypeAlias = Annotated[
    Annotated[FunctionalStep, Tag("custom")]
    | Annotated[SetStep, Tag("set")]
    | Annotated[WaitStep, Tag("wait")]
    | Annotated[FailStep, Tag("fail")]
    | Annotated[LogStep, Tag("log")],
    Discriminator(_runner),
]

AnyAgentStep: TypeAlias = Annotated[CompletionStep | AutonomousStep, Discriminator("mode")]

Step: TypeAlias = Annotated[
    Functional
    | ApiCallStep
    | McpStep
    | ModelOpStep
    | RouterStep
    | ResponseStep
    | HumanStep
    | AnyAgentStep
    | WorkflowStep
    | ForEachStep,
    Discriminator("kind"),
]
"""One step, chosen by `kind` (a Functional one by `runner`, an Agent by `mode`)."""
