"""Regular expressions whose time grows with the text and no faster: RE2. The only importer of google-re2."""

from functools import cached_property
from typing import Protocol, cast


class _Match(Protocol):
    def span(self) -> tuple[int, int]: ...


class _Compiled(Protocol):
    """What is used of a compiled pattern; the library has no types of its own."""

    def search(self, text: bytes, pos: int = 0) -> _Match | None: ...


class LinearRegex:
    """One pattern, compiled on first use and then shared. It is matched against UTF-8, so that no text is copied twice.

    Matching lets other threads run; a text of any kind takes time in proportion to its length.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern

    @cached_property
    def _compiled(self) -> _Compiled:
        return _compile(self.pattern)

    def found_in(self, text: bytes) -> bool:
        """Whether the pattern matches anywhere."""
        return self._compiled.search(text) is not None

    def first(self, text: bytes, start: int) -> tuple[int, int] | None:
        """Return the first match at or after a byte, or `None`."""
        match = self._compiled.search(text, start)
        return None if match is None else match.span()


def encoded(text: str) -> bytes:
    """Return a text as UTF-8; half a surrogate pair, which models sometimes send, becomes a question mark."""
    return text.encode(errors="replace")


def engine_problem(pattern: str) -> str | None:
    """Say in the engine's own words why it cannot take a pattern; `None` when it can."""
    import re2  # type: ignore[import-untyped]  # 12 ms, for those who have a pattern

    try:
        _compile(pattern)
    except re2.error as error:
        words = error.args[0] if error.args else "it cannot be compiled"
        return words.decode(errors="replace") if isinstance(words, bytes) else str(words)
    except UnicodeEncodeError:
        return "it holds half a surrogate pair, which is no text"
    return None


def _compile(pattern: str) -> _Compiled:
    import re2  # see `engine_problem`

    options = re2.Options()
    options.log_errors = False  # it would write to standard error by itself
    return cast(_Compiled, re2.compile(pattern, options))
