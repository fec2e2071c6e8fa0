"""What the pages promise: links lead somewhere, examples do what is printed, and no page is forgotten."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.example.project import copy_example, open_shop
from tests.support import warm

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(
    path
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").rglob("*.md"))
    if path.name != "LICENSE.md"
)
FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<info>[^`]*)$")
COMMENT = re.compile(r"^<!-- (?P<word>session|file|run|validate)(?:: (?P<rest>.+))? -->$")
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")

LONGEST_S = 600
"""How long the examples of one session may take, in seconds; how long they do take is the machine's affair."""


@dataclass(frozen=True)
class Block:
    """A marked, fenced block: what to do with it, and the line its content begins at."""

    action: str
    argument: str
    line: int
    text: str


@dataclass
class Session:
    """Marked blocks of a page that share a folder."""

    page: Path
    name: str
    example: bool
    blocks: list[Block] = field(default_factory=list)

    @property
    def id(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.name}"


def sessions(page: Path, text: str) -> Iterator[Session]:
    """Yield the sessions of a page in order; a `validate` block outside of any is a session of its own."""
    current: Session | None = None
    pending: tuple[str, str] | None = None
    for fence in fences_and_comments(text):
        if isinstance(fence, re.Match):
            word, rest = fence["word"], fence["rest"] or ""
            if word == "session":
                if current:
                    yield current
                name, *flags = rest.split()
                current = Session(page, name, example="example" in flags)
            else:
                pending = (word, rest)
        elif pending:
            block = Block(*pending, line=fence[0], text=fence[1])
            pending = None
            if current is None:
                yield Session(page, f"line-{block.line}", example=False, blocks=[block])
            else:
                current.blocks.append(block)
    if current:
        yield current


def fences_and_comments(text: str) -> Iterator[re.Match[str] | tuple[int, str]]:
    opening: re.Match[str] | None = None
    content: list[str] = []
    start = 0
    for number, line in enumerate(text.splitlines(), 1):
        found = FENCE.match(line)
        if opening is None:
            if found:
                opening, content, start = found, [], number + 1
            elif comment := COMMENT.match(line):
                yield comment
        elif found and not found["info"] and len(found["ticks"]) >= len(opening["ticks"]):
            yield start, "\n".join(content) + "\n"
            opening = None
        else:
            content.append(line)


SESSIONS = [found for page in PAGES for found in sessions(page, page.read_text(encoding="utf-8"))]


@pytest.fixture(scope="module")
def tuvl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[warm.Commands]:
    """The command, which has its imports behind it. Tests of the first page start it as a newcomer does."""
    with warm.commands(tmp_path_factory.mktemp("bin"), plain_environ()) as made:
        yield made


@pytest.mark.timeout(LONGEST_S)
@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.id)
def test_examples_do_what_the_page_says(session: Session, tuvl: warm.Commands, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    if session.example:
        with open_shop() as shop:
            copy_example(folder, port=shop.port)
            perform(session, folder, Words(str(shop.port), "8791"), tuvl)
    else:
        folder.mkdir()
        perform(session, folder, Words(str(folder), "."), tuvl)


@dataclass(frozen=True)
class Words:
    """What this machine says, and what the page says for it."""

    here: str
    page: str

    def of_the_page(self, printed: str) -> str:
        """Say it as the page does; the same digits in the middle of other ones are something else."""
        return re.sub(rf"(?<!\w){re.escape(self.here)}(?!\w)", self.page, printed)


def perform(session: Session, folder: Path, words: Words, tuvl: warm.Commands) -> None:
    for block in session.blocks:
        match block.action:
            case "file":
                target = folder / block.argument
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(block.text, encoding="utf-8")
            case "run":
                for command, expected in commands(block.text):
                    printed = words.of_the_page(shell(command, folder, tuvl))
                    where = f"{session.page.relative_to(ROOT)}:{block.line}: $ {command}"
                    assert matches(expected, printed), f"{where}\n--- the page\n{expected}\n--- printed\n{printed}"
            case "validate":
                # A project's configuration is read in one file only.
                name = "tuvl.yaml" if block.text.startswith("kind: ProjectConfig") else "example.yaml"
                (folder / name).write_text(block.text, encoding="utf-8")
                printed = shell(f"tuvl validate --strict --quiet {name}; echo $?", folder, tuvl)
                assert printed.splitlines()[-1] == "0", f"{session.page}:{block.line}\n{printed}"


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Yield each command with what must follow; a trailing backslash continues a command."""
    command, expected = "", []
    continued = False
    for line in text.splitlines():
        if continued or line.startswith("$ "):
            if not continued and command:
                yield command, "\n".join(expected)
            command = f"{command}\n{line}" if continued else line[2:]
            expected = []
            continued = line.endswith("\\")
        else:
            expected.append(line)
    if command:
        yield command, "\n".join(expected)


def plain_environ() -> dict[str, str]:
    """Return an environment in which nothing of the developer's own shows."""
    environ = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("TUVL_", "OTEL_", "OPENAI_", "PYTEST_"))
    }
    return environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{environ['PATH']}",
        "COLUMNS": "100",
        "TERM": "dumb",
        "PYTHONIOENCODING": "utf-8",
    }


