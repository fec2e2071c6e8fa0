"""Where things stand: every key and value, through merges and aliases, in characters and lines that editors count."""

import pytest

from tuvl.source.document import Document, parse_text
from tuvl.values import KeyPath


def document(text: str) -> Document:
    source = parse_text(text.encode(), file="flow.yaml")
    assert source.problems == ()
    return source.documents[0]


def span(text: str, path: KeyPath, *, key: bool = False) -> tuple[int, int, int, int]:
    (line, column), (end_line, end_column) = document(text).locate(path, key=key)
    return line, column, end_line, end_column


WORKFLOW = """\
kind: Workflow
metadata: { name: "größe 😀", tags: [a, b] }
spec:
  steps:
    - id: ask   # a comment
      routes:
        default: END

    - id: say
"""


@pytest.mark.parametrize(
    ("path", "key", "expected"),
    [
        (("kind",), False, (1, 7, 1, 15)),
        (("kind",), True, (1, 1, 1, 5)),
        (("metadata", "name"), False, (2, 19, 2, 28)),
        (("metadata", "tags"), True, (2, 30, 2, 34)),
        (("metadata", "tags", 1), False, (2, 40, 2, 41)),
        (("spec", "steps", 0, "routes", "default"), False, (7, 18, 7, 21)),
        (("spec", "steps", 0), False, (5, 7, 7, 21)),
        (("spec", "steps", 1, "id"), True, (9, 7, 9, 9)),
        ((), False, (1, 1, 9, 14)),
    ],
)
def test_every_key_and_value_has_its_place_in_characters(path, key, expected):
    assert span(WORKFLOW, path, key=key) == expected


@pytest.mark.parametrize(
    "path", [("spec", "steps", 0, "routes", "error"), ("spec", "steps", 0, "routes", "default", "x")]
)
def test_a_path_that_is_absent_is_placed_at_its_nearest_ancestor(path):
    ancestor = path[:4] if path[4] == "error" else path[:5]
    assert span(WORKFLOW, path) == span(WORKFLOW, ancestor)
    assert span(WORKFLOW, ("spec", "steps", 9)) == span(WORKFLOW, ("spec", "steps"))


def test_positions_survive_merges_and_aliases():
    text = "base: &base\n  url: one\n  tries: 2\nuse:\n  <<: *base\n  tries: 3\nsame: *base\n"
    assert document(text).data["use"] == {"tries": 3, "url": "one"}
    assert span(text, ("use", "url")) == (2, 8, 2, 11)
    assert span(text, ("use", "url"), key=True) == (2, 3, 2, 6)
    assert span(text, ("use", "tries")) == (6, 10, 6, 11)
    assert span(text, ("same",)) == (1, 7, 3, 11)
    assert span(text, ("same",), key=True) == (7, 1, 7, 5)
    assert span(text, ("use",)) == (5, 3, 6, 11)


def test_block_text_begins_at_its_mark_and_an_empty_value_after_its_colon():
    text = "a: |\n  one\n  two\nb:\nc: x\n"
    assert span(text, ("a",)) == (1, 4, 4, 1)
    assert span(text, ("b",)) == (4, 3, 4, 3)


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
def test_line_breaks_of_all_systems_count_alike(line_break):
    text = "a: 1\nb:\n  c: 2\n".replace("\n", line_break)
    assert document(text).data == {"a": 1, "b": {"c": 2}}
    assert span(text, ("b", "c")) == (3, 6, 3, 7)


def test_one_leading_byte_order_mark_changes_no_column():
    """M06"""
    assert span("\ufeffa: 1\n", ("a",)) == (1, 4, 1, 5)
    assert document("\ufeffkind: x\n").kind == "x"


def test_invisible_line_breaks_inside_quotes_are_text_and_do_not_move_the_lines_below():
    text = 'a: "x\u2028y\u2029z\x85"\nb: 1 # in a comment: \u2028 c: 2\nd: |\n  p\u2028q\n'
    assert document(text).data == {"a": "x\u2028y\u2029z\x85", "b": 1, "d": "p\u2028q\n"}
    assert span(text, ("b",)) == (2, 4, 2, 5)


def test_documents_of_one_file_are_numbered_and_keep_the_lines_of_the_file():
    """M09"""
    source = parse_text(b"# first\nkind: A\n---\nkind: B\n---\n# nothing\n---\nkind: C\n...\n", file="many.yaml")
    assert [(item.index, item.kind) for item in source.documents] == [(0, "A"), (1, "B"), (2, "C")]
    assert source.documents[2].locate(("kind",)).start == (8, 7)


@pytest.mark.parametrize(
    ("text", "kind"), [("kind: 3\n", None), ("- kind\n", None), ("hello", None), ("kind: Workflow\n", "Workflow")]
)
def test_kind_is_text_or_nothing(text, kind):
    assert document(text).kind == kind
