"""`kind: ProjectConfig`: `tuvl.yaml`, the settings of a project."""

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from tuvl.spec.base import WORDS, Contract, Count, Effects, Envelope, Many, Metadata, Name, Text, Usd
from tuvl.spec.workflow import Limits

Sha256: TypeAlias = Annotated[
    str, Field(pattern=r"^[0-9a-fA-F]{64}$", json_schema_extra={WORDS: "64 hexadecimal digits"})
]


class Folders(Contract):
    """Folders of the project, from its root."""

    workflows: Text = "workflows"
    """Workflows."""
    artifacts: Text = "artifacts"
    """Artifacts."""
    llms: Text = "llms"
    """Language models."""
    models: Text = "models"
    """Data models."""
    datasources: Text = "datasources"
    """Data sources."""
    nodes: Text = "nodes"
    """Python nodes."""
    tests: Text = "tests"
    """Scenario tests."""


class HttpPolicy(Contract):
    """Which addresses HTTP calls may reach."""

    allow_hosts: Many[Text] = ()
    """Hosts that may be reached even when private, and that a template may name; `*.example.com` covers subdomains."""
    deny_private: bool = True
    """Whether loopback, link-local and private addresses are refused."""


class ApprovalPolicy(Contract):
    """Which tools need a person's approval."""

    effects: Many[Effects] = ()
    """Effects whose tools need it."""


class Policy(Contract):
    """What holds for every workflow of the project; a workflow can only be stricter."""

    max_cost_usd_per_run: Usd | None = None
    """US dollars of one run; `null` is off."""
    max_tokens_per_run: Count | None = None
    """Tokens of one run; `null` is off."""
    allow_models: Many[Text] | None = None
    """Patterns of the models that may be called, e.g. `openai/*`; default all."""
    allow_hosts: Many[Text] | None = None
    """The only hosts that HTTP calls, MCP servers and addresses of models may lead to; default any."""
    require_approval: ApprovalPolicy | None = None
    """Which tools need a person's approval."""
    require_pins: bool = False
    """Whether references to artifacts must name a version."""


class ArtifactSource(Contract):
    """A pack of artifacts from elsewhere."""

    name: Name
    """Name of the pack."""
    url: Text
    """Where it is."""
    sha256: Sha256
    """SHA-256 of the pack, checked before anything in it is read."""


CheckSeverity: TypeAlias = Literal["error", "warning", "note", "ignore"]


class Checks(Contract):
    """How much the checks of `tuvl validate` weigh in this project."""

    severity: Mapping[Text, CheckSeverity] = Field(default_factory=dict)
    """By code, e.g. `TV302: error`; `ignore` leaves it out. Wins over `[tool.tuvl.severity]` of `pyproject.toml`."""


class ProjectSpec(Contract):
    """Settings of the project."""

    folders: Folders = Field(default_factory=Folders)
    """Folders of the project."""
    default_model: Text | None = None
    """Model of agents that name none: an AgentModel name or a provider string."""
    limits: Limits | None = None
    """Limits of workflows that set none of their own, field by field."""
    http: HttpPolicy = Field(default_factory=HttpPolicy)
    """Which addresses HTTP calls may reach."""
    policy: Policy = Field(default_factory=Policy)
    """What holds for every workflow."""
    artifact_sources: Many[ArtifactSource] = ()
    """Packs of artifacts from elsewhere."""
    checks: Checks = Field(default_factory=Checks)
    """How much the checks of `tuvl validate` weigh."""


class ProjectMetadata(Metadata):
    """Who the project is."""

    name: Name = "project"
    """Name of the project."""


class ProjectConfig(Envelope):
    """Settings of a project."""

    kind: Literal["ProjectConfig"]
    """Settings of a project."""
    metadata: ProjectMetadata = Field(default_factory=ProjectMetadata)
    """Who the project is."""
    spec: ProjectSpec = Field(default_factory=ProjectSpec)
    """Settings of the project."""
