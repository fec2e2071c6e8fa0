"""What the workflows of a bundle need of the place they run in: variables, models, servers, packages."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, cast

from tuvl.analysis.steps import WorkflowView, items, mapping, text
from tuvl.check.referred import names_in
from tuvl.dataclass import dataclass
from tuvl.project.scripts import SCRIPTED
from tuvl.shipping.contents import REQUIREMENTS, Contents
from tuvl.shipping.node_imports import imported_modules
from tuvl.source.document import Document
from tuvl.spec.variables import variables
from tuvl.values import JsonValue

DATABASE_URL = "TUVL_DATABASE_URL"
POSTGRES = "postgresql"
"""Type of the data sources that are no files."""
_KEYLESS = (SCRIPTED, "openai_compatible")
"""Providers that look for no key of their own in the environment."""

Extra = Literal["mcp", "postgres"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VariableNeed:
    """A variable of the environment; an optional one has a default, or may be of no use."""

    name: str
    optional: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelNeed:
    """A language model; `model` is as written, so that it may name a variable."""

    provider: str
    model: str
    preset: str | None = None
    """Name of the document that describes it; `None` where a workflow names the provider's model itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerNeed:
    """An MCP server, by the name and version of its artifact."""

    name: str
    version: str
    transport: str
    place: str
    """The program it is started by, or its URL, as written."""
    arguments: tuple[str, ...] = ()
    """What the program is started with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """All of them, sorted."""

    variables: tuple[VariableNeed, ...]
    models: tuple[ModelNeed, ...]
    servers: tuple[ServerNeed, ...]
    extras: tuple[Extra, ...]
    imports: tuple[str, ...]
    """Modules outside of the standard library that nodes import."""
    requirements: bytes | None
    """The project's own list of packages, when it has one."""
    in_files: tuple[str, ...]
    """Data models whose records are kept in a SQLite file."""


def needs_of(contents: Contents) -> Needs:
    """Find out what the contents of a bundle need."""
    documents = contents.documents
    models = tuple(sorted(set(_models(documents)), key=lambda one: (one.provider, one.model, one.preset or "")))
    servers = tuple(sorted(set(_servers(documents)), key=lambda one: (one.name, one.version)))
    return Needs(
        variables=_variables(documents, models),
        models=models,
        servers=servers,
        extras=_extras(documents, servers),
        imports=imported_modules(
            {path: contents.files[path] for path in contents.node_files}, folder=contents.node_folder
        ),
        requirements=contents.files.get(REQUIREMENTS),
        in_files=_in_files(documents),
    )


def _spec(document: Document) -> Mapping[str, Any]:
    return mapping(mapping(document.data).get("spec"))


def _is_server(document: Document) -> bool:
    return document.kind == "Artifact" and _spec(document).get("type") == "mcp"


def _variables(documents: tuple[Document, ...], models: tuple[ModelNeed, ...]) -> tuple[VariableNeed, ...]:
    optional: dict[str, bool] = {DATABASE_URL: True}
    with_key: set[str] = set()
    for document in documents:
        if document.kind in ("AgentModel", "DataSource", "ProjectConfig") or _is_server(document):
            for found in variables(cast(JsonValue, dict(_spec(document)))):
                optional[found.name] = optional.get(found.name, True) and found.default is not None
            if document.kind == "AgentModel" and _spec(document).get("api_key") is not None:
                with_key.add(_name(document))
    for model in models:
        if model.provider not in _KEYLESS and model.preset not in with_key and model.provider.isidentifier():
            # Where LiteLLM looks for the key of a provider; some are reached by other means.
            optional.setdefault(f"{model.provider.upper()}_API_KEY", True)
    return tuple(VariableNeed(name=name, optional=flag) for name, flag in sorted(optional.items()))


def _models(documents: tuple[Document, ...]) -> Iterator[ModelNeed]:
    for document in documents:
        if document.kind == "AgentModel":
            provider, model = text(_spec(document).get("provider")) or "", text(_spec(document).get("model")) or ""
            preset = _name(document)
            yield ModelNeed(provider=provider, model=model.removeprefix(f"{provider}/") or preset, preset=preset)
            continue
        for kind, name in names_in(mapping(document.data), document.kind):
            if kind == "AgentModel" and isinstance(name, str) and "/" in name:
                provider, _, model = name.partition("/")
                yield ModelNeed(provider=provider, model=model)


def _servers(documents: tuple[Document, ...]) -> Iterator[ServerNeed]:
    for document in documents:
        if _is_server(document):
            spec, head = _spec(document), mapping(mapping(document.data).get("metadata"))
            yield ServerNeed(
                name=_name(document),
                version=str(head.get("version", 1)),
                transport=text(spec.get("transport")) or "",
                place=text(spec.get("command")) or text(spec.get("url")) or "",
                arguments=tuple(map(str, items(spec.get("args")))),
            )


def _extras(documents: tuple[Document, ...], servers: tuple[ServerNeed, ...]) -> tuple[Extra, ...]:
    found: set[Extra] = {"mcp"} if servers or any(map(_calls_server, documents)) else set()
    if any(document.kind == "DataSource" and _spec(document).get("type") == POSTGRES for document in documents):
        found.add("postgres")
    return tuple(sorted(found))


def _in_files(documents: tuple[Document, ...]) -> tuple[str, ...]:
    """The data models of no data source, and those of one that is a file."""
    served = {_name(each) for each in documents if each.kind == "DataSource" and _spec(each).get("type") == POSTGRES}
    models = (document for document in documents if document.kind == "ModelDefinition")
    return tuple(sorted({_name(model) for model in models if text(_spec(model).get("datasource")) not in served}))


def _calls_server(document: Document) -> bool:
    return document.kind == "Workflow" and any(
        step.kind == "MCP" for step in WorkflowView(mapping(document.data)).steps
    )


def _name(document: Document) -> str:
    return text(mapping(mapping(document.data).get("metadata")).get("name")) or ""
