"""Field tables of the language reference, written between markers: `<!-- fields: Limits -->` … `<!-- end -->`."""

import json
import re
from collections.abc import Mapping
from typing import Any

from tuvl.spec.json_schema import DOCUMENTS, REF, document_schema
from tuvl.spec.step import BaseStep

MARKED = re.compile(r"(<!-- fields: (?P<name>\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def with_tables(text: str) -> str:
    """Return the text with every marked table written anew; an unknown definition is a `KeyError`."""
    definitions = all_definitions()

    def table(match: re.Match[str]) -> str:
        return f"{match[1]}\n{field_table(match['name'], definitions)}\n{match[3]}"

    return MARKED.sub(table, text)


def all_definitions() -> dict[str, dict[str, Any]]:
    """Return name → definition for everything the documents are made of."""
    definitions: dict[str, dict[str, Any]] = {}
    for model in DOCUMENTS:
        schema = document_schema(model)
        definitions |= schema["$defs"] | {model.__name__: schema}
    return definitions


def field_table(name: str, definitions: Mapping[str, dict[str, Any]]) -> str:
    """Return the Markdown table of one definition; a step's table leaves out what every step has."""
    schema = definitions["FunctionalStep" if name == "BaseStep" else name]
    inherited = set(BaseStep.model_fields)
    own = name != "BaseStep" and inherited <= set(schema["properties"])
    rows = ["| field | type | default | meaning |", "|---|---|---|---|"]
    for field, value in schema["properties"].items():
        if (own and field in inherited) or (name == "BaseStep" and field not in inherited):
            continue
        default = "required" if field in schema["required"] else _default(value)
        rows.append(f"| `{field}` | {_type(value)} | {default} | {_cell(value['description'])} |")
    return "\n".join(rows) + "\n"


def _default(value: Mapping[str, Any]) -> str:
    return f"`{_cell(json.dumps(value['default']))}`" if "default" in value else "–"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _type(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return _link(schema["$ref"].removeprefix(REF))
    if "x-choice" in schema:
        choice = schema["x-choice"]
        return f"mapping, by `{choice['field']}`"
    if "anyOf" in schema:
        return " or ".join(_type(branch) for branch in schema["anyOf"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return " or ".join(f"`{json.dumps(value) if value is None else value}`" for value in schema["enum"])
    kinds = schema.get("type", "any")
    names = (
        [kinds] if isinstance(kinds, str) else [kind for kind in kinds if kind != "integer" or "number" not in kinds]
    )
    return " or ".join(_plain(kind, schema) for kind in names)


def _link(name: str) -> str:
    return f"[{name}](#{name.lower()})"


def _plain(kind: str, schema: Mapping[str, Any]) -> str:
    match kind:
        case "array":
            inner = _type(schema["items"]) if schema.get("items") else "anything"
            return f"list of {inner}"
        case "object" if isinstance(schema.get("additionalProperties"), dict):
            return f"mapping to {_type(schema['additionalProperties'])}"
        case "object":
            return "mapping"
        case "string":
            return "text"
        case "integer" | "number":
            return ("whole number" if kind == "integer" else "number") + _range(schema)
        case "boolean":
            return "`true` or `false`"
        case "null":
            return "`null`"
        case _:
            return "anything"


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
