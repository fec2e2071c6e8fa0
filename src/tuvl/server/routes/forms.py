"""What requests and answers look like, for their check and for the description of the API."""

from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from fastapi import Header
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.json_schema import SkipJsonSchema

from tuvl.data.run_rows import RunFilter, TraceFilter
from tuvl.server.problems import misshapen
from tuvl.server.starting import Mode
from tuvl.values import JsonObject

RunStatus: TypeAlias = Literal["queued", "running", "completed", "failed", "aborted", "suspended"]
Absent = SkipJsonSchema[None]
"""A header or query parameter that is not there; none is sent that is `null`."""

Name: TypeAlias = Annotated[str, Field(max_length=200)]

IdempotencyKey: TypeAlias = Annotated[
    str | Absent,
    Header(
        description="Requests of a caller with the same key and body start one run.",
        json_schema_extra={"minLength": 1, "maxLength": 200},
    ),
]
"""What makes several requests one start."""

Shape = TypeVar("Shape", bound=BaseModel)


class Form(BaseModel):
    """A body whose fields are all known."""

    model_config = ConfigDict(extra="forbid", strict=True)


def checked(form: type[Shape], given: JsonObject) -> Shape:
    """Return what was said, in its form; raises `Problem`. For what FastAPI does not read itself."""
    try:
        return form.model_validate(given)
    except ValidationError as error:
        raise misshapen([dict(each) for each in error.errors()]) from None


class StartRequest(Form):
    """A run to be started."""

    workflow: Annotated[str, Field(min_length=1, max_length=200, description="Name of a workflow of the project.")]
    input: Annotated[dict[str, Any], Field(default_factory=dict, description="The initial context.")]
    mode: Annotated[
        Mode,
        Field(description="Wait for the result, do not wait, or get every event as it happens (text/event-stream)."),
    ] = "sync"
    durable: Annotated[
        bool | None,
        Field(description="Keep it so that it outlives the server. By default detached runs are, where they can be."),
    ] = None
    timeout_s: Annotated[float | None, Field(gt=0, le=31_536_000, description="Longest that the run may take.")] = None
    trace: Annotated[bool, Field(description="Put the transcript of every agent into the result.")] = False


class Instruction(Form):
    """What is said to a run."""

    message: Annotated[
        str, Field(max_length=8192, description="What a steer tells the agent, or why the run is aborted.")
    ] = ""


