"""The JSON Schemas as a table of nodes that plain data is walked along; compiled once a definition, on first use."""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Any, TypeAlias

from tuvl.dataclass import dataclass
from tuvl.spec import left_open
from tuvl.spec.alphabets import ALPHABETS

Schema: TypeAlias = Mapping[str, Any]

PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}
REF = "#/$defs/"
LARGEST = sys.float_info.max


@dataclass(slots=True)
class AnyNode:
    """Takes everything."""

    types: frozenset[type] = frozenset({str, int, float, bool, type(None), list, dict})


@dataclass(slots=True)
class ScalarNode:
    """Takes text, numbers, booleans or null, within bounds."""

    types: frozenset[type]
    enum: frozenset[object] | None = None
    choices: tuple[object, ...] = ()
    pattern: str | None = None
    words: str | None = None
    min_length: int = 0
    bounds: tuple[tuple[str, float], ...] = ()
    any_integer: bool = True
    """Whether whole numbers may be larger than a float can be."""
    default: object = None
    _regex: re.Pattern[str] | None = field(default=None, compare=False)

    @property
    def is_name(self) -> bool:
        """Whether it gives something its id or name."""
        return self.pattern in ALPHABETS

    def fits(self, value: Any) -> bool:
        """Whether a value of one of `types` is within the bounds."""
        kind = type(value)
        if kind is str:
            if len(value) < self.min_length or (self.enum is not None and value not in self.enum):
                return False
            return self.pattern is None or self._search(value)
        if kind is bool or value is None:
            return self.enum is None or value is None
        if kind is float or not self.any_integer:
            return -LARGEST <= value <= LARGEST and (not self.bounds or self._within(value))
        return not self.bounds or self._within(value)

    def _search(self, value: str) -> bool:
        if self._regex is None:
            pattern = self.pattern or ""
            # `$` also matches before a last line break in Python, and nowhere else; `\\Z` is the end.
            self._regex = re.compile(pattern[:-1] + r"\Z" if pattern.endswith("$") else pattern)
        return self._regex.search(value) is not None

    def _within(self, value: float) -> bool:
        for keyword, bound in self.bounds:
            match keyword:
                case "minimum":
                    ok = value >= bound
                case "exclusiveMinimum":
                    ok = value > bound
                case "maximum":
                    ok = value <= bound
                case _:
                    ok = value < bound
            if not ok:
                return False
        return True


@dataclass(slots=True)
class ListNode:
    """Takes a list."""

    item: "Node"
    min_items: int = 0
    types: frozenset[type] = frozenset({list})


@dataclass(slots=True)
class MapNode:
    """Takes a mapping with keys of the author's own."""

    value: "Node"
    min_key_length: int = 0
    types: frozenset[type] = frozenset({dict})


@dataclass(slots=True)
class Need:
    """Fields that must be present, by the value of another."""

    field: str
    values: frozenset[str]
    fields: tuple[str, ...]
    otherwise: bool


@dataclass
class ObjectNode:
    """Takes a mapping with the fields of one definition."""

    name: str
    fields: dict[str, "Node"]
    required: tuple[str, ...]
    left: frozenset[str] = frozenset()
    open: bool = False
    """Whether unknown fields are passed over."""
    given_by_project: tuple[str, ...] = ()
    alternatives: tuple[tuple[tuple[str, ...], int, int], ...] = ()
    needs: tuple[Need, ...] = ()
    definitions: tuple[str, ...] = ()
    types: frozenset[type] = frozenset({dict})


@dataclass
class ChoiceNode:
    """Takes a mapping whose definition one field decides."""

    field: str
    cases: dict[str, "Node"]
    otherwise: "Node | None" = None
    types: frozenset[type] = frozenset({dict})

    @property
    def left(self) -> bool:
        """Whether another rule reports an absent or unknown value of the deciding field."""
        return self.field in left_open.LEFT_DISCRIMINATORS

    @cached_property
    def merged(self) -> "Node":
        """What a mapping is held against when the deciding field tells nothing: the fields of all cases.

        The deciding field itself is judged before.
        """
        node = merge([*self.cases.values(), *([self.otherwise] if self.otherwise else [])])
        if isinstance(node, ObjectNode):
            required = tuple(key for key in node.required if key != self.field)
            return replace(node, required=required, fields=node.fields | {self.field: ANY})
        return node


@dataclass
class AnyOfNode:
    """Takes what one of several nodes takes; they differ by the type of the value, or are scalars."""

    branches: tuple["Node", ...]
    types: frozenset[type] = field(default_factory=frozenset)


Node: TypeAlias = AnyNode | ScalarNode | ListNode | MapNode | ObjectNode | ChoiceNode | AnyOfNode
ANY = AnyNode()


