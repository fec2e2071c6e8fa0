"""What a durable run has to know again when it goes on: what it was told from outside, and which values are secure."""

from collections.abc import Awaitable, Callable
from typing import cast

from tuvl.control import ControlAction, Intervention, RunControl
from tuvl.data.secure import SecureValues
from tuvl.journal import RunJournal
from tuvl.values import JsonValue


def tell_by_record(journal: RunJournal, control: RunControl, *, hear: Callable[[], Awaitable[None]]) -> None:
    """Have what a run is told kept in its record; what it was told and has not obeyed, it is told where that ends.

    There it is held up as long as it is paused. `hear` has it told what nobody has read yet.
    """
    untold = list(journal.untold())

    async def keep(id: str, said: Intervention, words: str) -> bool:
        if said.action in ("pause", "resume"):  # the last word counts, also where the record does not end yet
            untold[:] = [before for before in untold if before["kind"] != "pause"]
        return await journal.tell(id, {"kind": said.action, "by": said.by, "words": words})

    async def tell_again() -> None:
        for said in untold:
            if not control.aborted:  # a second abort would stop what cleans up after the first
                action = cast(ControlAction, said["kind"])
                again = Intervention(action=action, source="operator", by=str(said["by"]))
                control.intervene(again, str(said["words"]))
        await hear()

    async def hold() -> bool:
        await control.park()
        return control.aborted

    control.keep = keep
    control.hold_from(journal.paused_s, keep=journal.paused, parking=journal.catch_up)
    if journal.replays:
        journal.at_end(tell_again, hold)


_SECURE = "secure"


def hide_by_record(journal: RunJournal, secure: SecureValues) -> None:
    """Have the values of secure fields known from the record, whose steps are not run again."""
    known = journal.last_state(_SECURE)
    secure.add(known)
    secure.added = lambda: journal.keep_state(_SECURE, list[JsonValue](sorted(secure.texts)))
