"""Contracts → JSON Schemas (2020-12) that stand alone: for editors, and for `tuvl.spec.shape`.

What JSON Schema can only say in a roundabout way is said twice: in standard keywords for editors, and shortly under
`x-choice` (which definition a value is held against, by one of its fields) and `x-rules` (fields that depend on
each other), which `shape` reads.
"""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from tuvl.spec.artifact import Artifact, ProseFrontMatter
from tuvl.spec.base import Contract, Ruled
from tuvl.spec.data import DataSource, ModelDefinition
from tuvl.spec.describe import field_descriptions
from tuvl.spec.llm import AgentModel
from tuvl.spec.project_config import ProjectConfig
from tuvl.spec.scenario import WorkflowTest
from tuvl.spec.workflow import Workflow

Schema: TypeAlias = dict[str, Any]

DOCUMENTS: tuple[type[Contract], ...] = (
    Workflow,
    AgentModel,
    Artifact,
    ModelDefinition,
    DataSource,
    ProjectConfig,
    WorkflowTest,
    ProseFrontMatter,
)
"""The contracts that are files of their own; `ProseFrontMatter` is the head of a markdown file."""

DIALECT = "https://json-schema.org/draft/2020-12/schema"
DISCRIMINATORS = ("kind", "type", "transport", "action", "runner", "mode", "when", "check")
"""Fields that decide between alternatives, outermost first."""
REF = "#/$defs/"


def contracts() -> dict[str, type[BaseModel]]:
    """Return class name → class for every contract of the language."""
    return {model.__name__: model for model in _subclasses(Contract)}


