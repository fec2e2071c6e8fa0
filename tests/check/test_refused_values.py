"""A value that the reader of a file refused is told once; what stands in for it is not judged again."""

from pathlib import Path

import pytest

from tests.check.project_files import said, workflow
from tuvl.check.runner import check_paths

BOMB = "".join(
    f"{key}: &{key} [{', '.join([f'*{below}' if below else 'lol'] * 10)}]\n"
    for below, key in zip(("", *"abcdefg"), "abcdefgh", strict=True)
)
HEAD = "kind: Workflow\nmetadata: { name: w }\nspec:\n"
STEPS = "  steps: [{ id: a, kind: Functional, runner: set, values: { x: 1 } }]\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def codes(text: str) -> list[str]:
    Path("x.yaml").write_text(text, encoding="utf-8")
    return [line.removeprefix("x.yaml:") for line in said(check_paths([Path("x.yaml")]))]


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("limits: { max_steps: .inf }", "4 TV001"),
        ("limits: { max_steps: " + "9" * 2000 + " }", "4 TV001"),
        ("limits: { max_steps: *gone }", "4 TV001"),
        ("limits: { max_steps: !!int 5 }", "4 TV003"),
        ("limits: *gone", "4 TV001"),
        ("limits: { <<: *gone, max_stepps: 1 }", "4 TV001"),
        ("input: &x { type: object, properties: *x }", "4 TV003"),
        ("input: { type: object, properties: { a: { type: object, properties: *gone } } }", "4 TV001"),
        ("input: " + "{ a: " * 250 + "1" + " }" * 250, "4 TV003"),
    ],
)
def test_refused_value_is_told_once(spec: str, told: str) -> None:
    assert codes(f"{HEAD}  {spec}\n{STEPS}") == [told]


def test_refused_value_that_is_used_twice_is_told_once() -> None:
    steps = STEPS.replace("x: 1", "x: &n .inf").replace(
        "}]", "}, { id: b, kind: Functional, runner: wait, seconds: *n }]"
    )
    assert codes(f"{HEAD}{steps}") == ["4 TV001"]


def test_key_of_a_refused_value_is_still_judged() -> None:
    assert codes(f"{HEAD}  limit: .inf\n{STEPS}") == ["4 TV101", "4 TV001"]


def test_values_beside_a_refused_one_are_still_judged() -> None:
    assert codes(f"{HEAD}  limits: {{ max_steps: .inf, timeout_s: soon }}\n{STEPS}") == ["4 TV001", "4 TV102"]


@pytest.mark.parametrize("kind", ["kind: Workflow\n", "kind: Deployment\napiVersion: v1\n", ""])
def test_alias_bomb_in_unknown_fields_is_told_in_any_file_that_is_named(kind: str) -> None:
    assert "TV003" in {line.split()[1] for line in codes(f"{kind}{BOMB}")}


def test_alias_bomb_is_not_judged_where_it_is_used() -> None:
    found = codes(f"{BOMB}{HEAD}  input: *h\n{STEPS}")
    assert [line for line in found if "TV101" not in line] == ["5 TV003"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (r'"\q"', r"'\q' is no escape that double quotes know"),
        (r'"\ud800"', r"\ud800 is one half of a surrogate pair, and no character"),
        (r'"a\ud83d\ude00"', r"\ud83d is one half of a surrogate pair, and no character"),
        (r'"\U0000DFFF"', r"\U0000DFFF is one half of a surrogate pair, and no character"),
        (r'"\uzzzz"', r"'\u' is no escape that double quotes know"),
    ],
)
def test_bad_escape_is_shown_as_it_is_written(text: str, message: str) -> None:
    Path("x.yaml").write_text(workflow().replace("Hello", text), encoding="utf-8")
    (finding,) = check_paths([Path("x.yaml")]).findings
    assert (finding.code, finding.line, finding.message) == ("TV001", 8, message)


def test_document_of_another_tool_in_a_named_file_is_noted_as_not_checked(here: Path) -> None:
    Path("x.yaml").write_text(f"{workflow()}---\napiVersion: v1\nkind: Service\n", encoding="utf-8")
    report = check_paths([Path("x.yaml")])
    (finding,) = report.findings
    assert (finding.code, finding.severity, finding.line) == ("TV009", "note", 10)
    assert not report.broken
    assert not report.failed(strict=True)
    assert said(check_paths([here])) == []
