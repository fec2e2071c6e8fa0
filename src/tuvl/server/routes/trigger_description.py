"""What the description of the API says of the paths that workflows name under `trigger:`."""

from collections.abc import Iterable
from typing import Any

from tuvl.server.catalogue import Offered, Trigger
from tuvl.server.routes.forms import ACCEPTED, RESULT, STREAM, problems
from tuvl.values import JsonObject, JsonValue, dump_json

WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
"""Methods whose body is the input; of others the query is."""

_HEADERS: tuple[JsonObject, ...] = (
    {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "Requests of a caller with the same key and body start one run.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 200},
    },
    {
        "name": "Prefer",
        "in": "header",
        "description": "`respond-async` starts a run that is not waited for.",
        "schema": {"type": "string"},
    },
)


def described_triggers(offered: Iterable[Offered]) -> dict[str, dict[str, Any]]:
    """Return the paths of triggers as OpenAPI has them; one with a brace in it would be a template there."""
    paths: dict[str, dict[str, Any]] = {}
    for each in offered:
        if each.trigger is not None and not {"{", "}"} & set(each.trigger.path):
            paths.setdefault(each.trigger.path, {})[each.trigger.method.lower()] = _operation(each, each.trigger)
    return paths


def _operation(offered: Offered, trigger: Trigger) -> dict[str, Any]:
    schema = _schema(offered)
    operation: dict[str, Any] = {
        "tags": ["triggers"],
        "summary": offered.description or f"Start the workflow {offered.name}.",
        "operationId": f"trigger_{trigger.method.lower()}_{offered.name}",
        "parameters": list(_HEADERS),
        "responses": {str(status): said for status, said in _answers(trigger).items()},
    }
    if not trigger.public:
        operation["security"] = [{"token": []}]
    if trigger.method in WITH_BODY:
        operation["requestBody"] = {"content": {"application/json": {"schema": schema}}}
    else:
        operation["parameters"] += _query(schema)
    return operation


def _answers(trigger: Trigger) -> dict[int | str, dict[str, Any]]:
    known = ", or was begun before by a request without a token and with the same key" if trigger.public else ""
    result, accepted = ({"application/json": {"schema": schema}} for schema in (RESULT, ACCEPTED))
    return {
        200: {"description": "The result of the run, or its events.", "content": {**result, **STREAM}},
        202: {"description": f"The run goes on, or waits for somebody{known}.", "content": accepted},
        **problems(404, 409, 415),
    }


def _schema(offered: Offered) -> JsonObject:
    given = offered.plan.input_schema
    schema: JsonObject = {"type": "object"} if given is None else dict(given.schema)
    # With a name of its own, what it refers to is looked for in itself and not in the description.
    named = "$ref" in dump_json(schema) and "$id" not in schema
    return {"$id": f"urn:tuvl:input:{offered.name}", **schema} if named else schema


def _query(schema: JsonObject) -> list[JsonObject]:
    properties, required = schema.get("properties"), schema.get("required")
    named: dict[str, JsonValue] = properties if isinstance(properties, dict) else {}
    needed = required if isinstance(required, list) else []
    return [
        {"name": name, "in": "query", "required": name in needed, "schema": each if isinstance(each, dict) else {}}
        for name, each in named.items()
    ]
