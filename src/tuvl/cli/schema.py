"""`tuvl schema`: the JSON Schemas of the language, for editors."""

import json
from typing import Any

from tuvl.errors import UsageError
from tuvl.spec.schema_files import KINDS, PROSE, load_schema
from tuvl.suggest import closest

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema_text(kind: str | None) -> str:
    """Return the JSON Schema of a document kind as text; without one, a schema that dispatches on `kind:`.

    Raises:
        UsageError: No document is of that kind.
    """
    if kind is None:
        schema = _all_kinds()
    elif kind in KINDS or kind == PROSE:
        schema = load_schema(kind)
    else:
        near = closest(kind, (*KINDS, PROSE))
        hint = f"did you mean {near!r}?" if near else f"choose one of {', '.join((*KINDS, PROSE))}"
        raise UsageError(f"no document is of kind {kind!r}; {hint}")
    return json.dumps(_standard(schema), ensure_ascii=False, indent=2)


def _all_kinds() -> dict[str, Any]:
    definitions: dict[str, Any] = {}
    for kind in KINDS:
        schema = load_schema(kind)
        definitions |= schema["$defs"]
        definitions[kind] = {key: value for key, value in schema.items() if key not in {"$schema", "$defs"}}
    return {
        "$schema": DIALECT,
        "title": "tuvl document",
        "description": "Any document of a tuvl project; `kind` says which.",
        "type": "object",
        "required": ["kind"],
        "properties": {"kind": {"description": "What the document is.", "enum": list(KINDS)}},
        "allOf": [
            {
                "if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]},
                "then": {"$ref": f"#/$defs/{kind}"},
            }
            for kind in KINDS
        ],
        "$defs": dict(sorted(definitions.items())),
    }


def _standard(schema: Any) -> Any:
    """Leave out the `x-` keywords, which only tuvl reads."""
    if isinstance(schema, dict):
        return {key: _standard(value) for key, value in schema.items() if not key.startswith("x-")}
    if isinstance(schema, list):
        return [_standard(value) for value in schema]
    return schema
