"""`kind: Artifact` (guardrail, hook, mcp), and the front matter of prose artifacts."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Discriminator, Field

from tuvl.spec.base import ArtifactMetadata, Contract, Count, Envelope, Many, Name, StepRef, Text, Tree


class JsonSchemaCheck(Contract):
    """The text must be JSON that satisfies a schema."""

    check: Literal["json_schema"]
    """Which check."""
    schema_: Tree = Field(alias="schema")
    """JSON Schema (2020-12)."""


class RegexDenyCheck(Contract):
    """No pattern may match."""

    check: Literal["regex_deny"]
    """Which check."""
    patterns: Annotated[Many[Text], Field(min_length=1)]
    """Regular expressions that can be matched in linear time."""


class MaxCharsCheck(Contract):
    """The text may not be longer."""

    check: Literal["max_chars"]
    """Which check."""
    limit: Count
    """Most characters."""


class PiiMaskCheck(Contract):
    """Masks personal data; never fails."""

    check: Literal["pii_mask"]
    """Which check."""
    fields: Many[Text] | None = None
    """Keys that are masked at any depth; default the `secure` fields of the workflow's data models."""


class LlmJudgeCheck(Contract):
    """A model judges the text."""

    check: Literal["llm_judge"]
    """Which check."""
    model: Text
    """AgentModel name or provider string."""
    criteria: Text
    """What it judges by: text or a reference to a `type: steering` artifact."""
    on_judge_error: Literal["ignore", "violation"] = "ignore"
    """What happens when the model cannot be asked; an unreadable verdict is always a violation."""


Check: TypeAlias = Annotated[
    JsonSchemaCheck | RegexDenyCheck | MaxCharsCheck | PiiMaskCheck | LlmJudgeCheck, Discriminator("check")
]


class GuardrailSpec(Contract):
    """Checks that text must pass."""

    type: Literal["guardrail"]
    """A guardrail."""
    checks: Annotated[Many[Check], Field(min_length=1)]
    """The checks, in order."""


class LogHook(Contract):
    """Writes a log line."""

    type: Literal["hook"]
    """A hook: it observes and never changes anything."""
    on: Literal["before_step", "after_step", "before_tool", "after_tool", "on_error", "on_stop"]
    """When it fires."""
    action: Literal["log", "metric"]
    """What it does."""


class NotifyHook(Contract):
    """Runs an APICall step on a copy of the context."""

    type: Literal["hook"]
    """A hook: it observes and never changes anything."""
    on: Literal["before_step", "after_step", "before_tool", "after_tool", "on_error", "on_stop"]
    """When it fires."""
    action: Literal["notify"]
    """What it does."""
    target: StepRef
    """Id of the APICall step that is run."""


class StdioServer(Contract):
    """An MCP server started as a process."""

    type: Literal["mcp"]
    """Connection data of an MCP server."""
    transport: Literal["stdio"]
    """The server is started as a process."""
    command: Text
    """Program to start."""
    args: Many[str] = ()
    """Its arguments; `${VAR}` is read from the environment."""
    env: dict[str, str] = Field(default_factory=dict)
    """Its environment; values may be `${VAR}`."""


class RemoteServer(Contract):
    """An MCP server reached over HTTP."""

    type: Literal["mcp"]
    """Connection data of an MCP server."""
    transport: Literal["http", "sse"]
    """How the server is reached: streamable HTTP, or server-sent events."""
    url: Text
    """Where it is; `${VAR}` is read from the environment."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Headers sent with each request; values may be `${VAR}`."""


HookSpec: TypeAlias = Annotated[LogHook | NotifyHook, Discriminator("action")]
McpServer: TypeAlias = Annotated[StdioServer | RemoteServer, Discriminator("transport")]
ArtifactSpec: TypeAlias = Annotated[GuardrailSpec | HookSpec | McpServer, Discriminator("type")]


class Artifact(Envelope):
    """A structured artifact: a guardrail, a hook, or the connection data of an MCP server."""

    kind: Literal["Artifact"]
    """A structured artifact; prose (prompt, steering, skill) is a markdown file with front matter."""
    metadata: ArtifactMetadata
    """Who the artifact is."""
    spec: ArtifactSpec
    """What it holds, chosen by `type`."""


class ProseFrontMatter(Contract):
    """Front matter of a markdown file under `artifacts/`."""

    name: Name
    """Name of the artifact: letters, digits, `_`, `.` and `-`."""
    type: Literal["prompt", "steering", "skill"]
    """What the text is for."""
    version: Count = 1
    """Version, a positive whole number; references pin it as `artifact://name@version`."""
    description: str | None = None
    """What it is for, in a sentence."""
    template: bool = False
    """Whether the text is a template, rendered with the workflow's context; default literal text."""
    enabled: bool = True
    """`false` leaves the file out."""
