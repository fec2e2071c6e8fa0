"""What a durable run has to know again when it goes on: what it was told from outside, and which values are secure."""

from typing import cast

from tuvl.control import ControlAction, Intervention, RunControl
from tuvl.data.secure import SecureValues
from tuvl.journal import RunJournal
from tuvl.values import JsonValue


def tell_by_record(journal: RunJournal, control: RunControl) -> None:
    """Have what a run is told kept in its record; what it was told and has not obeyed, it is told where that ends."""

    async def keep(id: str, said: Intervention, words: str) -> bool:
        return await journal.tell(id, {"kind": said.action, "by": said.by, "words": words})

    control.keep = keep
    untold = journal.untold()
    if not untold:
        return

    def tell_again() -> bool:
        for said in untold:
            if not control.aborted:  # a second abort would stop what cleans up after the first
                action = cast(ControlAction, said["kind"])
                again = Intervention(action=action, source="operator", by=str(said["by"]))
                control.intervene(again, str(said["words"]))
        return control.aborted

    journal.at_end(tell_again)


_SECURE = "secure"


def hide_by_record(journal: RunJournal, secure: SecureValues) -> None:
    """Have the values of secure fields known from the record, whose steps are not run again."""
    known = journal.last_state(_SECURE)
    secure.add(known)
    secure.added = lambda: journal.keep_state(_SECURE, list[JsonValue](sorted(secure.texts)))
