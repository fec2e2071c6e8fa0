"""What is read of a node file, held against what importing it gives."""

from pathlib import Path

import pytest

from tuvl.analysis.nodes import read_node_file
from tuvl.errors import StepError
from tuvl.steps.node_loader import load_node

NODE = '@node("n")\ndef f(ctx):\n    return {}\n'
INSIDE = '    @node("n")\n    def f(ctx):\n        return {}\n'


def imported(source: str, folder: Path) -> bool:
    """Whether the node is there once the file is imported."""
    path = folder / "nodes.py"
    path.write_text(source, encoding="utf-8")
    try:
        return load_node(str(path), "n", source=source.encode(), code="").name == "n"
    except StepError:
        return False


@pytest.mark.parametrize(
    ("body", "there"),
    [
        (NODE, True),
        (f"if True:\n{INSIDE}", True),
        (f"if False:\n    pass\nelse:\n{INSIDE}", True),
        (f"try:\n{INSIDE}finally:\n    pass\n", True),
        (f"for _ in range(1):\n{INSIDE}", True),
        (f"match 1:\n    case _:\n        {INSIDE.strip().replace(chr(10), chr(10) + '    ')}\n", True),
        (f"{NODE}kept = f\ndef f():\n    pass\n", True),
        (f"{NODE}g = 1\n", True),
        (f"if False:\n{INSIDE}", False),
        (f"if not True:\n{INSIDE}", False),
        (f"if 0:\n    if True:\n    {INSIDE.replace(chr(10) + ' ', chr(10) + '     ')}", False),
        (f"while False:\n{INSIDE}", False),
        (f"if True:\n    pass\nelse:\n{INSIDE}", False),
        (f'if __name__ == "__main__":\n{INSIDE}', False),
        (f"from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n{INSIDE}", False),
        (f"import typing\nif typing.TYPE_CHECKING:\n{INSIDE}", False),
        (f"{NODE}def f():\n    pass\n", False),
        (f"{NODE}f = 1\n", False),
        (f"{NODE}del f\n", False),
        (f"{NODE}import os as f\n", False),
    ],
)
def test_node_is_found_by_its_text_when_importing_finds_it(body: str, there: bool, tmp_path: Path) -> None:
    source = f"from tuvl import node\n{body}"
    read = read_node_file(source, file="nodes.py")
    assert imported(source, tmp_path) is there
    assert [node.name for node in read.nodes] == (["n"] if there else [])
    assert len(read.problems) == (0 if there else 1)


@pytest.mark.parametrize(
    "body", [f"import sys\nif sys.platform:\n{INSIDE}", f"{NODE}if not f:\n    def f():\n        pass\n"]
)
def test_node_that_depends_on_more_than_the_text_counts_as_there(body: str) -> None:
    assert [node.name for node in read_node_file(f"from tuvl import node\n{body}", file="n.py").nodes] == ["n"]
