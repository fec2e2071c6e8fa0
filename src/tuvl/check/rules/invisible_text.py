"""TV008 invisible-text."""

import re
import unicodedata
from collections.abc import Iterator

from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject
from tuvl.source.place import Range

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\U000e0000-\U000e007f]+"
)
_JOINERS = frozenset("\u200c\u200d\u200e\u200f")
_BLACK_FLAG = "\U0001f3f4"


class InvisibleText(Rule):
    """Characters that nobody sees: zero-width ones, tags, or ones that turn the direction of writing.

    A model reads what a reviewer does not: instructions can hide in a prompt, two names can look alike, and a line
    can read otherwise than it is. Joiners inside emoji and inside scripts that need them are fine.
    """

    code = "TV008"
    name = "invisible-text"
    severity = Severity.WARNING

    def visit_document(self, subject: Subject) -> Iterator[Finding]:
        """Look at the text of the file."""
        text = subject.loaded.text if subject.loaded is not None else ""
        if text.isascii():
            return
        for number, line in enumerate(re.split(r"\r\n|\n|\r", text), 1):
            if line.isascii() or line.lstrip().startswith("#"):
                continue
            for found in _INVISIBLE.finditer(line):
                if not _is_needed(line, found):
                    yield self._at(subject, number, found)

    def _at(self, subject: Subject, line: int, found: re.Match[str]) -> Finding:
        character = found[0][0]
        name = unicodedata.name(character, "unnamed").lower()
        more = f" and {len(found[0]) - 1} more like it" if len(found[0]) > 1 else ""
        hint = "delete it"
        if subject.loaded is not None and subject.loaded.prose is None:
            hint += f"; if it is meant, write it as an escape in double quotes: {escaped(character)}"
        return self.finding_at(
            subject.document.file,
            Range.at(line, found.start() + 1, len(found[0])),
            f"invisible character U+{ord(character):04X} ({name}){more}",
            hint=hint,
        )


def escaped(text: str) -> str:
    """Write the invisible characters of a text as escapes."""
    return _INVISIBLE.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def _is_needed(line: str, found: re.Match[str]) -> bool:
    before = line[found.start() - 1] if found.start() else ""
    after = line[found.end() : found.end() + 1]
    if before == _BLACK_FLAG:
        return True
    # Joiners and direction marks have work to do between letters of other scripts, and none between ASCII ones.
    return len(found[0]) == 1 and found[0] in _JOINERS and not before.isascii() and not after.isascii()
