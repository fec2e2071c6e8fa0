"""What one rendering may cost, whatever its template says."""

from collections.abc import Mapping

from tuvl.errors import TemplateError
from tuvl.templating.lookup import Value, read_name
from tuvl.values import MAX_DEPTH, JsonValue

MAX_TEXT = 1024 * 1024
"""Characters one rendering may produce, all texts on the way counted."""

MAX_WORK = 1_000_000
"""Operations one rendering may take: about half a second."""

MAX_INTEGER_BITS = 2048
"""Size past which a whole number is refused as the result of a calculation."""


class Rendering:
    """One rendering under way: the values it sees, the names it has set, and what it has spent."""

    __slots__ = ("_text", "_work", "scope", "values")

    def __init__(self, values: Mapping[str, JsonValue]) -> None:
        self.values = values
        self.scope: dict[str, JsonValue] = {}
        self._text = 0
        self._work = 0

    def read(self, name: str) -> Value:
        """Look a name up: first what the template has set, then the values given."""
        if name in self.scope:
            return self.scope[name]
        return read_name(self.values, name)

    def work(self, amount: int = 1) -> None:
        """Count operations; raises `TemplateError` when there were too many."""
        self._work += amount
        if self._work > MAX_WORK:
            raise TemplateError(f"it takes more than {MAX_WORK:,} operations; loop over less")

    def write(self, characters: int) -> None:
        """Count characters before they are produced; raises `TemplateError` when there are too many."""
        self._text += characters
        if self._text > MAX_TEXT:
            raise text_too_long()

    def walk(self, value: JsonValue, depth: int = 0) -> None:
        """Count all that a value holds before something goes through it.

        A value that a template has built may hold one list many times: small in memory, and huge when it is written.
        """
        if isinstance(value, str):
            self.work(1 + len(value) // 16)
        elif isinstance(value, list | dict):
            if depth > MAX_DEPTH:
                raise TemplateError(f"a value is nested deeper than {MAX_DEPTH} levels")
            self.work(1 + len(value))
            for item in value if isinstance(value, list) else value.values():
                if isinstance(item, str | list | dict):
                    self.walk(item, depth + 1)


def text_too_long() -> TemplateError:
    """Make the error of a rendering that writes too much."""
    return TemplateError(f"it produces more than {MAX_TEXT:,} characters")
