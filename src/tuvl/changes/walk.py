"""Compares two blocks of one definition field by field, each the way `fields` says."""

from collections.abc import Mapping
from functools import cache
from typing import Any, assert_never

from tuvl.analysis.credentials import names_a_credential
from tuvl.analysis.steps import items, mapping
from tuvl.changes.differences import compare_directed
from tuvl.changes.fields import policy_of
from tuvl.changes.findings import Findings, Spot
from tuvl.changes.policy import (
    Block,
    Cap,
    Elsewhere,
    Entries,
    Gate,
    Location,
    Mapped,
    Members,
    Named,
    Narrowing,
    Policy,
    Prose,
    Rank,
    References,
    Says,
    Settings,
    Statuses,
    Subschema,
    Toggle,
    Weights,
)
from tuvl.changes.prose import compare_named, compare_prose, compare_references
from tuvl.changes.provider_settings import compare_settings
from tuvl.changes.shown import canonical_differs
from tuvl.changes.subschema import compare_subschema
from tuvl.spec.schema_files import load_schema
from tuvl.spec.shape import table
from tuvl.spec.table import AnyOfNode, ChoiceNode, ListNode, MapNode, Node, ObjectNode
from tuvl.values import canonical

Inherited = Mapping[tuple[str, str], tuple[object, object]]
"""Definition and field → what holds in the old and in the new state where the field is not given."""

_LABELLED = frozenset({"spec", "metadata", "agent"})
"""Blocks whose name says nothing to a person."""


