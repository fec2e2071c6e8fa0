"""`kind: Workflow`: the document, its limits, its trigger and its steps."""

from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field

from tuvl.spec.base import WORDS, Contract, Count, Envelope, Many, Ruled, Seconds, Text, Tree, Usd
from tuvl.spec.kinds import Step
from tuvl.spec.supervisor import Supervisor

UrlPath: TypeAlias = Annotated[str, Field(pattern=r"^/", json_schema_extra={WORDS: "a path such as `/api/triage`"})]


class Limits(Contract):
    """Bounds of a whole run."""

    max_context_bytes: Count = 262_144
    """Largest public context, as JSON, in bytes; a step whose result would exceed it fails."""
    max_steps: Count = 200
    """Most step executions, each item of a ForEach among them; tool calls are not counted."""
    timeout_s: Seconds | None = None
    """Wall clock of the run in seconds; `null` is off."""
    max_tokens: Count | None = None
    """Tokens of all models together; `null` is off."""
    max_cost_usd: Usd | None = None
    """US dollars of all models together; needs models with a known price; `null` is off."""
    concurrency: Count | None = None
    """Most runs of this workflow that go on at once, others wait for their turn; `null` is off."""


class Trigger(Ruled):
    """What starts a run on the server."""

    at_least_one: ClassVar[tuple[str, ...]] = ("path", "schedule")

    path: UrlPath | None = None
    """URL path that starts a run, e.g. `/api/triage`."""
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "POST"
    """HTTP method of that path."""
    schedule: Text | None = None
    """Cron expression of five fields that starts runs."""
    timezone: Text | None = None
    """Time zone of the schedule, e.g. `Europe/Berlin`; default UTC."""
    input: Tree = Field(default_factory=dict)
    """Input of the runs that the schedule starts."""
    public: bool = False
    """Whether it may be called without a token."""


class ModelRef(Contract):
    """A data model this workflow may touch."""

    name: Text
    """Name of the ModelDefinition."""
    version: Text | None = None
    """Its schema version; default the only one."""


class ModelRefs(Contract):
    """Data models this workflow may touch."""

    models: Many[ModelRef]
    """The models."""


ContextModels: TypeAlias = Text | Many[Text] | ModelRefs


class WorkflowSpec(Contract):
    """What the workflow takes, does and gives."""

    input: Tree | None = None
    """JSON Schema (2020-12) of the initial context."""
    durable: bool = False
    """Whether a run survives the end of its process by default."""
    limits: Limits = Field(default_factory=Limits)
    """Bounds of a whole run."""
    context: ContextModels | None = None
    """Data models this workflow may touch: a name, a list of names, or `{models: [{name, version}]}`."""
    hooks: Many[Text] = ()
    """References to `type: hook` artifacts that observe every step."""
    supervisor: Supervisor | None = None
    """Watches agents of this workflow."""
    trigger: Trigger | None = None
    """What starts a run on the server."""
    steps: Annotated[Many[Step], Field(min_length=1)]
    """The steps; the first one that is on the spine is the entry."""
    output: Text | None = None
    """Dot path of the context value that is the run's output; default the whole public context."""


class Workflow(Envelope):
    """A workflow."""

    kind: Literal["Workflow"]
    """A workflow."""
    spec: WorkflowSpec
    """What the workflow takes, does and gives."""
