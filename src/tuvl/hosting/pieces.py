"""Pieces of the replies of a run that goes on in another process: nobody is told of a reply twice."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal, TypeAlias

from tuvl.events.types import Event, Iteration, ModelCallStarted, StreamReset, TextDelta, ToolCallDelta

Telling: TypeAlias = Literal["told already", "told anew", "news"]
"""Of a piece: it was told; some of its reply may have been told, and all of it comes now; nobody has heard of it."""


class Pieces:
    """Knows which replies were told whole, from what is kept of what was told, and which are being written here.

    Pieces themselves are not kept. A reply that is on record comes as one piece when the run passes it again.
    """

    def __init__(self, before: Sequence[Event]) -> None:
        self._whole = Counter(
            (event.step_id, event.body.iteration) for event in before if isinstance(event.body, Iteration)
        )
        # It is kept before anything of the reply is told.
        self._begun = {
            (event.step_id, event.body.iteration) for event in before if isinstance(event.body, ModelCallStarted)
        }
        self._here: set[tuple[str | None, int]] = set()

    def follow(self, event: Event) -> None:
        """Hear of each event of the run, those that were told before among them."""
        body = event.body
        if isinstance(body, ModelCallStarted):
            self._here.add((event.step_id, body.iteration))  # what is on record is not called
        elif isinstance(body, Iteration):
            turn = (event.step_id, body.iteration)
            self._here.discard(turn)
            if self._whole[turn]:
                self._whole[turn] -= 1

    def telling(self, step: str | None, piece: TextDelta | ToolCallDelta, *, forgotten: bool) -> Telling:
        """Return how a piece is to be told; `forgotten` says that what is kept begins later in the run."""
        turn = (step, piece.iteration)
        if turn in self._here:
            return "news"
        if self._whole[turn] or forgotten:
            return "told already"
        self._here.add(turn)
        return "told anew" if turn in self._begun else "news"

    def is_void(self, step: str | None, reset: StreamReset) -> bool:
        """Tell whether somebody may have been told of a reply that begins anew."""
        turn = (step, reset.iteration)
        return turn in self._here or turn in self._begun
