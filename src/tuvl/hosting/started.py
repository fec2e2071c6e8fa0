"""What is kept of a durable run when it begins, and the definition that it goes on with."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

from tuvl.dataclass import dataclass
from tuvl.durable.definitions import Definitions, digest_of, is_definition
from tuvl.errors import UsageError
from tuvl.principal import Principal
from tuvl.project.index import ProjectIndex
from tuvl.shipping.contents import collect
from tuvl.source.document import Document
from tuvl.values import JsonObject, JsonValue

PAYLOAD_VERSION = 1
FORKED_VERSION = 3
"""Of a run that begins with `rows` of another one, some asked `again`; who does not know them must not take it up."""

_READ = (PAYLOAD_VERSION, 2, FORKED_VERSION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """What a run was started with."""

    workflow: str
    definition: str
    input: JsonObject
    models: dict[str, str]
    principal: Principal
    timeout_s: float | None
    trace: bool
    also_requested_by: tuple[str, ...] = ()
    """Who has asked for the runs that it was forked from: none of them may answer where the requester may not."""
    schema_version: str = ""
    """That of the workflow; empty for runs of earlier versions."""

    def to_json(self) -> JsonObject:
        """Write it as the run's own record keeps it."""
        principal = self.principal
        return {
            "v": PAYLOAD_VERSION,
            "workflow": self.workflow,
            "definition": self.definition,
            "input": self.input,
            "models": dict(self.models),
            "principal": {
                "id": principal.id,
                "tenant": principal.tenant,
                "groups": list[JsonValue](sorted(principal.groups)),
                "scopes": list[JsonValue](sorted(principal.scopes)),
            },
            "timeout_s": self.timeout_s,
            "trace": self.trace,
            "also_requested_by": list[JsonValue](self.also_requested_by),
            "schema_version": self.schema_version,
        }

    @classmethod
    def of(cls, payload: JsonObject) -> "Started":
        """Read it; raises `UsageError` for a form of another tuvl."""
        if payload.get("v") not in _READ:
            raise UsageError("the run was begun by another version of tuvl; resume it with that one")
        try:
            return cls._of(payload)
        except (KeyError, TypeError, AttributeError):
            raise UsageError("what the run was started with is not what was written; start it anew") from None

    @classmethod
    def _of(cls, payload: JsonObject) -> "Started":
        who = cast(dict[str, JsonValue], payload["principal"])
        return cls(
            workflow=str(payload["workflow"]),
            definition=str(payload["definition"]),
            input=cast(JsonObject, payload["input"]),
            models=cast(dict[str, str], payload["models"]),
            principal=Principal(
                id=str(who["id"]),
                tenant=cast(str | None, who["tenant"]),
                groups=frozenset(cast(list[str], who["groups"])),
                scopes=frozenset(cast(list[str], who["scopes"])),
            ),
            timeout_s=cast(float | None, payload["timeout_s"]),
            trace=bool(payload["trace"]),
            also_requested_by=tuple(cast(list[str], payload.get("also_requested_by") or [])),
            schema_version=str(payload.get("schema_version") or ""),
        )


def keep_definition(project: ProjectIndex, document: Document) -> str:
    """Keep the files that a run of a workflow is made of; returns their digest."""
    return Definitions(project.state_root).keep(collect(project, only=document).files)


@dataclass(frozen=True, slots=True, kw_only=True)
class Defined:
    """The project that a run goes on with, and whether its files are another now."""

    project: ProjectIndex
    document: Document
    changed: bool


def defined(root: Path, started: Started) -> Defined:
    """Find the definition of a run: the project as it is, when nothing has changed, else what was kept of it."""
    project = ProjectIndex(root)
    document = project.workflow(started.workflow)
    if document is not None and _digest(project, document) == started.definition:
        return Defined(project=project, document=document, changed=False)
    kept = ProjectIndex(Definitions(root).folder(started.definition))
    kept.state_root = root
    document = kept.workflow(started.workflow)
    if document is None:
        raise UsageError(f"the kept definition has no workflow {started.workflow!r}")
    return Defined(project=kept, document=document, changed=True)


def _digest(project: ProjectIndex, document: Document) -> str | None:
    try:
        return digest_of(collect(project, only=document).files)
    except UsageError:
        return None


def last_definition(rows: Mapping[str, JsonObject], started: Started) -> Started:
    """Return what a run was started with, with the definition that it has come to; `rows` are in order."""
    changes = [row for name, row in rows.items() if is_definition(name)]
    return replace(started, definition=str(changes[-1]["value"])) if changes else started
