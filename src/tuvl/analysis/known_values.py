"""What is known of the values that context keys hold: by `spec.input`, or by the `set` steps that write them."""

from functools import cached_property
from typing import NamedTuple

from tuvl.analysis.flow_graph import Edge, Place
from tuvl.analysis.key_flow import KeyFlow
from tuvl.analysis.schema_facts import part_of, takes_others, types_of
from tuvl.analysis.steps import StepView, mapping, text
from tuvl.analysis.templates import strings
from tuvl.analysis.type_names import said
from tuvl.analysis.witness import shortest
from tuvl.dataclass import dataclass
from tuvl.suggest import closest
from tuvl.templating.plain import is_template, plain_template
from tuvl.templating.result import Types, result_types

BY_INPUT = "by `spec.input`"

_DEEPEST = 24
_HAS_PARTS = frozenset({"object", "array"})


class Lost(NamedTuple):
    """Why a dotted path leads to nothing, and what helps."""

    why: str
    hint: str


@dataclass(frozen=True, slots=True)
class Known:
    """All that a key can hold at one place: values of one of these schemas; `by` is who says so."""

    schemas: tuple[object, ...]
    by: str

    def types(self, path: tuple[str, ...]) -> Types | None:
        """Types of the part that a path below the key leads to; `None` where they are not said."""
        found: Types = frozenset()
        for schema in self.schemas:
            types = types_of(part_of(schema, path))
            if types is None:
                return None
            found |= types
        return found

    def lost(self, path: tuple[str, ...]) -> Lost | None:
        """Say why a dotted path, the key first, leads to nothing; `None` where it may lead to something."""
        found = [_lost(schema, path, self.by) for schema in self.schemas]
        return found[0] if found and None not in found else None

    def fewest_items(self, path: tuple[str, ...]) -> int:
        """How many items the list that a path below the key leads to has at least."""
        return min((_fewest(part_of(schema, path)) for schema in self.schemas), default=0)


