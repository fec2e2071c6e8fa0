"""What is kept and shown of a run that waits for somebody."""

import logging
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

from tuvl.analysis.steps import items, mapping
from tuvl.engine.result import RunResult
from tuvl.errors import StepError
from tuvl.hosting.requests import WaitingRun
from tuvl.hosting.started import Started
from tuvl.journal import WaitKind
from tuvl.redaction import redact
from tuvl.values import JsonValue

if TYPE_CHECKING:
    from tuvl.data.run_store import RunStore
    from tuvl.durable.wait_rows import WaitRow

_log = logging.getLogger("tuvl.hosting")

ALSO_REQUESTED_BY = "also_requested_by"
"""Where what is asked by a fork names those who have asked for the runs before it."""


def waiting_of(wait: "WaitRow") -> WaitingRun:
    """Return what people are shown of a wait."""
    group, assignee, by = (wait.asked.get(name) for name in ("required_group", "assignee", "requested_by"))
    return WaitingRun(
        run_id=wait.run_id,
        workflow=wait.workflow,
        kind=cast(WaitKind, wait.kind),
        step=wait.step,
        message=wait.message,
        asked=wait.asked,
        digest=wait.digest,
        since=datetime.fromtimestamp(wait.since, UTC),
        deadline=None if wait.deadline is None else datetime.fromtimestamp(wait.deadline, UTC),
        groups=() if group is None else (str(group),),
        assignee=None if assignee is None else str(assignee),
        requested_by=None if by is None else str(by),
        tenant=wait.tenant,
        also_requested_by=tuple(map(str, items(wait.asked.get(ALSO_REQUESTED_BY)))),
        encrypted=not wait.document,  # there is one of each run that waits
    )


def wait_of(result: RunResult, started: Started) -> "WaitRow":
    """Return what is kept of what a run waits for, by its result as it stands."""
    from tuvl.durable.wait_rows import WaitRow  # with the extra only

    error = result.error
    assert error is not None
    deadline = error.detail.get("deadline")
    asked = dict(mapping(error.detail.get("asked")))
    if started.also_requested_by:
        asked[ALSO_REQUESTED_BY] = list[JsonValue](started.also_requested_by)
    return WaitRow(
        run_id=result.run_id,
        name=str(error.detail["wait"]),
        digest=str(error.detail["digest"]),
        workflow=result.workflow,
        kind=error.type,
        step=error.step or "",
        message=error.message,
        tenant=started.principal.tenant,
        asked=asked,
        document=result.to_json(),
        since=time.time(),
        deadline=deadline if isinstance(deadline, int | float) else None,
    )


async def keep_queued(store: "RunStore", run_id: str, *, since: datetime | None) -> None:
    """Keep on record that a run goes on as soon as a process takes it, which has been suspended since that moment.

    It may have been taken already, and wait again: that is not overwritten. Whoever takes it keeps that it goes on, so
    that nothing is lost where the store does not answer.
    """
    if since is None:
        return
    try:
        await store.requeue(run_id, was="suspended", since=since)
    except StepError as error:
        _log.warning("run %r is on the queue, which is not on record yet: %s", run_id, redact(error.message))
