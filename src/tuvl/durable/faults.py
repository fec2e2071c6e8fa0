"""What can be wrong with the record of a run: it cannot be written or read, or what is in it is none."""

from pathlib import Path

from tuvl.errors import EngineError, OutputError


class RecordFailed(EngineError):
    """The record cannot be read or written: the run stops where it is, and goes on from there later."""

    def __init__(self, why: str, *, then: str = "`tuvl resume` goes on with the run once that is mended") -> None:
        """`then` says what can be done about it."""
        super().__init__(f"the record of the run cannot be kept: {why}; {then}", type="record_failed")
        self.why = why


class RecordRefused(RecordFailed):
    """The record cannot hold a value of the run: it ends, since it would come to the same wherever it goes on."""

    def __init__(self, why: str) -> None:
        super().__init__(f"it takes no such value ({why})", then="the run ends here; start it anew without that value")


class NotKept(OutputError):
    """Files of a run cannot be written to their folder."""

    def __init__(self, what: str, folder: Path, error: OSError) -> None:
        """`what` names the files."""
        reason = (error.strerror or type(error).__name__).lower()
        super().__init__(f"{what} cannot be kept in {str(folder)!r}: {reason}")
        self.why = f"nothing can be written to {str(folder)!r} ({reason})"


class RecordNotBegun(RecordFailed):
    """The record cannot be begun: nothing was done, and there is nothing to go on from."""

    def __init__(self, why: str) -> None:
        super().__init__(why, then="nothing of it was done; start it anew once that is mended")


class RecordDamaged(EngineError):
    """What is in the record is not what a run of this version has written; nothing is done with it."""

    def __init__(self, why: str, *, foreign: bool = False) -> None:
        kind = "record_form" if foreign else "record_damaged"
        super().__init__(f"the record of the run cannot be used: {why}", type=kind)
        self.why = why
        self.foreign = foreign
        """Whether another version has written it."""
