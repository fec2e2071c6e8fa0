"""Input that was refused and comes to a write now widens authority, however it is decided."""

from pathlib import Path

import pytest

from tests.changes.test_authority import ASK, PAY, STOP, flow, told

HEAD = "spec:\n"
NUMBER = "{ type: integer, minimum: 1, maximum: 100 }"


def with_input(router: str, amount: str, *, required: str = "amount", more: str = "") -> str:
    given = f"spec:\n  input: {{ type: object, required: [{required}], properties: {{ amount: {amount} }}{more} }}\n"
    return flow(router, ASK, PAY, STOP).replace(HEAD, given, 1)


def router(decides: str, routes: str) -> str:
    return f"- {{ id: size, kind: Router, {decides}, routes: {{ {routes} }} }}"


MORE = router("condition: { field: amount, operator: gt, value: 50 }", '"true": ask, "false": pay, error: pay')
CAP = router("condition: { field: amount, operator: gt, value: 100 }", '"true": pay, "false": ask, error: END')
EQUAL = router("condition: { field: amount, operator: eq, value: 7 }", '"true": ask, "false": pay, error: END')
MATCH = router("match: { field: amount }", "small: ask, big: pay, default: stop, error: END")
OPEN = router("match: { field: amount }", "small: ask, default: pay, error: END")
WHEN = router("when: [{ if: '{{ amount > 100 }}', signal: big }]", "big: pay, default: ask, error: END")
FLAG = router("condition: { field: amount, operator: eq, value: true }", '"true": ask, "false": pay, error: END')

ENUM = "{ enum: [small] }"
LOOSER = [
    ("may be missing", with_input(MORE, NUMBER), with_input(MORE, NUMBER, required=""), False),
    ("of another type", with_input(MORE, NUMBER), with_input(MORE, "{ type: [integer, string] }"), False),
    ("above the threshold", with_input(CAP, NUMBER), with_input(CAP, NUMBER.replace("100", "101")), False),
    ("another constant", with_input(EQUAL, "{ const: 7 }"), with_input(EQUAL, "{ enum: [7, 8] }"), False),
    ("another value", with_input(MATCH, ENUM), with_input(MATCH, "{ enum: [small, big] }"), False),
    ("any value", with_input(OPEN, ENUM), with_input(OPEN, "{ type: string }"), False),
    ("no schema", with_input(MORE, NUMBER), flow(MORE, ASK, PAY, STOP), False),
    ("no at last", with_input(FLAG, "{ const: true }"), with_input(FLAG, "{ type: boolean }"), False),
    ("an expression", with_input(WHEN, NUMBER), with_input(WHEN, NUMBER.replace("100", "101")), True),
    (
        "alternatives",
        with_input(CAP, "{ anyOf: [{ type: integer, maximum: 5 }] }"),
        with_input(CAP, "{ anyOf: [{ type: integer, maximum: 500 }] }"),
        True,
    ),
]


@pytest.mark.parametrize(("old", "new", "may"), [case[1:] for case in LOOSER], ids=[case[0] for case in LOOSER])
def test_input_that_was_refused_and_comes_to_a_write_is_told(tmp_path: Path, old: str, new: str, *, may: bool) -> None:
    found = told(tmp_path / "there", old, new)
    assert found
    assert {(change.code, change.may) for change in found} == {("write-reached", may)}
    assert all(change.before == "refused" and "of input that was refused" in change.message for change in found)
    assert told(tmp_path / "back", new, old) == []


HARMLESS = [
    ("more on a side that was there", with_input(MORE, NUMBER), with_input(MORE, NUMBER.replace("100", "900"))),
    (
        "a number beyond all",
        with_input(MORE, f"{{ type: integer, maximum: 1{'0' * 400} }}"),
        with_input(MORE, "{ type: integer }"),
    ),
    ("an error that stops", with_input(CAP, NUMBER), with_input(CAP, NUMBER, required="")),
    ("another key", with_input(MORE, NUMBER), with_input(MORE, NUMBER, more=", maxProperties: 9")),
]


@pytest.mark.parametrize(("old", "new"), [case[1:] for case in HARMLESS], ids=[case[0] for case in HARMLESS])
def test_looser_input_that_comes_to_no_more_widens_nothing(tmp_path: Path, old: str, new: str) -> None:
    assert told(tmp_path, old, new) == []


def test_step_whose_error_only_says_that_a_value_was_missing_is_looked_at(tmp_path: Path) -> None:
    note = (
        "- { id: note, kind: Functional, runner: set, values: { a: '{{ amount }}' }, "
        "routes: { default: ask, error: pay } }"
    )
    found = told(tmp_path, with_input(note, NUMBER), with_input(note, NUMBER, required=""))
    assert [(change.code, change.step) for change in found] == [("write-reached", "note")]


def test_key_that_a_step_writes_is_no_input(tmp_path: Path) -> None:
    writes = "- { id: first, kind: Functional, runner: set, values: { amount: 3 }, routes: { default: size } }"
    states = [with_input(f"{writes}\n    {MORE}", NUMBER, required=required) for required in ("amount", "")]
    assert told(tmp_path, *states) == []
