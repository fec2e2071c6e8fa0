"""Nodes are read from the syntax of their file; nothing of it runs."""

import textwrap
from pathlib import Path

import pytest

from tuvl.analysis.nodes import NodeFacts, NodeFile, read_node_file


def read(source: str) -> NodeFile:
    return read_node_file(textwrap.dedent(source), file="nodes/pricing.py")


FULL = (
    '@{}("price", reads=["items"], writes=("total",), signals=["default", "empty"], effects="read")\ndef f(ctx): ...\n'
)


@pytest.mark.parametrize(
    ("head", "decorator"),
    [
        ("from tuvl import node", "node"),
        ("from tuvl import node as step", "step"),
        ("from tuvl.node import node", "node"),
        ("import tuvl", "tuvl.node"),
        ("import tuvl as t", "t.node"),
        ("import tuvl.node", "tuvl.node.node"),
        ("try:\n    from tuvl import node\nexcept ImportError:\n    raise", "node"),
    ],
)
def test_node_is_found_however_the_decorator_is_imported(head: str, decorator: str) -> None:
    (found,) = read(f"{head}\n{FULL.format(decorator)}").nodes
    assert found == NodeFacts(
        name="price",
        file="nodes/pricing.py",
        line=found.line,
        reads=("items",),
        writes=("total",),
        signals=("default", "empty"),
        effects="read",
    )


def test_line_is_that_of_the_decorator() -> None:
    (found,) = read('from tuvl import node\n\n\n@node("a")\ndef a(ctx): ...').nodes
    assert found.line == 4


def test_async_function_is_told_apart() -> None:
    (found,) = read('from tuvl import node\n@node("a")\nasync def a(ctx): ...').nodes
    assert found.is_async


def test_decorator_of_another_library_is_no_node() -> None:
    assert read('from graph import node\n@node("a")\ndef a(ctx): ...') == NodeFile()


def test_constant_of_the_same_file_is_followed() -> None:
    head = 'from tuvl import node\nKEYS = ["a", "b"]\nNAME = "n"\n'
    source = head + '@node(NAME, reads=KEYS, writes=["c", NAME])\ndef f(ctx): ...'
    (found,) = read(source).nodes
    assert (found.name, found.reads, found.writes) == ("n", ("a", "b"), ("c", "n"))


def test_name_bound_twice_is_no_constant() -> None:
    (found,) = read('from tuvl import node\nK = ["a"]\nK = ["b"]\n@node("n", reads=K)\ndef f(ctx): ...').nodes
    assert found.reads is None


@pytest.mark.parametrize("value", ["load()", "[key for key in 'ab']", "['a', 1]", "['a', f()]", "'a'", "None", "{**x}"])
def test_argument_that_is_no_literal_list_of_texts_is_unknown(value: str) -> None:
    (found,) = read(f'from tuvl import node\n@node("n", reads={value})\ndef f(ctx): ...').nodes
    assert found.reads is None


def test_name_given_by_keyword_is_read() -> None:
    (found,) = read('from tuvl import node\n@node(name="n")\ndef f(ctx): ...').nodes
    assert found.name == "n"


@pytest.mark.parametrize("decorator", ["node", "node()", "node(load())", "node(f'x')", 'node("")'])
def test_node_without_a_readable_name_is_a_problem(decorator: str) -> None:
    found = read(f"from tuvl import node\n@{decorator}\ndef price(ctx): ...")
    assert found.nodes == ()
    (problem,) = found.problems
    assert "'price'" in problem.message
    assert problem.line == 2
    assert '@node("price")' in (problem.hint or "")


def test_name_declared_twice_is_a_problem_and_the_first_stands() -> None:
    found = read('from tuvl import node\n@node("n")\ndef a(ctx): ...\n@node("n", effects="read")\ndef b(ctx): ...')
    assert [node.line for node in found.nodes] == [2]
    assert ["line 2" in problem.message for problem in found.problems] == [True]


@pytest.mark.parametrize("source", ["def f(:\n", "x = (", "\0", "(" * 500, "def f():\n\tif 1:\n        x\n"])
def test_file_that_does_not_parse_is_one_problem(source: str) -> None:
    found = read_node_file(source, file="nodes/broken.py")
    assert found.nodes == ()
    assert len(found.problems) == 1
    assert found.problems[0].line >= 1
    assert found.problems[0].column >= 1


def test_reading_runs_nothing_of_the_file(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    assert len(read(f'from tuvl import node\nopen({str(mark)!r}, "w")\n@node("n")\ndef f(ctx): ...').nodes) == 1
    assert not mark.exists()
