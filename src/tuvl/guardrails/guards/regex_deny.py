"""`regex_deny`: no pattern may match. The time is bounded by the length of the text, whatever the pattern."""

import asyncio

from tuvl.dataclass import dataclass
from tuvl.guardrails.guard import Objection
from tuvl.linear_regex import LinearRegex, encoded

IN_THREAD_FROM = 32 * 1024
"""Bytes from which on the search runs beside the event loop: it lets other threads run."""


@dataclass(frozen=True, slots=True)
class RegexDeny:
    """Searches for every pattern."""

    patterns: tuple[LinearRegex, ...]
    check = "regex_deny"

    async def look(self, text: str) -> str:
        """Let the text pass when no pattern matches."""
        raw = encoded(text)
        found = self._first(raw) if len(raw) < IN_THREAD_FROM else await asyncio.to_thread(self._first, raw)
        if found is not None:
            raise Objection(f"pattern number {found + 1} matches")
        return text

    def _first(self, raw: bytes) -> int | None:
        return next((index for index, pattern in enumerate(self.patterns) if pattern.found_in(raw)), None)
