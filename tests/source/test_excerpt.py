"""The source line and its carets."""

from tuvl.source.excerpt import MAX_WIDTH, excerpt
from tuvl.source.place import Position, Range


def test_carets_stand_below_what_is_meant():
    assert excerpt("a: 1\nurl: hppt://x\n", Range.at(2, 6, 4)) == "   2 | url: hppt://x\n     |      ^^^^"


def test_a_range_over_lines_is_marked_to_the_end_of_its_first_line():
    assert excerpt("a:\n  b: 1\n  c: 2", Range(Position(2, 3), Position(3, 7))) == "   2 |   b: 1\n     |   ^^^^"


def test_tabs_wide_and_combining_characters_keep_the_carets_in_line():
    assert excerpt("\tx", Range.at(1, 2)) == "   1 |     x\n     |     ^"
    assert excerpt("中文: x", Range.at(1, 5)) == "   1 | 中文: x\n     |       ^"
    assert excerpt("e\u0301: x", Range.at(1, 5)) == "   1 | e\u0301: x\n     |    ^"


def test_a_place_past_the_end_of_a_line_is_marked_behind_it():
    assert excerpt("a:", Range.at(1, 9)) == "   1 | a:\n     |   ^"
    assert excerpt("a:", Range.at(7, 1)) == ""


def test_of_a_long_line_the_part_around_the_place_is_shown():
    line = "x" * 5000 + "HERE" + "y" * 5000
    shown, carets = excerpt(line, Range.at(1, 5001, 4)).split("\n")
    assert len(shown) <= len("   1 | ") + MAX_WIDTH
    assert shown[carets.index("^") : carets.rindex("^") + 1] == "HERE"
    assert "…x" in shown
    assert "y…" in shown
    shown, carets = excerpt(line, Range.at(1, 1, 9000)).split("\n")
    assert len(shown) <= len("   1 | ") + MAX_WIDTH


def test_control_characters_do_not_reach_the_terminal():
    assert "\x1b" not in excerpt("a: \x1b[31m", Range.at(1, 4, 3))
