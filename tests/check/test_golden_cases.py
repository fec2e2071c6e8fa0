"""Each check speaks on its bad example, in these very words, and is silent on the same example mended."""

from pathlib import Path

import pytest

from tests.check.golden import CASES, REGENERATE, report, spoken
from tuvl.check.finding import CANNOT_CHECK
from tuvl.check.rule import Rule
from tuvl.check.rules import ALL_RULES


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.code)
def test_check_speaks_on_the_bad_example(rule: Rule, tmp_path: Path) -> None:
    said = spoken(report(rule.code, "bad", tmp_path), rule.code)
    expected = CASES / rule.code / "bad.out"
    if REGENERATE:
        expected.write_text(said, encoding="utf-8")
    assert said
    assert said == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.code)
def test_check_is_silent_on_the_good_example(rule: Rule, tmp_path: Path) -> None:
    found = report(rule.code, "good", tmp_path)
    assert spoken(found, rule.code) == ""
    assert not {finding.code for finding in found.findings if finding.severity == "error"}


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.code)
def test_bad_example_shows_one_kind_of_mistake(rule: Rule, tmp_path: Path) -> None:
    """Errors beside the one that is shown would teach the reader to look past them."""
    found = report(rule.code, "bad", tmp_path)
    found_errors = {finding.code for finding in found.findings if finding.severity == "error"}
    assert found_errors <= {rule.code}


def test_every_case_belongs_to_a_check() -> None:
    cases = {path.name for path in CASES.iterdir() if path.is_dir()}
    assert cases == {rule.code for rule in ALL_RULES}


def test_codes_and_names_are_unique_and_in_order() -> None:
    codes = [rule.code for rule in ALL_RULES]
    assert codes == sorted(set(codes))
    assert len({rule.name for rule in ALL_RULES}) == len(ALL_RULES)
    assert not {rule.code for rule in ALL_RULES} & (CANNOT_CHECK - {"TV009"})


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.code)
def test_check_says_what_it_finds_and_why_it_hurts(rule: Rule) -> None:
    text = type(rule).__doc__ or ""
    assert len(text.split("\n\n")) >= 2
