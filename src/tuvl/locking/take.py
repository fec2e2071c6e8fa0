"""A project → its lock. Nothing of the project is run, and nothing is called."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import tuvl
from tuvl.analysis.nodes import NodeFacts, read_node_file
from tuvl.analysis.steps import mapping, text
from tuvl.artifacts.reference import SCHEME
from tuvl.artifacts.registry import ArtifactView
from tuvl.locking.lock import Entry, Lock, Section
from tuvl.locking.masking import without_secrets
from tuvl.locking.tools import ToolSchema, tool_entry, used_tools
from tuvl.project.index import ProjectIndex
from tuvl.project.loading import display_name, read_file
from tuvl.project.scripts import script_of
from tuvl.source.document import Document
from tuvl.source.loading import load_data
from tuvl.values import JsonObject, JsonValue

_FIRST_VERSION = "v1"


def take_lock(project: ProjectIndex, *, mcp_tools: Mapping[str, Mapping[str, ToolSchema]]) -> Lock:
    """Make the lock of a project as it is now, for every document that is switched on.

    `mcp_tools` are the tools that servers offer, by `name@version` of the server's artifact and by name; of them those
    that a workflow calls are locked. Raises `UsageError` for a file that cannot be read.
    """
    sections: dict[Section, dict[str, Entry]] = {
        Section.PROJECT: dict(_configuration(project)),
        Section.WORKFLOWS: dict(_documents(project, "Workflow")),
        Section.ARTIFACTS: dict(_artifacts(project)),
        Section.PRESETS: dict(_documents(project, "AgentModel")),
        Section.SCRIPTS: dict(_scripts(project)),
        Section.NODES: dict(_nodes(project)),
        Section.DATA_MODELS: dict(_documents(project, "ModelDefinition")),
        Section.DATA_SOURCES: dict(_documents(project, "DataSource")),
        Section.TOOLS: dict(_tools(project, mcp_tools)),
    }
    return Lock(sections={section: entries for section, entries in sections.items() if entries}, tuvl=tuvl.__version__)


def file_in(project: ProjectIndex, path: Path) -> str:
    """Return a file's path from the root of its project, with `/` between folders."""
    relative = os.path.relpath(path, project.root).replace(os.sep, "/")
    return os.fsencode(relative).decode("utf-8", "backslashreplace")


def _file_of(document: Document, project: ProjectIndex) -> str | None:
    loaded = project.file_of(document)
    return None if loaded is None else file_in(project, loaded.path)


def _configuration(project: ProjectIndex) -> Iterator[tuple[str, Entry]]:
    document = project.config_document
    if document is not None:
        yield "configuration", _entry(document, project)


def _documents(project: ProjectIndex, kind: str) -> Iterator[tuple[str, Entry]]:
    seen: set[str] = set()
    for document in project.documents(kind):
        head = mapping(mapping(document.data).get("metadata"))
        name, version = text(head.get("name")), text(head.get("schema_version")) or _FIRST_VERSION
        if name is None:
            continue
        key = name if version == _FIRST_VERSION else f"{name} {version}"
        # Of two with one key, which is an error, lookups take the first.
        if key not in seen:
            seen.add(key)
            yield key, _entry(document, project)


def _entry(document: Document, project: ProjectIndex) -> Entry:
    content = without_secrets(document.data)
    return Entry(content=cast(JsonObject, content), file=_file_of(document, project))


def _artifacts(project: ProjectIndex) -> Iterator[tuple[str, Entry]]:
    for views in project.artifacts.values():
        # Of two with one version, which is an error, lookups take the first.
        for view in reversed(views):
            if view.enabled:
                yield view.reference.removeprefix(SCHEME), _artifact(view, project)


def _artifact(view: ArtifactView, project: ProjectIndex) -> Entry:
    if view.body is None:
        return _entry(view.document, project)
    written = cast(JsonObject, without_secrets(dict(mapping(view.document.data))))
    text_alone = without_secrets({"text": view.body})
    return Entry(content={**written, **cast(JsonObject, text_alone)}, file=_file_of(view.document, project))


def _scripts(project: ProjectIndex) -> Iterator[tuple[str, Entry]]:
    for preset in project.documents("AgentModel"):
        path = script_of(preset)
        if path is None:
            continue
        name = file_in(project, path)
        data = load_data(read_file(path), name=display_name(path))
        content = without_secrets({"replies": _replies(data)})
        yield name, Entry(content=cast(JsonObject, content), file=name)


def _replies(data: JsonValue) -> JsonValue:
    return data.get("replies") if isinstance(data, dict) else data


def _nodes(project: ProjectIndex) -> Iterator[tuple[str, Entry]]:
    folder = project.folder("nodes")
    if not folder.is_dir():
        return
    for path in sorted(folder.rglob("*.py")):
        if path.is_file() and not any(part.startswith(".") or part == "__pycache__" for part in path.parts):
            name = file_in(project, path)
            yield name, Entry(content=_node_file(read_file(path), name), file=name)


def _node_file(raw: bytes, name: str) -> JsonObject:
    """What is locked of a Python file: a digest of its text, and what its nodes declare."""
    source = raw.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
    content: JsonObject = {"source": f"sha256:{sha256(source).hexdigest()}"}
    declared = read_node_file(source.decode("utf-8", "replace"), file=name).nodes
    if declared:
        content["nodes"] = {node.name: _facts(node) for node in declared}
    return content


def _facts(node: NodeFacts) -> JsonObject:
    said: dict[str, Any] = {key: value for key, value in asdict(node).items() if value is not None}
    for place in ("name", "file", "line"):
        del said[place]
    return {key: list(value) if isinstance(value, tuple) else value for key, value in said.items()}


def _tools(project: ProjectIndex, mcp_tools: Mapping[str, Mapping[str, ToolSchema]]) -> Iterator[tuple[str, Entry]]:
    for used in used_tools(project):
        schema = mcp_tools.get(used.server, {}).get(used.tool)
        if schema is not None:
            yield used.key, tool_entry(used.server, used.tool, schema)