class Walk:
    """One walk over a pair of documents."""

    def __init__(self, kind: str, findings: Findings, inherited: Inherited | None = None) -> None:
        self.kind = kind
        self.findings = findings
        self.inherited = inherited or {}

    def document(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
        """Compare whole documents."""
        self.block(table(self.kind).root, old, new, Spot((), ()))

    def block(self, node: ObjectNode, old: Mapping[str, Any], new: Mapping[str, Any], spot: Spot) -> None:
        """Compare two blocks of one definition."""
        self.blocks((node, node), old, new, spot)

    def blocks(
        self, nodes: tuple[ObjectNode, ObjectNode], old: Mapping[str, Any], new: Mapping[str, Any], spot: Spot
    ) -> None:
        """Compare two blocks whose definitions may differ, such as agents of different modes."""
        before, after = nodes
        for field in dict.fromkeys((*after.fields, *before.fields, *new, *old)):
            if field not in old and field not in new:
                continue
            node = after if field in after.fields or field not in before.fields else before
            self._field(node, field, old, new, spot.at(field, label="" if field in _LABELLED else field))

    def _field(self, node: ObjectNode, field: str, old: Mapping[str, Any], new: Mapping[str, Any], spot: Spot) -> None:
        policy = policy_of(node.name, field)
        inner = node.fields.get(field)
        default = default_of(self.kind, node.name, field, inner)
        one, other = old.get(field, default), new.get(field, default)
        if (field in old) != (field in new) and canonical(one) == canonical(other):
            self.findings.spelled_otherwise = True
        if isinstance(policy, Elsewhere):
            return
        absent = self.inherited.get((node.name, field))
        if absent is not None:
            one = absent[0] if one is None or field not in old else one
            other = absent[1] if other is None or field not in new else other
            same = not canonical_differs(one, other)
            if same and old.get(field) != new.get(field):
                self.findings.spelled_otherwise = True
        if policy is None:
            policy = Says("field-unknown") if inner is None else policy_of_node(inner)
        self._compare(policy, inner, one, other, spot)

    def _compare(self, policy: Policy, node: Node | None, old: object, new: object, spot: Spot) -> None:
        findings = self.findings
        match policy:
            case Says(code, removed):
                self._says(removed if removed is not None and new is None else code, node, old, new, spot)
            case Cap() | Toggle() | Rank() | Members() | Statuses() | Narrowing() | Location() | Gate() | Weights():
                compare_directed(findings, policy, old, new, spot)
            case Subschema():
                compare_subschema(findings, policy, old, new, spot)
            case Prose():
                compare_prose(findings, policy, old, new, spot)
            case References():
                compare_references(findings, policy, old, new, spot)
            case Named():
                compare_named(findings, policy, old, new, spot)
            case Settings():
                compare_settings(findings, old, new, spot)
            case Mapped():
                self._mapped(policy, old, new, spot)
            case Entries():
                self._entries(policy, node, old, new, spot)
            case Block():
                self._nested(policy, node, old, new, spot)
            case Elsewhere():
                pass
            case _:
                assert_never(policy)

    def _says(self, code: str, node: Node | None, old: object, new: object, spot: Spot) -> None:
        if canonical(old) == canonical(new):  # type: ignore[arg-type]  # documents hold JSON
            return
        if _same_number(old, new):
            self.findings.spelled_otherwise = True
            return
        self.findings.say(code, spot.label, spot, old, new, on_old=new is None and old is not None)

    def _mapped(self, policy: Mapped, old: object, new: object, spot: Spot) -> None:
        before, after = mapping(old), mapping(new)
        for key in dict.fromkeys((*before, *after)):
            below = spot.at(key)
            code = policy.code
            if policy == Mapped() and key in before and key in after and names_a_credential(key):
                code = "credential-changed"
            if key not in after:
                gone = policy.removed or code
                self.findings.say(gone, f"{below.label} is gone", below, before[key], None, on_old=True, at_key=True)
            elif key not in before:
                self.findings.say(code, f"{below.label} is new", below, None, after[key], at_key=True)
            elif canonical(before[key]) != canonical(after[key]):
                changed = policy.changed or code
                self.findings.say(changed, below.label, below, before[key], after[key], may=policy.changed is not None)
        if not isinstance(old, dict | None) or not isinstance(new, dict | None):
            self._says(policy.code, None, old, new, spot)

    def _entries(self, policy: Entries, node: Node | None, old: object, new: object, spot: Spot) -> None:
        before, after = _keyed(items(old), policy.keys), _keyed(items(new), policy.keys)
        item = node.item if isinstance(node, ListNode) else None
        for key, index in before.items():
            entry = items(old)[index]
            if key not in after:
                below = spot.at(index, label="")
                self.findings.say(policy.removed, f"{spot.label}: {_called(key)} is gone", below, entry, on_old=True)
        for key, index in after.items():
            entry = items(new)[index]
            if key not in before:
                below = spot.at(index, label="")
                self.findings.say(policy.added, f"{spot.label}: {_called(key)} is new", below, None, entry)
                continue
            below = spot.at(before[key], index, label=_called(key))
            self.pair(item, items(old)[before[key]], entry, below)
        order = [key for key in before if key in after]
        if order != [key for key in after if key in before]:
            self.findings.say(policy.order, f"{spot.label} in another order", spot)

    def pair(self, node: Node | None, old: object, new: object, spot: Spot) -> None:
        """Compare two entries of a list."""
        one, other = object_node(node, mapping(old)), object_node(node, mapping(new))
        if one is None or other is None or not isinstance(old, dict) or not isinstance(new, dict):
            self._says("field-changed", node, old, new, spot)
        else:
            self.blocks((one, other), old, new, spot)

    def _nested(self, policy: Block, node: Node | None, old: object, new: object, spot: Spot) -> None:
        before, after = mapping(old), mapping(new)
        one, other = object_node(node, before), object_node(node, after)
        if not isinstance(old, dict | None) or not isinstance(new, dict | None) or one is None or other is None:
            self._says("field-changed", node, old, new, spot)
            return
        if old is None and new is not None and policy.added is not None:
            self.findings.say(policy.added, f"{spot.label} is new", spot, None, new, at_key=True)
        if new is None and old is not None and policy.removed is not None:
            self.findings.say(policy.removed, f"{spot.label} is gone", spot, old, None, on_old=True, at_key=True)
        if old is None and new is None:
            return
        said = (old is None and policy.added is not None) or (new is None and policy.removed is not None)
        if said and not (before.keys() | after.keys()) & _TELLING:
            return
        if said:
            telling = {key: value for key, value in {**before, **after}.items() if key in _TELLING}
            before = {key: value for key, value in before.items() if key in telling}
            after = {key: value for key, value in after.items() if key in telling}
        self.blocks((one, other), before, after, spot)


_TELLING = frozenset({"public", "schedule", "offer_tools"})
"""Fields of a block that mean something of themselves when the whole block is new or gone."""


def policy_of_node(node: Node) -> Policy:
    """How a field without a row is compared; one that is no block ought to have one."""
    match node:
        case ObjectNode() | ChoiceNode():
            return Block()
        case AnyOfNode() if any(isinstance(branch, ObjectNode | ChoiceNode) for branch in node.branches):
            return Block()
        case ListNode(item=ObjectNode() | ChoiceNode()):
            return Says()
        case MapNode():
            return Mapped()
        case _:
            return Says()


def object_node(node: Node | None, value: Mapping[str, Any]) -> ObjectNode | None:
    """Return the definition that a mapping is held against; of a choice the one that its deciding field names."""
    match node:
        case ObjectNode():
            return node
        case ChoiceNode():
            chosen = value.get(node.field)
            case_ = node.cases.get(chosen) if isinstance(chosen, str) else None
            return object_node(case_ or node.otherwise or node.merged, value)
        case AnyOfNode():
            found = (branch for branch in node.branches if isinstance(branch, ObjectNode | ChoiceNode))
            return object_node(next(found, None), value)
        case _:
            return None


@cache
def _schema_of(kind: str, definition: str) -> Mapping[str, Any]:
    schema = load_schema(kind)
    found = schema if schema.get("title") == definition else mapping(schema.get("$defs")).get(definition)
    return mapping(mapping(found).get("properties"))


def default_of(kind: str, definition: str, field: str, node: Node | None) -> object:
    """What holds where a field is not given; of blocks and lists an empty one."""
    declared = mapping(_schema_of(kind, definition).get(field))
    if "default" in declared:
        return declared["default"]
    match node:
        case ListNode():
            return []
        case MapNode() | ObjectNode() | ChoiceNode():
            return {}
        case _:
            return None


def _same_number(old: object, new: object) -> bool:
    numbers = (int, float)
    is_bool = isinstance(old, bool) or isinstance(new, bool)
    return isinstance(old, numbers) and isinstance(new, numbers) and not is_bool and old == new


def _keyed(entries: list[Any], keys: tuple[str, ...]) -> dict[tuple[str, ...], int]:
    """Index of each entry by the fields that tell it apart; the second of one kind is told apart by its number."""
    found: dict[tuple[str, ...], int] = {}
    for index, entry in enumerate(entries):
        key = tuple(str(mapping(entry).get(name)) for name in keys if mapping(entry).get(name) is not None)
        number = 1
        while (numbered := (*key, f"#{number}") if number > 1 else key) in found:
            number += 1
        found[numbered] = index
    return found


def _called(key: tuple[str, ...]) -> str:
    return " ".join(key) or "entry"
