"""No field of the language can change in silence."""

from pathlib import Path
from typing import Any

import pytest

from tests.changes.samples import KINDS, doc, full, mutations, side
from tuvl.changes.change import CODES, ChangeClass
from tuvl.changes.compare import compare_pair
from tuvl.changes.fields import FIELDS, SHARED, policy_of
from tuvl.changes.policy import Block, Elsewhere, Entries
from tuvl.changes.site import Side
from tuvl.changes.walk import policy_of_node
from tuvl.spec.shape import table
from tuvl.spec.table import AnyOfNode, ChoiceNode, ListNode, Node, ObjectNode
from tuvl.values import format_path

PAIRED = {"kind", "enabled", "name", "schema_version"}
"""Fields by which documents are paired; what becomes of them is told there, see `test_compare_projects`."""
SAMPLES = [(kind, number, value) for kind in KINDS for number, value in enumerate(full(kind))]


@pytest.fixture
def state(tmp_path: Path) -> Side:
    return side(tmp_path)


@pytest.mark.parametrize(
    ("kind", "sample"), [(kind, value) for kind, _, value in SAMPLES], ids=lambda each: str(each)[:16]
)
def test_no_change_of_any_field_is_silent(state: Side, kind: str, sample: dict[str, Any]) -> None:
    prose = kind == "ProseFrontMatter"
    silent, by_chance = [], []
    for path, how, changed in mutations(sample):
        if path == ("metadata",) or (path[-1] in PAIRED and len(path) <= 2):
            continue
        ways = [(sample, changed), (changed, sample)]
        for old, new in ways if how == "left out" else ways[:1]:
            findings = compare_pair(doc(state, old, prose=prose), doc(state, new, prose=prose))
            where = f"{format_path(path)} {how}"
            if not findings.changes:
                silent.append(where)
            by_chance += [where for change in findings.changes if "the document differs" in change.message]
    assert not silent
    assert not by_chance


@pytest.mark.parametrize(
    ("kind", "sample"), [(kind, value) for kind, _, value in SAMPLES], ids=lambda each: str(each)[:16]
)
def test_document_is_the_same_as_itself(state: Side, kind: str, sample: dict[str, Any]) -> None:
    prose = kind == "ProseFrontMatter"
    assert compare_pair(doc(state, sample, prose=prose), doc(state, sample, prose=prose)).changes == []


def definitions(node: Node, seen: dict[str, ObjectNode]) -> dict[str, ObjectNode]:
    match node:
        case ObjectNode():
            if node.name not in seen:
                seen[node.name] = node
                for inner in node.fields.values():
                    definitions(inner, seen)
        case ChoiceNode():
            for inner in (*node.cases.values(), *([node.otherwise] if node.otherwise else [])):
                definitions(inner, seen)
        case ListNode():
            definitions(node.item, seen)
        case AnyOfNode():
            for inner in node.branches:
                definitions(inner, seen)
        case _:
            pass
    return seen


KNOWN = {name: node for kind in KINDS for name, node in definitions(table(kind).root, {}).items()}


def test_rows_are_for_fields_that_there_are() -> None:
    for definition, rows in FIELDS.items():
        members = (definition, *SHARED.get(definition, ()))
        known = {field for name in members if name in KNOWN for field in KNOWN[name].fields}
        assert rows.keys() <= known, definition


def test_every_code_of_a_row_is_known() -> None:
    for rows in FIELDS.values():
        for policy in rows.values():
            texts = [getattr(policy, name) for name in type(policy).__slots__ if not isinstance(policy, Elsewhere)]
            codes = {text for text in texts if isinstance(text, str)} - {"AgentModel", "Workflow", "ModelDefinition"}
            assert codes - {"DataSource"} <= CODES.keys()


def undecided(node: Node, seen: set[str]) -> list[str]:
    """The fields below a node, as comparing goes down to them, for which nobody has said what a change means."""
    match node:
        case ObjectNode() if node.name not in seen:
            seen.add(node.name)
            return [where for field in node.fields for where in undecided_field(node, field, seen)]
        case ChoiceNode():
            inner = (*node.cases.values(), *([node.otherwise] if node.otherwise else []))
            return [where for each in inner for where in undecided(each, seen)]
        case ListNode():
            return undecided(node.item, seen)
        case AnyOfNode():
            return [where for each in node.branches for where in undecided(each, seen)]
        case _:
            return []


def undecided_field(node: ObjectNode, field: str, seen: set[str]) -> list[str]:
    policy, inner = policy_of(node.name, field), node.fields[field]
    if policy is None and isinstance(policy_of_node(inner), Block):
        policy = Block()
    if policy is None:
        return [f"{node.name}.{field}"]
    goes_down = isinstance(policy, Block | Entries) or (isinstance(policy, Elsewhere) and policy.by == "workflows")
    return undecided(inner, seen) if goes_down else []


@pytest.mark.parametrize("kind", KINDS)
def test_somebody_has_decided_what_a_change_of_each_field_means(kind: str) -> None:
    """A new field of the language has to get a row before it can be released."""
    assert undecided(table(kind).root, set()) == []


def test_field_nobody_knows_widens_authority(state: Side) -> None:
    sample = next(full("AgentModel"))
    changed = {**sample, "spec": {**sample["spec"], "from_tomorrow": 1}}
    for old, new in ((sample, changed), (changed, sample)):
        found = compare_pair(doc(state, old), doc(state, new)).changes
        assert [(change.cls, change.code) for change in found] == [(ChangeClass.WIDENS, "field-unknown")]
