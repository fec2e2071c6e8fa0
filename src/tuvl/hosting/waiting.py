"""What is shown of a run that waits for somebody."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

from tuvl.analysis.steps import items
from tuvl.hosting.requests import WaitingRun, WaitKind

if TYPE_CHECKING:
    from tuvl.durable.wait_rows import WaitRow


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
    )
