"""What is made from the checks is fresh: the examples that ship, and their page."""

from pathlib import Path

import pytest

from tuvl.check.examples import example_of
from tuvl.check.explaining import DOCUMENTED
from tuvl.check.generate import expected, main
from tuvl.check.rules import ALL_RULES

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("path", sorted(expected(ROOT)), ids=lambda path: path.name)
def test_generated_file_is_fresh(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == expected(ROOT)[path], "run `make docs`"


def test_stale_file_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check", str(ROOT)]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.code)
def test_every_check_has_an_example_that_ships(rule: object) -> None:
    example = example_of(rule.code)  # type: ignore[attr-defined]
    assert example is not None
    assert example.bad
    assert example.out
    assert example.mended


def test_the_crash_of_a_check_has_a_page_too() -> None:
    assert DOCUMENTED[-1].code == "TV999"