class KnownValues:
    """What is known at each place of a workflow; where anything else may have written a key, nothing is."""

    def __init__(self, flow: KeyFlow) -> None:
        self._flow = flow
        self._found: dict[tuple[int, str], Known | None] = {}
        self._setters: dict[str, list[Place]] = {}
        self._others = 0
        for place in flow.graph.places:
            if not place.called and _is_set(place.step):
                for key in mapping(place.step.data.get("values")):
                    self._setters.setdefault(key, []).append(place)
        for edges in flow.graph.edges:
            for edge in edges:
                if edge.signal and not _is_set(flow.graph.places[edge.source].step):
                    self._others |= edge.maybe | max(edge.sure, 0)

    def at(self, place: int, key: str) -> Known | None:
        """What a key holds when a run comes to a place, the end included; `None` where that is not known."""
        if (place, key) not in self._found:
            self._found[place, key] = None  # which a value that is made of itself comes to
            self._found[place, key] = self._known(place, key)
        return self._found[place, key]

    def types(self, place: Place, path: tuple[str, ...]) -> Types | None:
        """Types of what a dotted path gives in a template of a place."""
        if place.called:
            return None  # arguments may lie over the context
        known = self.at(place.index, path[0])
        return None if known is None else known.types(path[1:])

    def _of_item(self, place: Place, key: str) -> Known | None:
        """What a step sees that others call: an item of the lists that it is the body of, and else what those see."""
        bit, found = self._flow.graph.keys.bit(key), list[Known | None]()
        for edge in self._calls[place.index]:
            step = self._flow.graph.places[edge.source].step
            if step.kind == "ForEach" and key == (text(step.data.get("as")) or "item"):
                found.append(self._item(edge.source, step))
            else:
                found.append(None if (edge.sure | edge.maybe) & bit or edge.more else self.at(edge.source, key))
        known = [each for each in found if each is not None]
        if not known or len(known) < len(found):
            return None
        return Known(tuple(schema for each in known for schema in each.schemas), known[0].by)

    def _item(self, place: int, step: StepView) -> Known | None:
        source = step.data.get("items")
        if isinstance(source, list) and not any(strings(source, (), "{")):
            return Known(({"enum": source},), f"as step {step.id!r} lists it")
        plain = plain_template(source) if isinstance(source, str) else None
        if plain is None or not plain.single:
            return None
        key, *path = map(str, plain.single)
        known = self.at(place, key)
        return known and Known(tuple(part_of(schema, (*path, "0")) for schema in known.schemas), known.by)

    @cached_property
    def _calls(self) -> dict[int, list[Edge]]:
        found: dict[int, list[Edge]] = {}
        for edges in self._flow.graph.edges:
            for edge in edges:
                if not edge.signal:
                    found.setdefault(edge.target, []).append(edge)
        return found

    def _known(self, place: int, key: str) -> Known | None:
        if place < self._flow.graph.end and self._flow.graph.places[place].called:
            return self._of_item(self._flow.graph.places[place], key)
        flow, bit = self._flow, self._flow.graph.keys.bit(key)
        unheard = (flow.possible[place] or 0) & flow.more
        if key.startswith("_") or bit & self._others or unheard:
            return None
        setters = self._setters.get(key, [])
        schemas = [self._schema(mapping(setter.step.data.get("values"))[key], setter) for setter in setters]
        by = [f"as step {setter.step.id!r} sets it" for setter in setters]
        if shortest(flow.graph, place, lambda edge: not edge.sure & bit) is not None:
            properties = mapping(flow.input.schema.get("properties"))
            if key in properties:
                schemas, by = [properties[key], *schemas], [BY_INPUT, *by]
            elif flow.input.may_have(key):
                return None
        return Known(tuple(schemas), by[0]) if schemas else None

    def _schema(self, value: object, place: Place, depth: int = 0) -> object:
        """A schema that holds of what a value of a `set` step is rendered to."""
        if depth > _DEEPEST:
            return {}
        if isinstance(value, str) and not is_template(value):
            return {"type": "string", "maxLength": len(value)}
        if isinstance(value, str):
            types = result_types(value, lambda path: self.types(place, path))
            return {} if types is None else {"type": sorted(types)}
        if isinstance(value, dict):
            parts = {name: self._schema(part, place, depth + 1) for name, part in value.items()}
            return {"type": "object", "properties": parts, "additionalProperties": False}
        if isinstance(value, list):
            return {"type": "array", "minItems": len(value), "maxItems": len(value)}
        return {"const": value}


def _is_set(step: StepView) -> bool:
    return step.kind == "Functional" and step.data.get("runner") == "set"


def _lost(schema: object, path: tuple[str, ...], by: str) -> Lost | None:
    where, value = ("in the schema", "the type in `spec.input`") if by == BY_INPUT else ("where it is set", "the value")
    for depth in range(1, len(path)):
        parent, part = part_of(schema, path[1:depth]), path[depth]
        types, shown = types_of(parent), ".".join(path[:depth])
        if types is None:
            return None
        has_none = not types & _HAS_PARTS and not ("string" in types and part.lstrip("-").isdecimal())
        if has_none or (types == {"array"} and not part.isdecimal()):
            return Lost(f"{shown!r} is {said(types)} {by}, which has no {part!r}", f"correct the path, or {value}")
        known = mapping(mapping(parent).get("properties"))
        if types == {"object"} and part not in known and not takes_others(parent):
            near = closest(part, known)
            hint = f"did you mean {near!r}?" if near else f"name {part!r} {where}, or correct the path"
            return Lost(f"{shown!r} has no {part!r} {by}", hint)
    return None


def _fewest(schema: object) -> int:
    least = mapping(schema).get("minItems")
    return (
        least
        if isinstance(least, int) and not isinstance(least, bool) and types_of(schema) == frozenset({"array"})
        else 0
    )