class Table:
    """The compiled schema of one document kind."""

    def __init__(self, schema: Schema) -> None:
        self._definitions: Schema = schema["$defs"]
        self._made: dict[str, Node] = {}
        self.root = self._object(schema["title"], schema)

    def _definition(self, name: str) -> "Node":
        if name not in self._made:
            schema = self._definitions[name]
            self._made[name] = self._node(schema) if "x-choice" in schema else self._object(name, schema)
        return self._made[name]

    def _node(self, schema: Schema) -> "Node":
        if "$ref" in schema:
            return self._definition(schema["$ref"].removeprefix(REF))
        if "x-choice" in schema:
            return self._choice(schema["x-choice"])
        if "anyOf" in schema:
            return _any_of([self._node(branch) for branch in schema["anyOf"]])
        if not schema.keys() - {"description"}:
            return ANY
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        if "array" in kinds or "object" in kinds:
            return self._collection(kinds, schema)
        return _scalar(kinds, schema)

    def _collection(self, kinds: Sequence[str], schema: Schema) -> "Node":
        branches: list[Node] = []
        for kind in kinds:
            if kind == "array":
                branches.append(ListNode(self._node(schema.get("items", {})), schema.get("minItems", 0)))
            elif kind == "object":
                keys = schema.get("propertyNames", {}).get("minLength", 0)
                branches.append(MapNode(self._node(schema.get("additionalProperties", {})), keys))
            else:
                branches.append(_scalar([kind], {}))
        return _any_of(branches)

    def _choice(self, choice: Schema) -> ChoiceNode:
        cases = {value: self._definition(name) for value, name in choice["cases"].items()}
        return ChoiceNode(choice["field"], cases, self._definition(choice["else"]) if "else" in choice else None)

    def _object(self, name: str, schema: Schema) -> ObjectNode:
        fields = {key: self._node(value) for key, value in schema["properties"].items()}
        for key in left_open.MAY_BE_EMPTY.get(name, ()):
            fields[key] = _not_empty_no_more(fields[key])
        for key in left_open.OPEN_ENTRIES.get(name, ()):
            fields[key] = ListNode(ANY)
        absent = left_open.MAY_BE_ABSENT.get(name, frozenset())
        other = left_open.OTHER_MODE.get(name)
        left = frozenset(self._definitions[other]["properties"]) - fields.keys() if other else frozenset()
        rules = schema.get("x-rules", {})
        return ObjectNode(
            name=name,
            fields=fields,
            required=tuple(key for key in schema["required"] if key not in absent),
            left=left,
            open=name in left_open.OPEN_FIELDS,
            given_by_project=left_open.GIVEN_BY_PROJECT.get(name, ()),
            alternatives=tuple(_alternatives(rules)),
            needs=tuple(
                Need(need["field"], frozenset(need["values"]), tuple(need["fields"]), need["otherwise"])
                for need in rules.get("needs", ())
            ),
            definitions=(name,),
        )


def _alternatives(rules: Schema) -> Iterator[tuple[tuple[str, ...], int, int]]:
    for key, least in (("exactly_one", 1), ("at_most_one", 0), ("at_least_one", 1)):
        names = tuple(rules.get(key, ()))
        if names:
            yield names, least, len(names) if key == "at_least_one" else 1


def _not_empty_no_more(node: "Node") -> "Node":
    return ListNode(node.item) if isinstance(node, ListNode) else node


def _scalar(kinds: Sequence[str], schema: Schema) -> ScalarNode:
    choices = (schema["const"],) if "const" in schema else tuple(schema.get("enum", ()))
    return ScalarNode(
        types=frozenset(kind for name in kinds for kind in PYTHON_TYPES[name]),
        enum=frozenset(choices) if choices else None,
        choices=choices,
        pattern=schema.get("pattern"),
        words=schema.get("patternErrorMessage"),
        min_length=schema.get("minLength", 0),
        bounds=tuple(
            (keyword, schema[keyword])
            for keyword in ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")
            if keyword in schema
        ),
        any_integer="integer" in kinds,
        default=schema.get("default"),
    )


def _any_of(branches: Sequence["Node"]) -> "Node":
    if len(branches) == 1:
        return branches[0]
    return AnyOfNode(tuple(branches), frozenset().union(*(branch.types for branch in branches)))


def merge(nodes: Sequence["Node"]) -> "Node":
    """Return a node that takes a mapping with the fields of any of `nodes`, wanting only what all of them want."""
    if all(node is nodes[0] for node in nodes):
        return nodes[0]
    flat = [node.merged if isinstance(node, ChoiceNode) else node for node in nodes]
    objects = [node for node in flat if isinstance(node, ObjectNode)]
    if len(objects) < len(flat):
        return flat[0] if all(node == flat[0] for node in flat) else ANY
    by_name: dict[str, list[Node]] = {}
    for node in objects:
        for key, child in node.fields.items():
            by_name.setdefault(key, []).append(child)
    return ObjectNode(
        name=objects[0].name,
        fields={key: children[0] if len(children) == 1 else merge(children) for key, children in by_name.items()},
        required=tuple(key for key in objects[0].required if all(key in node.required for node in objects)),
        left=frozenset().union(*(node.left for node in objects)),
        given_by_project=tuple(
            key for key in objects[0].given_by_project if all(key in node.given_by_project for node in objects)
        ),
        definitions=tuple(name for node in objects for name in node.definitions),
    )
