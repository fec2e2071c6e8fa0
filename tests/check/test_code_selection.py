"""`--select` and `--ignore`: codes, families and names."""

from pathlib import Path

import pytest

from tests.check.project_files import said, workflow
from tuvl.__main__ import main
from tuvl.check.rules import ALL_RULES
from tuvl.check.runner import check_paths
from tuvl.check.selection import select_codes
from tuvl.errors import UsageError

EVERY = {rule.code for rule in ALL_RULES}


def test_everything_is_selected_unless_something_is_said() -> None:
    assert select_codes().codes == EVERY


@pytest.mark.parametrize(
    ("words", "codes"),
    [
        (["TV302"], {"TV302"}),
        (["tv302,TV101"], {"TV302", "TV101"}),
        (["unknown-field"], {"TV101"}),
        (["TV101", " TV102 , "], {"TV101", "TV102"}),
        (["TV1"], {code for code in EVERY if code.startswith("TV1")}),
        (["TV1xx"], {code for code in EVERY if code.startswith("TV1")}),
    ],
)
def test_codes_families_and_names_are_taken(words: list[str], codes: set[str]) -> None:
    assert select_codes(words).codes == codes
    assert select_codes(ignore=words).codes == EVERY - codes


def test_ignore_takes_from_what_is_selected() -> None:
    assert "TV101" not in select_codes(["TV1"], ["TV101"]).codes
    assert "TV102" in select_codes(["TV1"], ["TV101"]).codes


@pytest.mark.parametrize(("word", "hint"), [("TV120", "TV102"), ("unknown-feld", "unknown-field"), ("TV", "family")])
def test_code_there_is_none_of_is_misuse_with_a_hint(word: str, hint: str) -> None:
    with pytest.raises(UsageError, match=hint):
        select_codes([word])


def test_that_nothing_was_checked_cannot_be_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.yaml").write_text("a: 1\n", encoding="utf-8")
    assert said(check_paths([Path("x.yaml")], ignore=["TV009"])) == ["x.yaml:1 TV009"]


def test_only_what_is_selected_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.yaml").write_text(workflow().replace("Hello", "yes").replace("set", "7"), encoding="utf-8")
    assert said(check_paths([Path("x.yaml")], select=["TV102"])) == ["x.yaml:7 TV102"]
    assert "x.yaml:7 TV102" not in said(check_paths([Path("x.yaml")], ignore=["TV102"]))


@pytest.mark.parametrize("empty", ["", " ", ",", " , "])
@pytest.mark.parametrize("option", ["--select", "--ignore"])
def test_option_without_a_code_is_misuse_and_never_turns_the_gate_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], option: str, empty: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.yaml").write_text(workflow().replace("runner", "runer"), encoding="utf-8")
    assert main(["validate", "x.yaml", f"{option}={empty}"]) == 2
    assert main(["validate", "x.yaml", option, empty]) == 2
    assert f"{option} {empty!r} names no check" in capsys.readouterr().err
