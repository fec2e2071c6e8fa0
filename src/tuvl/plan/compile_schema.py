"""JSON Schemas of a workflow → `ValueSchema`, refused here when they are none."""

from collections.abc import Mapping

from tuvl.errors import ConfigError
from tuvl.tools.schema import ValueSchema, schema_problem
from tuvl.values import JsonValue


def compile_schema(schema: Mapping[str, JsonValue], *, where: str) -> ValueSchema:
    """Return the schema ready for use; `where` names the step and field in the message of a bad one."""
    problem = schema_problem(schema)
    if problem is not None:
        raise ConfigError(f"{where} is no JSON Schema: {problem}")
    return ValueSchema(schema)
