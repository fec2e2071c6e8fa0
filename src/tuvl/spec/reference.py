"""Field tables of the language reference, written between markers: `<!-- fields: Limits -->` … `<!-- end -->`."""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel

from tuvl.spec.agent import Agent
from tuvl.spec.base import Envelope
from tuvl.spec.json_schema import DOCUMENTS, REF, contracts, document_schema
from tuvl.spec.step import BaseStep

MARKED = re.compile(r"(<!-- fields: (?P<name>\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


class Shared(NamedTuple):
    """Fields of many definitions that have one table: the class they come from, and a definition to read them in."""

    contract: type[BaseModel]
    example: str


SHARED = {
    "BaseStep": Shared(BaseStep, "FunctionalStep"),
    "Agent": Shared(Agent, "CompletionAgent"),
    "Envelope": Shared(Envelope, "Workflow"),
}
PLACED = re.compile(r"^#+ +(?P<heading>.+?) *$|^<!-- fields: (?P<name>\w+) -->$", re.MULTILINE)


def with_tables(text: str) -> str:
    """Return the text with every marked table written anew; an unknown definition is a `KeyError`."""
    definitions = all_definitions()
    tables = _Tables(definitions, _headings(text))
    return MARKED.sub(lambda match: f"{match[1]}\n{tables.fields_of(match['name'])}\n{match[3]}", text)


def _headings(text: str) -> dict[str, str]:
    """Return definition → heading its table stands under."""
    headings = {}
    heading = ""
    for found in PLACED.finditer(text):
        if found["heading"]:
            heading = found["heading"]
        else:
            headings[found["name"]] = heading
    return headings


def _anchor(heading: str) -> str:
    """Return what a heading is called in a link: small letters, no punctuation, hyphens for spaces."""
    return re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-")


def all_definitions() -> dict[str, dict[str, Any]]:
    """Return name → definition for everything the documents are made of."""
    definitions: dict[str, dict[str, Any]] = {}
    for model in DOCUMENTS:
        schema = document_schema(model)
        definitions |= schema["$defs"] | {model.__name__: schema}
    return definitions


class _Tables:
    """Writes tables; a type that has a table of its own becomes a link to it."""

    def __init__(self, definitions: Mapping[str, dict[str, Any]], headings: Mapping[str, str]) -> None:
        self._definitions = definitions
        self._headings = headings

    def fields_of(self, name: str) -> str:
        """Return the Markdown table of one definition, without the fields that a table of its own holds for many."""
        shared = SHARED.get(name)
        schema = self._definitions[shared.example if shared else name]
        known = contracts()
        left_out: set[str] = set()
        for other in SHARED.values():
            if not shared and name in known and issubclass(known[name], other.contract):
                left_out |= other.contract.model_fields.keys()
        rows = ["| field | type | default | meaning |", "|---|---|---|---|"]
        for field, value in schema["properties"].items():
            if field in left_out or (shared and field not in shared.contract.model_fields):
                continue
            default = "required" if field in schema["required"] else _default(value)
            rows.append(f"| `{field}` | {self._type(value)} | {default} | {_cell(value['description'])} |")
        return "\n".join(rows) + "\n"

    def _type(self, schema: Mapping[str, Any]) -> str:
        if "$ref" in schema:
            return self._link(schema["$ref"].removeprefix(REF))
        if "x-choice" in schema:
            choice = schema["x-choice"]
            cases = dict.fromkeys((*choice["cases"].values(), *([choice["else"]] if "else" in choice else [])))
            return f"mapping by `{choice['field']}`: {', '.join(self._link(case) for case in cases)}"
        if "anyOf" in schema:
            return " or ".join(self._type(branch) for branch in schema["anyOf"])
        if "const" in schema:
            return f"`{schema['const']}`"
        if "enum" in schema:
            return " or ".join(f"`{json.dumps(value) if value is None else value}`" for value in schema["enum"])
        kinds = schema.get("type", "any")
        names = [kinds] if isinstance(kinds, str) else kinds
        return " or ".join(self._plain(kind, schema) for kind in names if kind != "integer" or "number" not in names)

    def _link(self, name: str) -> str:
        if name in self._headings:
            heading = self._headings[name]
            return f"[{heading}](#{_anchor(heading)})"
        choice = self._definitions[name].get("x-choice")
        if choice is None:
            return "mapping"
        cases = dict.fromkeys((*choice["cases"].values(), *([choice["else"]] if "else" in choice else [])))
        return ", ".join(self._link(case) for case in cases)

    def _plain(self, kind: str, schema: Mapping[str, Any]) -> str:
        match kind:
            case "array":
                return f"list of {self._type(schema['items']) if schema.get('items') else 'anything'}"
            case "object" if isinstance(schema.get("additionalProperties"), dict):
                return f"mapping to {self._type(schema['additionalProperties'])}"
            case "object":
                return "mapping"
            case "string":
                return "text"
            case "integer":
                return f"whole number{_range(schema)}"
            case "number":
                return f"number{_range(schema)}"
            case "boolean":
                return "`true` or `false`"
            case "null":
                return "`null`"
            case _:
                return "anything"


def _default(value: Mapping[str, Any]) -> str:
    return f"`{_cell(json.dumps(value['default']))}`" if "default" in value else "–"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _range(schema: Mapping[str, Any]) -> str:
    parts = [
        words.format(schema[key])
        for key, words in (
            ("minimum", "≥ {}"),
            ("exclusiveMinimum", "> {}"),
            ("maximum", "≤ {}"),
            ("exclusiveMaximum", "< {}"),
        )
        if key in schema
    ]
    return f" {', '.join(parts)}" if parts else ""
