"""The tools of MCP servers that a project's workflows call, and what a lock keeps of them."""

import json
from collections.abc import Iterator, Mapping

from tuvl.analysis.steps import WorkflowView, mapping, text
from tuvl.artifacts.reference import SCHEME
from tuvl.dataclass import dataclass
from tuvl.locking.lock import Entry, Lock, Section
from tuvl.locking.masking import without_secrets
from tuvl.project.index import ProjectIndex
from tuvl.redaction import redact_json
from tuvl.source.document import Document
from tuvl.values import JsonObject, JsonValue, KeyPath, dump_json, sound_text


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSchema:
    """One tool as its server describes it: what models are told of it, and what it takes and gives."""

    description: str | None
    input_schema: JsonObject
    output_schema: JsonObject | None = None

    @classmethod
    def of(cls, listing: Mapping[str, JsonValue]) -> "ToolSchema":
        """Read a tool from the list of its server; what has no sound form counts as not said.

        Half characters are replaced, which no file can hold, and secrets that the server was given are masked.
        """
        said: dict[str, JsonValue] = {key: listing.get(key) for key in ("description", "inputSchema", "outputSchema")}
        said = json.loads(sound_text(dump_json(without_secrets(redact_json(said)))))
        description, taken, given = said["description"], said["inputSchema"], said["outputSchema"]
        return cls(
            description=description if isinstance(description, str) else None,
            input_schema=taken if isinstance(taken, dict) else {},
            output_schema=given if isinstance(given, dict) else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedTool:
    """One MCP step: the tool it calls, and where it stands."""

    server: str
    """The server's artifact as `name@version`."""
    tool: str
    document: Document
    path: KeyPath
    """Key path of the tool's name in its workflow."""

    @property
    def key(self) -> str:
        """The name of the tool's entry in a lock."""
        return tool_key(self.server, self.tool)


def tool_key(server: str, tool: str) -> str:
    """Return the name of a tool's entry in a lock."""
    return f"{server}/{tool}"


def used_tools(project: ProjectIndex) -> tuple[UsedTool, ...]:
    """Return the tools of MCP servers that workflows of the project call, step by step."""
    return tuple(used for document in project.documents("Workflow") for used in tools_of(document, project))


def tools_of(document: Document, project: ProjectIndex) -> Iterator[UsedTool]:
    """Yield the tools of MCP servers that one workflow calls."""
    for step in WorkflowView(mapping(document.data)).steps:
        reference, tool = text(step.get("mcp", "server")), text(step.get("mcp", "tool"))
        server = project.resolve(reference) if step.kind == "MCP" and reference is not None else None
        if server is not None and tool is not None:
            name = server.reference.removeprefix(SCHEME)
            yield UsedTool(server=name, tool=tool, document=document, path=(*step.path, "mcp", "tool"))


def tool_entry(server: str, tool: str, schema: ToolSchema) -> Entry:
    """Make the entry of a tool."""
    content: JsonObject = {"server": server, "tool": tool, "input_schema": schema.input_schema}
    if schema.description is not None:
        content["description"] = schema.description
    if schema.output_schema is not None:
        content["output_schema"] = schema.output_schema
    return Entry(content=content)


def locked_tools(lock: Lock | None) -> dict[str, dict[str, ToolSchema]]:
    """Return the tools that a lock holds: server → tool → schema."""
    found: dict[str, dict[str, ToolSchema]] = {}
    for entry in lock.section(Section.TOOLS).values() if lock is not None else ():
        server, tool = entry.content.get("server"), entry.content.get("tool")
        if isinstance(server, str) and isinstance(tool, str):
            found.setdefault(server, {})[tool] = _schema(entry.content)
    return found


def _schema(content: JsonObject) -> ToolSchema:
    description, taken, given = (content.get(key) for key in ("description", "input_schema", "output_schema"))
    return ToolSchema(
        description=description if isinstance(description, str) else None,
        input_schema=taken if isinstance(taken, dict) else {},
        output_schema=given if isinstance(given, dict) else None,
    )
