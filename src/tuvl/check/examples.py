"""The bad and the good example of each check, shipped as data; `tuvl.check.generate` makes them from the test cases."""

import json
from functools import cache
from pathlib import Path

from tuvl.dataclass import dataclass

FILE = Path(__file__).parent / "examples.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """Files that a check speaks on, what it says, and the files mended."""

    bad: dict[str, str]
    """File name → text."""
    out: str
    good: dict[str, str]

    @property
    def mended(self) -> dict[str, str]:
        """The files of the good example that differ from the bad one's."""
        return {name: text for name, text in self.good.items() if self.bad.get(_other(name)) != text}


def _other(name: str) -> str:
    return "bad" + name.removeprefix("good")


def read_examples(text: str) -> dict[str, Example]:
    """Read examples as they are shipped; check code → example."""
    return {code: Example(**entry) for code, entry in json.loads(text).items()}


@cache
def _shipped() -> dict[str, Example]:
    return read_examples(FILE.read_text(encoding="utf-8"))


def example_of(code: str) -> Example | None:
    """Return the example of a check; `None` for a check that no file can bring about."""
    return _shipped().get(code)
