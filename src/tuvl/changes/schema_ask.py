"""Asks a JSON Schema about single values, as a run does."""

from tuvl.changes.schema_place import refers
from tuvl.tools.schema import ValueSchema, schema_problem


def refused(values: list[object], schema: object) -> list[object] | None:
    """Return the values that a schema refuses; `None` where it is no schema, or refers to what is not in it."""
    if not isinstance(schema, dict):
        return list(values) if schema is False else []
    if refers(schema) or schema_problem(schema) is not None:
        return None
    held = ValueSchema(schema)
    return [value for value in values if not held.is_valid(value)]  # type: ignore[arg-type]  # documents hold JSON
