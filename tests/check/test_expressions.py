"""Schedules, dot paths and patterns, as TV111 reads them."""

import pytest

from tuvl.analysis.cron import cron_problem
from tuvl.analysis.dot_path import dot_path_problem
from tuvl.analysis.pattern import pattern_problem


@pytest.mark.parametrize(
    "text",
    [
        "* * * * *",
        "*/15 * * * *",
        "0 9-17/2 * * mon-fri",
        "0,30 8 1,15 * *",
        "5 4 * jan,JUL sun",
        "0 0 29 2 *",
        "0 0 31 2,3 *",
        "0 0 30 2 mon",
        "10/5 * * * 7",
    ],
)
def test_schedule_is_taken(text: str) -> None:
    assert cron_problem(text) is None


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "0 field"),
        ("* * * *", "4 field"),
        ("* * * * * *", "6 field"),
        ("@daily", "1 field"),
        ("60 * * * *", "60 is outside 0-59"),
        ("* 24 * * *", "24 is outside"),
        ("* * 0 * *", "0 is outside 1-31"),
        ("* * * 13 *", "13 is outside"),
        ("* * * * 8", "8 is outside"),
        ("*/0 * * * *", "at least 1"),
        ("*/ * * * *", "'' is no value"),
        ("9-5 * * * *", "backwards"),
        ("1,,2 * * * *", "no value"),
        ("-1 * * * *", "no value"),
        ("٣ * * * *", "no value"),
        ("* * * mon *", "no value"),
        ("* * L * *", "no value"),
        ("0 0 30 2 *", "never fires"),
        ("0 0 31 feb,apr *", "never fires"),
        ("99999999999999 * * * *", "no value"),
    ],
)
def test_schedule_is_refused_with_a_reason(text: str, word: str) -> None:
    assert word in (cron_problem(text) or "")


@pytest.mark.parametrize("text", ["a", "a.b.0.c", "order-id", "größe.x", "a b.c"])
def test_dot_path_is_taken(text: str) -> None:
    assert dot_path_problem(text) is None


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("items[0].price", "items.0.price"),
        ("$.items[0]", "items.0"),
        ("{{ order.total }}", "order.total"),
        ("a..b", "dots"),
        (".a", "dots"),
        ("a.", "dots"),
        ("a. b", "dots"),
    ],
)
def test_dot_path_is_refused_with_what_would_be_right(text: str, hint: str) -> None:
    problem = dot_path_problem(text)
    assert problem is not None
    assert hint in (problem.hint or "")


@pytest.mark.parametrize(
    "text",
    [
        r"\b\d{3}-\d{2}\b",
        r"(?i)secret|token",
        r"(?P<key>sk-[A-Za-z0-9]{20,})",
        r"(?:a|b)+?c*",
        r"[()?=!<]",
        r"[]1]\1?".replace(r"\1", "x"),
        r"[^]\]](a)",
        r"\(?=",
        r"a{2,3}",
        r"[[a]",
        r"[a+]+",
        r"\+\+",
        "ключ",
        r"\pL+\z",
        r"[[:alpha:]]+",
        r"[{,5}]",
        r"\{,5}",
        r"(?U)a+",
    ],
)
def test_pattern_that_is_linear_is_taken(text: str) -> None:
    assert pattern_problem(text) is None


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (r"(a)\1", "back-reference"),
        (r"(?P<x>a)(?P=x)", "back-reference"),
        (r"a(?=b)", "look-ahead"),
        (r"a(?!b)", "look-ahead"),
        (r"(?<=a)b", "look-behind"),
        (r"(?<!a)b", "look-behind"),
        (r"(a)?(?(1)b|c)", "conditional"),
        (r"(?>a+)b", "atomic"),
        (r"a++", "possessive"),
        (r"a{2}+", "possessive"),
        (r"(?x) a b", "flags"),
        (r"a(?#note)b", "comment"),
        (r"a{1001}", "too large"),
        (r"((a{1000}){1000}){2}", "too large"),
        (r"(", "does not parse"),
        (r"*a", "does not parse"),
        (r"[z-a]", "does not parse"),
        ("a{99999999999999999999}", "too large"),
        (r"x{,5}", "{0,5}"),
        (r"\u0041", "does not parse"),
        (r"a\Z", "does not parse"),
        ("\ud800", "surrogate"),
    ],
)
def test_pattern_that_may_not_be_linear_is_refused(text: str, word: str) -> None:
    assert word in (pattern_problem(text) or "")
