"""What is wrong with a file as text: each mistake once, in words, at the place where a person must look."""

import subprocess
import sys

import pytest

from tuvl.source.document import SourceFile, parse_text


def parse(text: str | bytes) -> SourceFile:
    return parse_text(text if isinstance(text, bytes) else text.encode(), file="flow.yaml")


def told(text: str | bytes) -> list[tuple[str, int, int]]:
    return [(problem.code, *problem.range.start) for problem in parse(text).problems]


def only(text: str | bytes) -> str:
    (problem,) = parse(text).problems
    return f"{problem.message} | {problem.hint}"


# (text, line, column, words of the message)
BROKEN = {
    "tab": ("a:\n\tb: 1\n", 2, 1, "a tab indents this line"),
    "tab after spaces": ("a: 1\n  \tb: 2\n", 2, 3, "a tab indents this line"),
    "tab in a deeper block": ("a:\n  b: 1\n\tc: 2\n", 3, 1, "a tab"),
    "tab after a dash": ("- \ta: 1\n", 1, 3, "a tab stands"),
    "tab in block text": ("a: |\n\tx\n", 2, 1, "a tab"),
    "open quote": ("a: 'xx\nb: 1\n", 1, 4, "this quote (') is never closed"),
    "open double quote": ('a: 1\nb: "{{ x\nc: 1\n', 2, 4, 'this quote (") is never closed'),
    "quote closed by the next one": ("a: 'x\nb: 'y'\n", 1, 4, "closes only on line 2"),
    "quote inside quotes": ("a: 'it's'\n", 1, 8, "text follows after the closing quote"),
    "open bracket": ("a: [1, 2\nb: 3\n", 1, 4, "'[' is not closed"),
    "open bracket at the end": ("a: 1\nb: [1,\n", 2, 4, "'[' is never closed"),
    "open bracket over lines": ("a: [\n  b,\n  c\nd: 1\n", 1, 4, "'[' is not closed"),
    "open brace": ("x: 1\na: {b: 1\nc: 2\n", 2, 4, "'{' is not closed"),
    "missing comma": ('a: [\n  "b"\n  "c"\n]\n', 3, 3, "',' or ']' is expected"),
    "wrong bracket": ("a: {b: 1, c: [}\n", 1, 15, "'}' does not close the '['"),
    "stray bracket": ("a: [x]\nb: ]\n", 2, 4, "']' closes nothing"),
    "stray brace on its own": ("a: 1\n}\n", 2, 1, "'}' closes nothing"),
    "second colon": ("a: b: c\n", 1, 5, "a second ': '"),
    "key indented below a value": ("a: 1\n b: 2\n", 2, 2, "indented below a line that already has its value"),
    "key without colon": ("key\nb: 1\n", 1, 1, "this line has no ':'"),
    "line without colon": ("a: 1\nbcd\ne: 2\n", 2, 1, "this line has no ':'"),
    "indentation of no level": ("a:\n  b: 1\n c: 2\n", 3, 2, "column 2 is no level"),
    "block text indented less": ("a: |\n  x\n y\n", 3, 2, "indented less than the text"),
    "text beside the block mark": ("a: |x\n  y\n", 1, 5, "text follows on the line of '|'"),
    "list on the line of its key": ("a: - b\n", 1, 4, "a list cannot start on the line of its key"),
    "key among items": ("- a\nb: 1\n", 2, 1, "stands among the items of a list"),
    "at sign": ("a: @x\n", 1, 4, "text cannot start with '@'"),
    "percent": ("a: %x\n", 1, 4, "text cannot start with '%'"),
    "star": ("a: *.example.com\n", 1, 4, "unquoted text cannot start with '*'"),
    "unknown alias": ("a: 1\nb: *nope\n", 2, 4, "*nope names no anchor"),
    "escape": ('a: "\\q"\n', 1, 5, "is no escape"),
    "bad hexadecimal escape": ('a: "x\\xzz"\n', 1, 6, "is no escape"),
    "text after the end": ("a: 1\n...\nb: 2\n", 3, 1, "after the end of the document"),
    "first key indented": ("  a: 1\nb: 2\n", 2, 1, "after the end of the document"),
    "directive": ("%FOO\n---\na\n", 1, 1, "is a directive"),
    "unquoted template": ("a: 1\nurl: {{ x }}\n", 2, 6, "`{{` starts a mapping"),
    "unquoted template with text": ("url: {{ x }}/y\n", 1, 6, "`{{` starts a mapping"),
    "list as key": ("? [a]\n: b\nc: 1\n", 1, 3, "a list cannot be a key"),
    "mapping as key": ("? {a: 1}\n: b\n", 1, 3, "a mapping cannot be a key"),
    "merge of text": ("a: 1\n<<: x\n", 2, 1, "`<<` merges mappings"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_text_is_told_once_where_a_person_must_look(name):
    """M09"""
    text, line, column, words = BROKEN[name]
    (problem,) = parse(text).problems
    assert problem.code == "TV001"
    assert (problem.range.start, problem.range.start <= problem.range.end) == ((line, column), True)
    assert words in problem.message
    assert problem.hint


@pytest.mark.parametrize(
    ("text", "line", "column", "first"),
    [
        ("routes: {a: b}\nx: 1\nroutes: {c: d}\n", 3, 1, (1, 1)),
        ("routes:\n  ok: a\n  no: b\n  ok: c\n", 4, 3, (2, 3)),
        ("- {a: 1, 'a': 2}\n", 1, 10, (1, 4)),
        ("a: &x {b: 1}\nc:\n  <<: *x\n  <<: *x\n", 4, 3, (3, 3)),
        ('true: 1\n"true": 2\n', 2, 1, (1, 1)),
    ],
)
def test_a_repeated_key_is_told_with_both_places(text, line, column, first):
    """M01, M08"""
    (problem,) = [problem for problem in parse(text).problems if problem.code != "TV004"]
    assert (problem.code, problem.range.start) == ("TV002", (line, column))
    assert problem.other is not None
    assert problem.other.start == first
    assert f"line {first[0]}, column {first[1]}" in problem.message


def test_merges_may_be_overridden_before_and_after_and_the_first_of_a_list_wins():
    """M08"""
    text = (
        "a: &a {x: 1, y: 1}\nb: &b {x: 2, y: 2, z: 2}\n"
        "before: {x: 0, <<: *a}\nafter: {<<: *a, x: 0}\nlist: {<<: [*a, *b]}\ninline: {<<: {q: 1}}\n"
        'quoted: {"<<": 1}\nchain: &c {<<: *b, w: 3}\nagain: {<<: *c}\n'
    )
    source = parse(text)
    assert source.problems == ()
    data = source.documents[0].data
    assert data["before"] == {"x": 0, "y": 1}
    assert data["after"] == {"x": 0, "y": 1}
    assert data["list"] == {"x": 1, "y": 1, "z": 2}
    assert data["inline"] == {"q": 1}
    assert data["quoted"] == {"<<": 1}
    assert data["again"] == {"x": 2, "y": 2, "z": 2, "w": 3}


@pytest.mark.parametrize(
    ("key", "noted"),
    [
        ("true", True),
        ("1", True),
        ("null", True),
        ("1.5", True),
        ("~", True),
        ("on", False),
        ("yes", False),
        ("'1'", False),
    ],
)
def test_a_key_the_core_schema_reads_as_no_text_is_taken_as_written_with_a_note(key, noted):
    source = parse(f"routes:\n  {key}: END\n")
    text = key.strip("'")
    assert source.documents[0].data == {"routes": {text: "END"}}
    assert [(problem.code, problem.path) for problem in source.problems] == (
        [("TV004", ("routes", text))] if noted else []
    )
    assert all(f'"{text}"' in problem.hint for problem in source.problems)


@pytest.mark.parametrize(
    ("raw", "line", "column", "words"),
    [
        (b"a: 1\nb: x\xff\n", 2, 5, "byte 0xff at offset 9"),
        ("a: ä".encode() + b"\xe4\n", 1, 5, "byte 0xe4"),
        ("a: 1\n".encode("utf-16"), 1, 1, "UTF-16"),
        ("a: 1\n".encode("utf-16-le"), 1, 1, "UTF-16"),
        ("a: 1\n".encode("utf-32"), 1, 1, "UTF-32"),
        ("\ufeff\ufeffa: 1\n".encode(), 1, 1, "two byte order marks"),
        (b"a: b\nc: \x00d\n", 2, 4, "U+0000"),
        ("a: é\x07\n".encode(), 1, 5, "U+0007"),
        ("a: b\u2028c\n".encode(), 1, 5, "U+2028"),
        ("x: 1\na: b\x85c\n".encode(), 2, 5, "U+0085"),
        ("k\u2029y: 1\n".encode(), 1, 2, "U+2029"),
        (b"a: !!python/object/apply:os.system [ls]\n", 1, 4, "'!!python/object/apply:os.system'"),
        (b"a: !env HOME\n", 1, 4, "'!env'"),
        (b"a: !!str 12\n", 1, 4, "'!!str'"),
        (b"a: ! 12\n", 1, 4, "'!'"),
        (b"a: &x [*x]\n", 1, 8, "&x contains itself"),
        (b"a: &x {b: {c: *x}}\n", 1, 15, "&x contains itself"),
        (b"a: &x\n  <<: *x\n", 2, 7, "&x contains itself"),
        (b"a: " + b"x" * (5 * 1024 * 1024), 1, 1, "5 MiB"),
    ],
)
def test_unsafe_text_is_refused_at_its_place(raw, line, column, words):
    """M05, M06, M09"""
    (problem,) = parse(raw).problems
    assert (problem.code, problem.range.start) == ("TV003", (line, column))
    assert words in problem.message


def bomb(levels: int, *, width: int = 9) -> bytes:
    rows = [b"a0: &a0 [" + b",".join([b"x"] * width) + b"]"]
    rows += [f"a{level}: &a{level} [{','.join([f'*a{level - 1}'] * width)}]".encode() for level in range(1, levels)]
    return b"\n".join(rows)


def test_an_alias_bomb_is_refused_and_what_is_kept_stays_small():
    """M05"""
    source = parse(bomb(9))
    assert [problem.code for problem in source.problems] == ["TV003"]
    assert "written out" in source.problems[0].message
    assert sum(_count(value) for value in source.documents[0].data.values()) < 1_000_000


def _count(value: object) -> int:
    return 1 + sum(map(_count, value)) if isinstance(value, list) else 1


def test_merges_multiply_no_more_than_aliases_may():
    wide = "a: &a {" + ", ".join(f"k{index}: v" for index in range(2000)) + "}\n"
    source = parse(wide + "".join(f"m{index}: {{<<: *a}}\n" for index in range(2000)))
    assert [problem.code for problem in source.problems] == ["TV003"]


def test_aliases_that_nest_ever_deeper_are_refused():
    rows = ["a0: &a0 [x]", *(f"a{level}: &a{level} [*a{level - 1}]" for level in range(1, 500))]
    source = parse("\n".join(rows))
    assert {problem.code for problem in source.problems} == {"TV003"}
    assert "nested deeper" in source.problems[0].message


def test_an_honest_use_of_anchors_is_no_bomb():
    text = "base: &base {a: 1, b: [1, 2, 3], c: text}\n" + "".join(
        f"s{index}: {{<<: *base, d: *base}}\n" for index in range(200)
    )
    assert parse(text).problems == ()


def test_an_anchor_may_be_set_again_and_the_last_one_counts():
    source = parse("a: &x 1\nb: &x 2\nc: *x\n*x : key\n")
    assert source.problems == ()
    assert source.documents[0].data == {"a": 1, "b": 2, "c": 2, "2": "key"}


@pytest.mark.parametrize(
    "text",
    [
        "[" * 500 + "]" * 500,
        "[" * 500,
        "[" * 5000,
        "- " * 500 + "x",
        "- " * 3000 + "x",
        "".join(" " * level + "a:\n" for level in range(500)),
        "{a: " * 500 + "1" + "}" * 500,
        "a: " + "[" * 64 + "]" * 64,
    ],
    ids=range(8),
)
def test_nesting_without_end_is_one_clean_problem(text):
    assert [code for code, _, _ in told(text)] == ["TV003"]


def test_nesting_up_to_the_limit_is_read():
    source = parse("[" * 64 + "]" * 64)
    assert source.problems == ()


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n", "---\n---\n", "\ufeff", "\n\n"])
def test_a_file_without_content_has_no_documents(text):
    """M09"""
    source = parse(text)
    assert source.documents == ()
    assert source.problems == ()


def test_a_broken_document_does_not_hide_the_others_and_all_problems_come_in_source_order():
    text = "a: 1\n---\n\tx: 1\n---\nb: 1\nb: 2\n---\nc: [\n---\nd: !x 1\n"
    source = parse(text)
    assert [document.data for document in source.documents] == [{"a": 1}, {"b": 1}, {"d": 1}]
    assert [document.index for document in source.documents] == [0, 1, 2]
    assert told(text) == [("TV001", 3, 1), ("TV002", 6, 1), ("TV001", 8, 4), ("TV003", 10, 4)]


def test_a_file_of_countless_mistakes_tells_a_hundred_and_that_there_are_more():
    source = parse("\n".join(f"k{index}: !x y" for index in range(5000)))
    assert len(source.problems) == 101
    assert any("more than 100" in problem.message for problem in source.problems)
    assert len(parse("--- ]\n" * 500).problems) <= 20


def test_a_large_honest_file_is_read():
    """M05"""
    row = b"  - {id: 1, name: some honest text, note: 'more of it, quoted', ok: true}\n"
    count = (1024 * 1024) // len(row)
    source = parse(b"rows:\n" + row * count)
    assert source.problems == ()
    assert len(source.documents[0].data["rows"]) == count


def test_the_locale_of_the_machine_does_not_matter(tmp_path):
    """M06"""

    code = (
        "import sys; from tuvl.source.document import parse_text;"
        "print(ascii(parse_text(sys.stdin.buffer.read(), file='x').documents[0].data))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input="a: größe\n".encode(),
        capture_output=True,
        check=True,
        env={"LC_ALL": "C", "PYTHONUTF8": "0", "PATH": ""},
    )
    assert done.stdout.decode().strip() == "{'a': 'gr\\xf6\\xdfe'}"
