"""What a durable run is told from outside: on its record before it acts, and told again when the run goes on."""

from typing import cast

from tuvl.control import ControlAction, Intervention, RunControl
from tuvl.journal import RunJournal


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
