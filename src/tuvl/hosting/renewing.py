"""A run that goes on with the files as they are now, if they would have come to all that is on its record."""

from functools import partial
from typing import TYPE_CHECKING, cast

from tuvl.durable.inherited import record_of
from tuvl.hosting.asking import asked
from tuvl.hosting.performing import rehearsed
from tuvl.hosting.requests import NotRenewed
from tuvl.hosting.started import Started, last_definition
from tuvl.hosting.waiting import keep_queued, wait_of
from tuvl.hosting.workshop import Workshop

if TYPE_CHECKING:
    from tuvl.data.run_store import RunStore
    from tuvl.durable.queued import SharedRuns, Standing
    from tuvl.durable.renewals import Renewed


async def renew(
    runs: "SharedRuns", workshop: Workshop, run_id: str, standing: "Standing", *, store: "RunStore"
) -> bool:
    """Have a run go on with the files as they are now, in whichever process; `False` where it does so already.

    What it waits for it is asked anew, as those files ask it; `store` keeps that it is on the queue for that.
    Raises `NotRenewed`, `UsageError` for a workflow that is not there any more or that the run's principal may not run,
    and `ConfigError` for one with mistakes; the run is then left as it is.
    """
    from tuvl.durable.renewals import Renewals  # it imports SQLAlchemy

    renewals = Renewals(runs)
    since = await store.suspended_since(run_id)
    in_the_way = await asked(renewals.standing, run_id)
    if in_the_way != "performed":  # who performs it may have these files already, as after a call that is made twice
        _refuse(run_id, in_the_way)
    last, own = await asked(renewals.record, run_id, sealed=standing.sealed)
    record = record_of(standing.payload, own)
    started = last_definition(record, Started.of(standing.payload))
    async with workshop.current(started.workflow, started.models) as prepared:
        if prepared.definition == started.definition:
            return False
        _refuse(run_id, in_the_way)
        found = await rehearsed(prepared.engine, prepared.plan, started, run_id, record)
        if (parted := found.divergence) is not None:
            raise NotRenewed(
                f"run {run_id!r} cannot go on with the files as they are now: they part from its record at "
                f"{parted.at!r}: {parted.why}; without that it goes on with those it has",
                "parts",
            )
        at = max((cast(float, row["t"]) for row in record.values()), default=0.0)
        asks = None if found.asks is None else wait_of(found.asks, started)
        renewed = partial(renewals.renew, at=at, after=last, known=frozenset(record), asks=asks)
        _refuse(run_id, await asked(renewed, run_id, prepared.definition))
    await keep_queued(store, run_id, since=since)
    return True


def _refuse(run_id: str, said: "Renewed | None") -> None:
    match said:
        case None | "renewed":
            return
        case "performed":
            raise NotRenewed(
                f"run {run_id!r} is being performed, with the files it has; it can be given others while it waits, or "
                "when the process that has it is stopped and no other one takes it",
                "performed",
            )
        case "ended":
            raise NotRenewed(f"run {run_id!r} has ended; `tuvl runs fork` begins another one at a step of it", "ended")
        case "answered":
            raise NotRenewed(
                f"run {run_id!r} has an answer to what the files it has ask, and goes on with those; try again when it "
                "has done so",
                "gone_on",
            )
        case "gone_on":
            raise NotRenewed(f"run {run_id!r} has gone on meanwhile, with the files it has; try again", "gone_on")
