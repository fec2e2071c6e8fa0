"""Prose files: front matter with the lines of the file, and the body."""

from tuvl.source.front_matter import parse_prose


def test_front_matter_and_body_keep_the_lines_of_the_file():
    prose = parse_prose(
        b"\xef\xbb\xbf---\r\nname: triage\r\ntype: steering\r\n---\r\n# Rules\r\n\r\nBe brief.\r\n", file="a.md"
    )
    assert prose.document is not None
    assert prose.document.data == {"name": "triage", "type": "steering"}
    assert prose.document.locate(("type",)).start == (3, 7)
    assert prose.body == "# Rules\n\nBe brief.\n"
    assert prose.body_line == 5
    assert prose.problems == ()


def test_a_file_without_front_matter_is_all_body():
    prose = parse_prose(b"Hello\n---\nname: x\n---\n", file="a.md")
    assert (prose.document, prose.body_line) == (None, 1)
    assert prose.body == "Hello\n---\nname: x\n---\n"
    assert parse_prose(b"", file="a.md").body == ""


def test_a_rule_in_the_body_is_no_front_matter():
    prose = parse_prose(b"---\nname: x\n---\none\n---\ntwo\n", file="a.md")
    assert prose.body == "one\n---\ntwo\n"


def test_problems_of_the_front_matter_have_the_lines_of_the_file():
    prose = parse_prose(b"---\nname: x\n\ttype: y\n---\nbody\n", file="a.md")
    assert [(problem.code, problem.range.start) for problem in prose.problems] == [("TV001", (3, 1))]
    assert (prose.document, prose.body) == (None, "body\n")


def test_front_matter_that_never_ends_is_told_where_it_begins():
    (problem,) = parse_prose(b"---\nname: x\nbody\n", file="a.md").problems
    assert (problem.code, problem.range.start) == ("TV001", (1, 1))


def test_an_undecodable_prose_file_is_told_at_the_byte():
    (problem,) = parse_prose(b"---\nname: x\n---\nbod\xffy\n", file="a.md").problems
    assert (problem.code, problem.range.start) == ("TV003", (4, 4))


def test_suppressions_of_the_front_matter_are_kept():
    prose = parse_prose(b"---\nname: x # tuvl: ignore[TV210] spare\n---\n# tuvl: ignore[TV1] a heading\n", file="a.md")
    assert [(item.line, item.codes) for item in prose.suppressions] == [(2, ("TV210",))]
