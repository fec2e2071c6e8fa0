"""The first page as a newcomer reads it: its lines, as they are written, in one shell, in order, after `make demo`."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.example.project import ROOT, copy_example
from tests.support.ports import kept_port
from tests.test_docs import LONGEST_S, Words, commands, matches

BLOCK = re.compile(r"^(?P<run><!-- run -->\n)?```(?P<kind>sh|console)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "\x1e"
WAIT = "until (echo > /dev/tcp/127.0.0.1/$SHOP_PORT) 2> /dev/null; do kill -0 $! || break; done"
"""Follows what is started in the background: a newcomer types no faster than the shop opens."""


def lines_of(page: str) -> Iterator[tuple[str, str | None]]:
    """Yield the commands of a page with what must follow; `None` where the page does not say."""
    for block in BLOCK.finditer(page):
        if block["run"]:
            yield from commands(block["text"])
        elif "demo/shop_service.py" in block["text"]:
            yield from ((line, None) for line in block["text"].splitlines())


@pytest.fixture
def port() -> Iterator[int]:
    with kept_port() as kept:
        yield kept


@pytest.mark.timeout(LONGEST_S)
@pytest.mark.parametrize("page", ["README.md", "docs/ship.md"])
def test_every_line_of_the_page_works_as_it_is_written(page: str, tmp_path: Path, port: int) -> None:
    folder = tmp_path / "tuvl"
    copy_example(folder, port=port)
    # `make demo` leaves the environment there; nothing else of it is on the path.
    (folder / ".venv").symlink_to(sys.prefix)
    bare = [each for each in os.environ["PATH"].split(os.pathsep) if not (Path(each) / "tuvl").exists()]
    environ = {
        "PATH": os.pathsep.join(bare),
        "HOME": str(tmp_path),
        "SHOP_PORT": str(port),
        "TERM": "dumb",
        "LANG": "C.UTF-8",
    }
    lines = list(lines_of((ROOT / page).read_text(encoding="utf-8")))
    assert lines
    script = ["exec 2>&1"]
    for command, _ in lines:
        script += [command, *([WAIT] if command.partition("#")[0].rstrip().endswith("&") else []), f"printf '{MARK}'"]
    script.append("kill %1")
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        timeout=LONGEST_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    printed = done.stdout.split(MARK)
    assert len(printed) == len(lines) + 1
    for (command, expected), said in zip(lines, printed, strict=False):
        shown = Words(str(port), "8791").of_the_page(said)
        if expected is None:
            assert shown == "", f"$ {command}\n{shown}"
        else:
            assert matches(expected, shown), f"$ {command}\n--- the page\n{expected}\n--- printed\n{shown}"