def shell(command: str, folder: Path, tuvl: warm.Commands) -> str:
    environ = plain_environ() | tuvl.environ
    answer = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environ | {"PATH": f"{tuvl.folder}{os.pathsep}{environ['PATH']}"},
        pass_fds=tuvl.files,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=LONGEST_S,
        check=False,
    )
    return answer.stdout


def matches(expected: str, printed: str) -> bool:
    """Compare line by line; `…` stands for any text, alone on a line for any lines; blank ends do not count."""
    pattern = ""
    for line in expected.strip("\n").splitlines():
        if line.strip() == "…":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*?".join(re.escape(part) for part in line.rstrip().split("…")) + r"[ \t]*\n"
    return re.fullmatch(pattern, printed.strip("\n") + "\n" if printed.strip("\n") else "") is not None


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    broken = []
    for found in LINK.finditer(without_code(text)):
        target, _, anchor = found["target"].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        path = (page.parent / target).resolve() if target else page
        if not path.exists() or (anchor and path.suffix == ".md" and anchor not in anchors(path)):
            broken.append(found["target"])
    assert not broken


def without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^ *(`{3,})[^`]*\n.*?^ *\1`*$", "", text, flags=re.MULTILINE | re.DOTALL))


def anchors(page: Path) -> set[str]:
    """Return the anchors that headings get on the web: lower case, punctuation dropped, spaces as hyphens."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ +(.+?) *$", page.read_text(encoding="utf-8"), re.MULTILINE):
        plain = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-")
        number = 0
        while (anchor := plain if not number else f"{plain}-{number}") in found:
            number += 1
        found.add(anchor)
    return found


def test_every_page_is_reachable_from_the_first_one() -> None:
    seen, ahead = set[Path](), [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        if page in seen or page.suffix != ".md" or not page.is_file():
            continue
        seen.add(page)
        for found in LINK.finditer(without_code(page.read_text(encoding="utf-8"))):
            target = found["target"].partition("#")[0]
            if target and not re.match(r"[a-z]+:", target):
                ahead.append((page.parent / target).resolve())
    assert not set(PAGES) - seen


def test_commands_in_the_first_page_are_targets_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    for page in PAGES:
        named = set(re.findall(r"`make ([a-z-]+)`", page.read_text(encoding="utf-8")))
        assert named <= targets, page


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        ("a\nb", "a\nb\n", True),
        ("a\n…\nd", "a\nb\nc\nd\n", True),
        ("a … c", "a bcd c\n", True),
        ("a … c", "a bcd\n", False),
        ("", "", True),
        ("", "surprise\n", False),
        ("a", "a\nsurprise\n", False),
    ],
)
def test_comparing_with_a_page_leaves_out_only_what_the_page_leaves_out(
    expected: str, printed: str, same: bool
) -> None:
    assert matches(expected, printed) is same


def test_reader_of_pages_finds_marked_blocks_only() -> None:
    page = """
<!-- session: first example -->
<!-- file: a.yaml -->
```yaml
kind: X
```
```sh
not marked
```
<!-- run -->
````console
$ one \\
    two
```
printed
````
"""
    (found,) = sessions(ROOT / "README.md", page)
    assert found.example
    assert [(block.action, block.argument) for block in found.blocks] == [("file", "a.yaml"), ("run", "")]
    assert list(commands(found.blocks[1].text)) == [("one \\\n    two", "```\nprinted")]


def test_bash_is_there_for_the_sessions() -> None:
    assert shutil.which("bash")