class ProblemDetails(BaseModel):
    """Problem details (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str


class Accepted(BaseModel):
    """A run that goes on by itself; one that was started before under the same key may be over."""

    run_id: str
    workflow: str
    status: RunStatus


class ResultDocument(BaseModel):
    """How a run ended, or what it waits for; one whose process was lost has no more than these fields."""

    model_config = ConfigDict(extra="allow")

    run_id: str
    workflow: str
    status: Literal["completed", "failed", "aborted", "suspended"]
    signal: str | None
    error: dict[str, Any] | None


RESULT: dict[str, Any] = {"$ref": "#/components/schemas/ResultDocument"}
"""Schema of what a client gets that waits for a run."""

ACCEPTED: dict[str, Any] = {"anyOf": [{"$ref": "#/components/schemas/Accepted"}, RESULT]}
"""Schema of what is said of a run that has not ended."""


STREAM: dict[str, Any] = {
    "text/event-stream": {
        "itemSchema": {
            "type": "object",
            "properties": {
                "id": {"type": "string"},
                "event": {"type": "string"},
                "data": {"type": "string", "contentMediaType": "application/json"},
            },
            "required": ["event", "data"],
        }
    }
}
"""What is said of events as they happen: of each of them, in the words of OpenAPI 3.2, since 3.1 has none for it."""


class Answer(Form):
    """An answer to what a run waits for."""

    digest: Annotated[str, Field(min_length=1, max_length=200, description="Of what was asked, as it was shown.")]
    value: Annotated[
        dict[str, Any],
        Field(
            description="To a question the fields that are asked; to an approval `{approved, note}`; to an outcome "
            "that is not known `{outcome: done|retry|failed, answer}`."
        ),
    ]


class Fork(Form):
    """Where a fork leaves the run that it is made of."""

    at: Annotated[str, Field(min_length=1, max_length=200, description="Step whose first visit is done anew.")]


class AnswerTaken(BaseModel):
    """An answer that counts."""

    run_id: str
    by: str
    at: str


class Wait(BaseModel):
    """Something that a run waits for."""

    run_id: str
    workflow: str
    kind: Literal["question", "approval", "outcome_unknown"]
    step: str
    message: str
    asked: dict[str, Any]
    digest: str
    since: str
    deadline: str | None
    groups: list[str]
    assignee: str | None
    requested_by: str | None
    tenant: str | None
    obstacle: str | None = Field(description="Why the caller may not answer; `asked` has no `fields` then.")


class Waits(BaseModel):
    """What runs wait for, the oldest first."""

    waits: list[Wait]


class Directed(BaseModel):
    """What became of something that a run was told."""

    run_id: str
    directive: str
    action: Literal["pause", "resume", "steer", "abort"]
    outcome: Literal["applied", "void", "pending"]
    note: str | None


class LiveRunShown(BaseModel):
    """A run that goes on."""

    run_id: str
    workflow: str
    schema_version: str
    principal: str
    tenant: str | None
    started_at: str
    paused: bool
    alive: bool


class LiveRuns(BaseModel):
    """The runs that go on."""

    agents: list[LiveRunShown]


class RunsAsked(BaseModel):
    """Which runs a list shows; a filter that nobody knows is refused, since it would show them all."""

    model_config = ConfigDict(extra="forbid")

    workflow: Annotated[Name | Absent, Field(description="Only runs of this workflow.")] = None
    status: Annotated[RunStatus | Absent, Field(description="Only runs in this state.")] = None
    principal: Annotated[Name | Absent, Field(description="Only runs for this principal.")] = None
    limit: Annotated[int, Field(ge=1, le=500, description="Most runs.")] = 50

    def to_filter(self) -> RunFilter:
        """Return it as the store of runs takes it."""
        return RunFilter(workflow=self.workflow, status=self.status, principal=self.principal, limit=self.limit)


class TraceAsked(BaseModel):
    """What of a run's trace is shown; a filter that nobody knows is refused, since it would show all."""

    model_config = ConfigDict(extra="forbid")

    step: Annotated[Name | Absent, Field(description="Only calls of this agent.")] = None
    tool: Annotated[Name | Absent, Field(description="Only calls of this tool.")] = None

    def to_filter(self) -> TraceFilter:
        """Return it as the store of runs takes it."""
        return TraceFilter(step=self.step, tool=self.tool)


class RunSummary(BaseModel):
    """A run on record."""

    run_id: str
    workflow: str
    schema_version: str
    status: RunStatus
    signal: str | None
    principal: str
    tenant: str | None
    started_at: str
    finished_at: str | None
    duration_ms: float | None
    usage: dict[str, Any] | None
    error: dict[str, Any] | None


class RunList(BaseModel):
    """Runs, the newest first."""

    runs: list[RunSummary]


class RunShown(RunSummary):
    """A run on record, whole."""

    result: dict[str, Any] | None
    conversations: list[Any]


class Trace(BaseModel):
    """The audited calls of a run, in order."""

    entries: list[dict[str, Any]]


class WorkflowShown(BaseModel):
    """A workflow that can be started."""

    name: str
    schema_version: str
    description: str
    durable: bool
    input: Annotated[dict[str, Any] | None, Field(description="JSON Schema of its input.")]
    trigger: dict[str, Any] | None


class WorkflowList(BaseModel):
    """The workflows that can be started."""

    workflows: list[WorkflowShown]


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe the problems that a path may answer with."""
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}}
    return {status: {"description": _SAID[status], "content": content} for status in (*statuses, *_ALWAYS)}


_ALWAYS = (400, 401, 403, 408, 413, 421, 422, 429, 503)
_SAID = {
    400: "The request cannot be read.",
    401: "The token is missing, or opens nothing.",
    403: "The caller lacks a scope or a right.",
    404: "There is no such thing, or it is not the caller's to see.",
    405: "The path does not take this method.",
    408: "The body did not arrive in time.",
    409: "It cannot be done as things are.",
    413: "The body is too large.",
    415: "The body is of another type than JSON.",
    421: "The server is not known under that name.",
    422: "The request does not have the form that it must have.",
    429: "Too many requests.",
    503: "The server takes no more just now.",
}