def _subclasses(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for child in model.__subclasses__():
        yield child
        yield from _subclasses(child)


def document_schema(model: type[BaseModel]) -> Schema:
    """Return the JSON Schema of one document kind, with all definitions it needs."""
    _, raw = models_json_schema([(model, "validation")], by_alias=True)
    definitions = _Definitions(raw["$defs"]).tidy()
    root = definitions.pop(model.__name__)
    return {"$schema": DIALECT, "title": model.__name__, **root, "$defs": _used(root, definitions)}


def _used(root: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """Keep the definitions that are referred to, in a stable order."""
    names: set[str] = set()
    waiting: list[Any] = [root]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting.extend(value)
        elif isinstance(value, dict):
            waiting.extend(value.values())
            name = value.get("$ref", "").removeprefix(REF)
            if name and name not in names:
                names.add(name)
                waiting.append(definitions[name])
    return {name: definitions[name] for name in sorted(names)}


class _Definitions:
    """The definitions pydantic made of one document kind, on their way to ours."""

    def __init__(self, raw: Mapping[str, Schema]) -> None:
        self._raw = raw
        self._contracts = contracts()
        self._choices: dict[str, Schema] = {}

    def tidy(self) -> dict[str, Schema]:
        made = {name: self._definition(self._contracts[name], schema) for name, schema in self._raw.items()}
        return made | self._choices

    def _definition(self, model: type[BaseModel], raw: Schema) -> Schema:
        described = field_descriptions(model)
        schema: Schema = {
            "description": raw["description"],
            "type": "object",
            "properties": {
                name: {"description": described[name], **self._tidy(value)}
                for name, value in raw.get("properties", {}).items()
            },
            "required": raw.get("required", []),
            "additionalProperties": False,
        }
        return schema | _rules(model) if issubclass(model, Ruled) else schema

    def _tidy(self, raw: Schema) -> Schema:
        """Leave out what says nothing, and turn unions into choices by a field or into lists of types."""
        schema = {key: value for key, value in raw.items() if key not in {"title", "discriminator"}}
        if schema.get("default", 0) is None:
            del schema["default"]
        if schema.get("additionalProperties") is True:
            del schema["additionalProperties"]
        if "oneOf" in schema:
            return schema | self._choice([name for branch in schema.pop("oneOf") for name in _names(branch)])
        if "anyOf" in schema:
            return schema | _merge_types([self._tidy(branch) for branch in schema.pop("anyOf")])
        for key in ("items", "additionalProperties"):
            if isinstance(schema.get(key), dict):
                schema[key] = self._tidy(schema[key])
        return schema

    def _choice(self, names: list[str]) -> Schema:
        """Turn alternatives into cases of one field, nested where a second field decides further."""
        field = self._deciding_field(names)
        groups: dict[str | None, list[str]] = {}
        for name in names:
            values: list[str | None] = [*self._constants(name, field)]
            for value in values or [None]:
                groups.setdefault(value, []).append(name)
        others = groups.pop(None, None)
        cases = {value: self._case(value, members) for value, members in groups.items() if value is not None}
        conditions: list[Schema] = [
            {"if": {"properties": {field: {"const": value}}, "required": [field]}, "then": {"$ref": REF + case}}
            for value, case in cases.items()
        ]
        choice: Schema = {"field": field, "cases": cases}
        schema: Schema = {"type": "object", "required": [field]}
        if others:
            choice["else"] = others[0]
            test = {"properties": {field: {"enum": list(cases)}}, "required": [field]}
            conditions.append({"if": {"not": test}, "then": {"$ref": REF + others[0]}})
        else:
            schema["properties"] = {field: {"enum": list(cases)}}
        return schema | {"allOf": conditions, "x-choice": choice}

    def _case(self, value: str, names: list[str]) -> str:
        if len(names) == 1:
            return names[0]
        name = f"Any{value[0].upper()}{value[1:]}"
        self._choices[name] = self._choice(names)
        return name

    def _constants(self, name: str, field: str) -> list[str]:
        schema = self._raw[name]["properties"].get(field, {})
        return [schema["const"]] if "const" in schema else schema.get("enum", [])

    def _deciding_field(self, names: list[str]) -> str:
        for field in DISCRIMINATORS:
            if len({tuple(self._constants(name, field)) for name in names}) > 1:
                return field
        raise ValueError(f"no field tells {', '.join(names)} apart")


def _names(branch: Schema) -> list[str]:
    if "$ref" in branch:
        return [branch["$ref"].removeprefix(REF)]
    return [name for inner in branch["oneOf"] for name in _names(inner)]


def _rules(model: type[Ruled]) -> Schema:
    rules: Schema = {}
    conditions: list[Schema] = []
    for name in ("exactly_one", "at_most_one", "at_least_one"):
        fields = getattr(model, name)
        if fields:
            rules[name] = list(fields)
            conditions.append(_alternatives(name, fields))
    for need in model.needs:
        rules.setdefault("needs", []).append(
            {"field": need.field, "values": list(need.values), "fields": list(need.fields), "otherwise": need.otherwise}
        )
        test = {"properties": {need.field: {"enum": list(need.values)}}, "required": [need.field]}
        conditions.append({"if": {"not": test} if need.otherwise else test, "then": {"required": list(need.fields)}})
    return {"allOf": conditions, "x-rules": rules} if rules else {}


def _alternatives(name: str, fields: tuple[str, ...]) -> Schema:
    given = [{"properties": {field: {"not": {"type": "null"}}}, "required": [field]} for field in fields]
    if name == "exactly_one":
        return {"oneOf": given}
    if name == "at_least_one":
        return {"anyOf": given}
    return {"oneOf": [*given, {"not": {"anyOf": given}}]}


def _merge_types(branches: list[Schema]) -> Schema:
    plain = [branch["type"] for branch in branches if set(branch) == {"type"} and isinstance(branch["type"], str)]
    others = [branch for branch in branches if not (set(branch) == {"type"} and isinstance(branch["type"], str))]
    if not others:
        return {"type": plain}
    if len(others) == 1 and plain == ["null"] and isinstance(others[0].get("type"), str):
        only = dict(others[0])
        if "enum" in only:
            only["enum"] = [*only["enum"], None]
        return only | {"type": [only["type"], "null"]}
    merged = [{"type": plain[0] if len(plain) == 1 else plain}] if plain else []
    return {"anyOf": [*others, *merged]}
