"""A document → its typed contract. What the checks passed builds; anything else is a `ConfigError`."""

from typing import TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from tuvl.errors import ConfigError
from tuvl.source.document import Document
from tuvl.spec.base import Contract
from tuvl.values import JsonValue, KeyPath, format_path

Built = TypeVar("Built", bound=Contract)


def build(document: Document) -> Contract:
    """Return the typed form of a document, of the class its `kind:` says.

    Raises:
        ConfigError: The document does not have the shape of its kind.
    """
    return build_as(document, contract_of(document))


def build_as(document: Document, contract: type[Built]) -> Built:
    """Return a document as the contract named; for callers that know what kind they hold.

    Raises:
        ConfigError: The document does not have the shape of that contract.
    """
    return from_data(document.data, contract, where=document.file)


def from_data(data: JsonValue, contract: type[Built], *, where: str) -> Built:
    """Return plain data as the contract named; `where` is what messages call the data.

    Raises:
        ConfigError: The data does not have the shape of that contract.
    """
    try:
        return contract.model_validate(data)
    except ValidationError as error:
        raise ConfigError(_message(error, data, where)) from None


def contract_of(document: Document) -> type[Contract]:
    """Return the class of a document by its `kind:`; only the modules of that class are imported.

    Raises:
        ConfigError: The kind is unknown, or there is none.
    """
    # Each import is where it is needed: all of them together cost what a whole check costs.
    match document.kind:
        case "Workflow":
            from tuvl.spec.workflow import Workflow

            return Workflow
        case "AgentModel":
            from tuvl.spec.llm import AgentModel

            return AgentModel
        case "Artifact":
            from tuvl.spec.artifact import Artifact

            return Artifact
        case "ModelDefinition":
            from tuvl.spec.data import ModelDefinition

            return ModelDefinition
        case "DataSource":
            from tuvl.spec.data import DataSource

            return DataSource
        case "ProjectConfig":
            from tuvl.spec.project_config import ProjectConfig

            return ProjectConfig
        case "WorkflowTest":
            from tuvl.spec.scenario import WorkflowTest

            return WorkflowTest
        case kind:
            raise ConfigError(f"{document.file}: {kind!r} is no document kind; `tuvl validate` names them")


def _message(error: ValidationError, data: JsonValue, where: str) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    path = format_path(_key_path(first["loc"], data))
    more = error.error_count() - 1
    rest = f" (and {more} more)" if more else ""
    place = f"{where}: {path}" if path else where
    return f"{place}: {_said(first)}{rest}; `tuvl validate` shows every mistake with its place"


_NOUNS = {
    "string": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "list": "a list",
    "tuple": "a list",
    "set": "a list",
    "dict": "a mapping",
    "mapping": "a mapping",
    "model": "a mapping",
}


def _said(error: ErrorDetails) -> str:
    """Say in our words what is wrong: the library's own speak of its types."""
    kind, context = error["type"], error.get("ctx", {})
    match kind:
        case "missing":
            return "this field is required"
        case "extra_forbidden":
            return "there is no such field"
        case "literal_error" | "enum":
            return f"it takes {context.get('expected', 'other values')}"
        case "union_tag_invalid" | "union_tag_not_found":
            field = str(context.get("discriminator", "kind")).strip("'")
            known = context.get("expected_tags")
            return f"`{field}` takes {known}" if known else f"`{field}` is required"
        case "value_error" | "assertion_error":
            return str(context.get("error", "this cannot be"))
        case _:
            noun = _NOUNS.get(kind.partition("_")[0])
            is_of_type = noun is not None and kind.endswith(("_type", "_parsing", "_from_float"))
            return f"it takes {noun}" if is_of_type else "it does not take this value"


def _key_path(location: tuple[int | str, ...], data: JsonValue) -> KeyPath:
    """Leave out of a location what is no key: the names of alternatives that pydantic puts in between."""
    path: list[str | int] = []
    value: JsonValue = data
    for number, part in enumerate(location, start=1):
        if _leads_on(value, part):
            value = value[part]  # type: ignore[index]  # just looked
            path.append(part)
        elif number == len(location) and isinstance(value, dict):
            path.append(part)  # the field that is missing
    return tuple(path)


def _leads_on(value: JsonValue, part: int | str) -> bool:
    if isinstance(value, dict):
        return part in value
    return isinstance(value, list) and isinstance(part, int) and part < len(value)
