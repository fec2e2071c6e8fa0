"""`# tuvl: ignore[CODE] reason` hides findings, and is told of when it hides nothing."""

from pathlib import Path

import pytest

from tests.check.project_files import said, workflow
from tuvl.check.runner import check_paths

VALUES = "      values: { greeting: Hello }"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def found(text: str) -> list[str]:
    Path("x.yaml").write_text(text, encoding="utf-8")
    return said(check_paths([Path("x.yaml")]))


def with_values(*lines: str) -> str:
    return workflow().replace(VALUES, "\n".join(("      values:", *(f"        {line}" for line in lines))))


def test_finding_is_there_without_a_comment() -> None:
    assert found(with_values("a: yes")) == ["x.yaml:9 TV007"]


@pytest.mark.parametrize(
    "lines",
    [
        ("a: yes  # tuvl: ignore[TV007] it is text",),
        ("# tuvl: ignore[TV007] it is text", "a: yes"),
        ("# tuvl: ignore[TV302, TV007] it is text", "# another comment", "a: yes"),
    ],
)
def test_comment_hides_on_its_line_or_alone_on_the_line_above(lines: tuple[str, ...]) -> None:
    assert [line for line in found(with_values(*lines)) if "TV007" in line] == []


def test_comment_at_the_end_of_a_line_is_not_about_the_next_one() -> None:
    assert found(with_values("a: 1  # tuvl: ignore[TV007] it is text", "b: yes")) == [
        "x.yaml:9 TV006",
        "x.yaml:10 TV007",
    ]


def test_comment_hides_the_code_it_names_only() -> None:
    assert found(with_values("a: yes  # tuvl: ignore[TV008] why not")) == ["x.yaml:9 TV007", "x.yaml:9 TV006"]


@pytest.mark.parametrize("comment", ["# tuvl: ignore[TV007]", "# tuvl: ignore[TV007]   "])
def test_comment_without_a_reason_hides_nothing(comment: str) -> None:
    assert found(with_values(f"a: yes  {comment}")) == ["x.yaml:9 TV007", "x.yaml:9 TV006"]


def test_comment_without_a_code_hides_nothing() -> None:
    assert found(with_values("a: yes  # tuvl: ignore all of it")) == ["x.yaml:9 TV007", "x.yaml:9 TV006"]


def test_each_code_that_hides_nothing_is_told_by_itself() -> None:
    text = with_values("a: yes  # tuvl: ignore[TV007, TV008, TV70] it is text")
    Path("x.yaml").write_text(text, encoding="utf-8")
    messages = [finding.message for finding in check_paths([Path("x.yaml")]).findings]
    assert messages == ["nothing of TV008 is hidden on line 9", "there is no check 'TV70'"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (workflow().replace(VALUES, "      valus: {}  # tuvl: ignore[TV101] it is so"), "TV101"),
        (workflow() + "      # tuvl: ignore[TV201] it comes later\n      routes: { default: nowhere }\n", "TV201"),
        (workflow() + "      # tuvl: ignore[TV002] twice is better\n      runner: set\n", "TV002"),
    ],
)
def test_errors_that_no_run_survives_cannot_be_hidden(text: str, code: str) -> None:
    codes = [line.split()[1] for line in found(text)]
    assert code in codes


def test_comment_inside_text_is_text() -> None:
    assert found(with_values('a: "# tuvl: ignore[TV007] no comment"', "b: yes")) == ["x.yaml:10 TV007"]


def test_comment_hides_what_the_whole_project_brought_up(here: Path) -> None:
    artifact = "---\n# tuvl: ignore[TV210] kept for the next release\nname: later\ntype: prompt\n---\nHello.\n"
    Path("artifacts").mkdir()
    Path("artifacts/a.md").write_text(artifact, encoding="utf-8")
    assert said(check_paths([here])) == []


def test_left_over_comment_is_not_told_when_only_other_codes_are_selected() -> None:
    Path("x.yaml").write_text(with_values("a: 1  # tuvl: ignore[TV007] it is text"), encoding="utf-8")
    assert said(check_paths([Path("x.yaml")], select=["TV1"])) == []
