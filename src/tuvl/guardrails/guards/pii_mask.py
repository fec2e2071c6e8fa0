"""`pii_mask`: takes personal data and credentials out of the text; it never objects."""

from tuvl.dataclass import dataclass
from tuvl.guardrails.masking.masker import Masker


@dataclass(frozen=True, slots=True)
class PiiMask:
    """Masks what looks like personal data, and what stands under certain names."""

    masker: Masker
    check = "pii_mask"

    async def look(self, text: str) -> str:
        """Return the text masked."""
        return self.masker.text(text)
