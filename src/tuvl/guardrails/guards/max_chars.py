"""`max_chars`: the text may not be longer."""

from tuvl.dataclass import dataclass
from tuvl.guardrails.guard import Objection


@dataclass(frozen=True, slots=True)
class MaxChars:
    """Counts characters of the whole text, before anything is cut."""

    limit: int
    check = "max_chars"

    async def look(self, text: str) -> str:
        """Let the text pass when it is short enough."""
        if len(text) > self.limit:
            raise Objection(f"the text has {len(text)} characters; the limit is {self.limit}")
        return text
