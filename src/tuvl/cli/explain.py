"""`tuvl explain`: what a check means, why it hurts, a bad and a good example."""

import sys
from collections.abc import Sequence
from textwrap import fill

from tuvl.check.examples import Example, example_of
from tuvl.check.explaining import DOCUMENTED, Page, page_of
from tuvl.cli.flags import Flags, read_words
from tuvl.cli.streams import write_stdout
from tuvl.errors import TuvlError
from tuvl.values import printable_lines

FLAGS = Flags(command="explain", most_arguments=1)

MISUSE = 2
WIDTH = 100


def main(argv: Sequence[str]) -> int:
    """Run the command from its words; returns the exit code."""
    try:
        words = read_words(FLAGS, argv)
        return explain(words.arguments[0] if words.arguments else None)
    except TuvlError as error:
        sys.stderr.write(f"tuvl explain: {printable_lines(str(error))}\n")
        return MISUSE


def explain(code: str | None) -> int:
    """Print the page of one check, by code or by name, or the list of all; raises `UsageError`."""
    return 0 if write_stdout(list_text() if code is None else page_text(page_of(code))) else 1


def list_text() -> str:
    """List all checks, one a line."""
    return "".join(f"{page.code}  {page.severity:<7}  {page.name}\n" for page in DOCUMENTED)


def page_text(page: Page) -> str:
    """Write the page of one check."""
    paragraphs = [fill(paragraph, WIDTH) + "\n" for paragraph in page.paragraphs]
    weight = f"{page.severity}, checked by `tuvl ship`" if page.phase == "ship" else page.severity
    parts = [f"{page.code} {page.name} ({weight})\n", *paragraphs]
    example = example_of(page.code)
    if example is not None:
        parts += _example(example)
    return "\n".join(parts)


def _example(example: Example) -> list[str]:
    parts = [f"Bad, {name}:\n\n{_indented(text)}" for name, text in example.bad.items()]
    parts.append(f"What is said of it:\n\n{_indented(example.out)}")
    parts += [f"Good, {name}:\n\n{_indented(text)}" for name, text in example.mended.items()]
    return parts


def _indented(text: str) -> str:
    lines = text.rstrip("\n").split("\n") if text.strip() else ["(empty)"]
    return "".join(f"    {line}".rstrip() + "\n" for line in lines)
