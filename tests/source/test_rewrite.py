"""Replacing a scalar in a file: that scalar and no other character."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuvl.source.document import parse_text
from tuvl.source.place import Position, Range
from tuvl.source.rewrite import Replacement, rewrite


def at(text: str, old: str, new: str) -> Replacement:
    """Replace the first occurrence of a word."""
    before = text[: text.index(old)]
    line = before.count("\n") + 1
    return Replacement(place=Range.at(line, len(before.rpartition("\n")[2]) + 1, len(old)), new=new)


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        ("a: { bb : 1 } # bb\n", "bb", "c", "a: { c : 1 } # bb\n"),
        ("'bb': 1\n", "'bb'", "c", "'c': 1\n"),
        ('"bb": 1\n', '"bb"', "c", '"c": 1\n'),
        ("bb: 1", "bb", "c", "c: 1"),
        ("1: x\n", "1", '"1"', '"1": x\n'),
        ("a: [bb, artifact://x@1]\n", "artifact://x@1", "artifact://y@2", "a: [bb, artifact://y@2]\n"),
        ("a: bb\n", "bb", "yes", 'a: "yes"\n'),
        ("a: bb\n", "bb", "12", 'a: "12"\n'),
        ("a: bb\n", "bb", "x: y", 'a: "x: y"\n'),
        ("a: 'bb'\n", "'bb'", "it's", 'a: "it\'s"\n'),
    ],
)
def test_name_is_written_the_way_the_old_one_was(text: str, old: str, new: str, expected: str) -> None:
    assert rewrite(text.encode(), [at(text, old, new)]) == (expected.encode(), 1)


def test_line_endings_and_the_byte_order_mark_stay() -> None:
    text = "# c \r\naa: 1\r\nbb:\t2   # d\r\n\r\ncc: 3"
    raw = b"\xef\xbb\xbf" + text.encode()
    done, count = rewrite(raw, [at(text, "bb", "b"), at(text, "cc", "c")])
    assert done == b"\xef\xbb\xbf# c \r\naa: 1\r\nb:\t2   # d\r\n\r\nc: 3"
    assert count == 2


@pytest.mark.parametrize("broken", ["a: [1\nbb: 2\n", "bb: 1\nbb: 2\n", "bb: !!python/name:x 1\n"])
def test_broken_file_is_not_touched(broken: str) -> None:
    assert rewrite(broken.encode(), [at(broken, "bb", "c")]) == (broken.encode(), 0)


def test_undecodable_file_is_not_touched() -> None:
    assert rewrite(b"bb: \xff\n", [Replacement(place=Range.at(1, 1, 2), new="c")]) == (b"bb: \xff\n", 0)


@pytest.mark.parametrize("text", ["a: &bb x\n", "x: &bb 1\na: *bb\n", "a: |\n  bb\n", 'a: "b\\nb"\n'])
def test_what_is_no_scalar_of_one_line_is_left_alone(text: str) -> None:
    start = text.index("a: ") + 3
    line = text[:start].count("\n") + 1
    end = len(text.splitlines()[line - 1]) + 1
    place = Range(Position(line, 4), Position(line, end))
    assert rewrite(text.encode(), [Replacement(place=place, new="c")]) == (text.encode(), 0)


def test_replacement_that_would_repeat_a_key_is_left_out_and_the_others_are_made() -> None:
    text = "vv: 1\nww: 2\nxx: 3\n"
    wanted = [at(text, "vv", "v"), at(text, "ww", "v"), at(text, "xx", "x")]
    assert rewrite(text.encode(), wanted) == (b"v: 1\nww: 2\nx: 3\n", 2)


def test_front_matter_is_mended_and_the_body_stays() -> None:
    text = "---\nnmae: x\n---\nnmae: body\n"
    assert rewrite(text.encode(), [at(text, "nmae", "name")], prose=True)[0] == b"---\nname: x\n---\nnmae: body\n"


names = st.text(string.ascii_letters + "_é☃", min_size=1, max_size=8)


@given(
    keys=st.lists(names, min_size=1, max_size=6, unique=True),
    ending=st.sampled_from(["\n", "\r\n", "\r"]),
    data=st.data(),
)
def test_only_the_key_changes(keys: list[str], ending: str, data: st.DataObject) -> None:
    """Whatever stands around a key, the other lines and the other values are the same afterwards."""
    lines = [f"{key}x: {{ k: [1, '{number}'] }}   # {key}" for number, key in enumerate(keys)]
    index = data.draw(st.integers(0, len(keys) - 1))
    new = data.draw(names.filter(lambda name: f"{name}" not in [f"{key}x" for key in keys]))
    raw = ending.join(lines).encode()
    place = Range.at(index + 1, 1, len(keys[index]) + 1)
    done, count = rewrite(raw, [Replacement(place=place, new=new)])
    assert count == 1
    before, after = (parse_text(side, file="").documents[0].data for side in (raw, done))
    assert isinstance(before, dict)
    assert isinstance(after, dict)
    assert list(after) == [new if key == f"{keys[index]}x" else key for key in before]
    assert list(after.values()) == list(before.values())
    same = [line for number, line in enumerate(done.decode().split(ending)) if number != index]
    assert same == [line for number, line in enumerate(lines) if number != index]
