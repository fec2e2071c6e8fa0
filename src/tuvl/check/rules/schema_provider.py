"""TV411 schema-provider."""

import re
from collections.abc import Iterator, Mapping

from tuvl.analysis.components import components
from tuvl.analysis.parameters import tool_uses
from tuvl.analysis.steps import StepView
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject
from tuvl.values import KeyPath

_ROOT_REFUSED = ("anyOf", "oneOf", "allOf", "not", "enum", "const", "$ref")
_PROPERTY_NAME = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_DEEPEST = 64


class SchemaProvider(Rule):
    """A tool's `parameters` use a construct that some model provider refuses.

    Those are: a root that is no plain `type: object`, a `$ref` that leads back into itself or out of the schema, a list
    without `items`, and property names outside `a-z A-Z 0-9 _ . -` or longer than 64. One refused tool makes the
    provider refuse the whole request, and the workflow works with one model and not with the next.
    """

    code = "TV411"
    name = "schema-provider"
    severity = Severity.WARNING

    def visit_agent(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Look at the declared parameters of each tool."""
        for use in tool_uses(step, subject.graph.workflow):
            if use.declared and use.parameters:
                for path, message, hint in _refused(use.parameters):
                    yield self.finding(
                        subject,
                        (*use.path, "parameters", *path),
                        f"parameters of tool {use.ref!r}: {message}",
                        hint=hint,
                        at_key=bool(path),
                    )


def _refused(schema: Mapping[str, object]) -> Iterator[tuple[KeyPath, str, str]]:
    if schema.get("type") != "object":
        shown = f"is of type {schema['type']!r}" if "type" in schema else "has no type"
        yield ("type",) if "type" in schema else (), f"the root {shown}", "make the root `type: object`"
    for keyword in _ROOT_REFUSED:
        if keyword in schema:
            yield (keyword,), f"`{keyword}` stands at the root", "move it into a property"
    nodes = list(_subschemas(schema))
    yield from _bad_references(nodes)
    for path, node in nodes:
        if node.get("type") == "array" and "items" not in node and "prefixItems" not in node:
            yield (*path, "type"), "a list does not say what its `items` are", "add `items:`"
        properties = node.get("properties")
        for name in properties if isinstance(properties, dict) else ():
            if _PROPERTY_NAME.fullmatch(name) is None:
                yield (
                    (*path, "properties", name),
                    f"the name {name!r} holds characters that providers refuse, or is longer than 64",
                    "use letters, digits, `_`, `.` and `-`",
                )


def _subschemas(schema: object) -> Iterator[tuple[KeyPath, dict[str, object]]]:
    """Every mapping of the schema that stands where a schema may stand, with its path; values of `enum` are none."""
    waiting: list[tuple[KeyPath, object, bool]] = [((), schema, True)]
    while waiting:
        path, value, is_schema = waiting.pop()
        if len(path) > _DEEPEST:
            continue
        if isinstance(value, dict):
            if is_schema:
                yield path, value
            named = not is_schema
            for key, item in reversed(value.items()):
                if named or key not in ("enum", "const", "default", "examples"):
                    waiting.append(((*path, key), item, named or key not in _NAMED))
        elif isinstance(value, list):
            waiting.extend(((*path, index), item, True) for index, item in reversed(list(enumerate(value))))


_NAMED = frozenset({"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"})
"""Keywords whose value maps names to schemas."""


def _bad_references(nodes: list[tuple[KeyPath, dict[str, object]]]) -> Iterator[tuple[KeyPath, str, str]]:
    places = {_pointer(path): path for path, _ in nodes}
    leads: dict[str, set[str]] = {pointer: set() for pointer in places}
    references: list[tuple[KeyPath, str, str]] = []
    for path, node in nodes:
        if path:
            leads[_owner(path, places)].add(_pointer(path))
        reference = node.get("$ref")
        if not isinstance(reference, str):
            continue
        if not reference.startswith("#"):
            yield (*path, "$ref"), f"`$ref: {reference}` leads out of the schema", "copy what it names into `$defs`"
        elif reference in places:
            leads[_pointer(path)].add(reference)
            references.append(((*path, "$ref"), _pointer(path), reference))
    knots = [set(knot) for knot in components(leads)]
    for path, source, target in references:
        if any(source in knot and target in knot for knot in knots):
            yield path, f"`$ref: {target}` leads back into itself", "bound the depth: write the levels out"


def _pointer(path: KeyPath) -> str:
    return "#" + "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)


def _owner(path: KeyPath, places: Mapping[str, KeyPath]) -> str:
    """The schema that holds the one at `path`."""
    while path:
        path = path[:-1]
        if _pointer(path) in places:
            break
    return _pointer(path)
