"""How texts are counted in tokens: what is proved, and what is to be expected."""

import math
from typing import Literal, TypeAlias

from tuvl.dataclass import dataclass

Figure: TypeAlias = Literal["proved", "expected"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One of the two ways to count. Texts are given in bytes of UTF-8, or in characters where a cap counts those."""

    name: Figure
    bytes_per_token: int
    bytes_per_character: int
    frame: int
    """Tokens around one message, one call or one tool: its role, its id, delimiters."""
    request_frame: int
    """Tokens that a provider adds to a request once."""
    tokens_per_call: int
    """Fewest tokens of a reply that asks for one tool."""
    retries: bool
    """Whether calls that have to be made again count."""
    mask_growth: int
    """By how much a text may grow when personal data in it is masked."""

    def bytes(self, count: float) -> float:
        """Tokens of so many bytes, at most."""
        return math.ceil(count / self.bytes_per_token)

    def characters(self, count: float) -> float:
        """Tokens of so many characters, at most."""
        return math.ceil(count * self.bytes_per_character / self.bytes_per_token)

    def attempts(self, declared: int) -> int:
        """How often a call is made, that may be made so often."""
        return declared if self.retries else 1


PROVED = Measure(
    name="proved",
    bytes_per_token=1,
    bytes_per_character=4,
    frame=64,
    request_frame=512,
    tokens_per_call=1,
    retries=True,
    mask_growth=2,
)
"""A token is at least one byte, a character at most four."""

EXPECTED = Measure(
    name="expected",
    bytes_per_token=4,
    bytes_per_character=1,
    frame=8,
    request_frame=64,
    tokens_per_call=10,
    retries=False,
    mask_growth=1,
)
"""About four characters a token, most of them of one byte, and no call has to be made again."""
