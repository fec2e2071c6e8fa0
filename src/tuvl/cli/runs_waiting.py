"""`tuvl runs list --waiting`: what waits for whom."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from tuvl.analysis.steps import mapping
from tuvl.cli.asked import whom
from tuvl.cli.runs import RunsCommand
from tuvl.cli.runs_text import columns, filters_text
from tuvl.data.run_rows import RunFilter
from tuvl.values import JsonObject, JsonValue, shorten


class WaitingCommand(RunsCommand):
    """The runs of one project that are suspended, as one principal may see them."""

    def list_waiting(self, asked: RunFilter) -> int:
        """Print what runs wait for, the longest waiting first."""
        found: list[JsonObject] = []
        if self._access.is_there:
            suspended = replace(asked, status="suspended")
            found = [_waiting(run) for run in self._ask(lambda: self._access.store.listed(suspended, self._reader))]
        found.sort(key=lambda waiting: str(waiting["since"]))
        return self._print_list(found, _text(found), lambda: self._nothing_waits(asked))

    def _nothing_waits(self, asked: RunFilter) -> str:
        suspended = RunFilter(status="suspended", limit=1)
        others = self._access.is_there and self._ask(lambda: self._access.store.listed(suspended, self._reader))
        return f"no run that waits matches {filters_text(asked)}" if others else "no run waits for anybody"


def _waiting(run: JsonObject) -> JsonObject:
    error = mapping(run["error"])
    detail = mapping(error.get("detail"))
    asked = mapping(detail.get("asked"))
    deadline = detail.get("deadline")
    return {
        "run_id": run["run_id"],
        "workflow": run["workflow"],
        "kind": error.get("type"),
        "step": error.get("step"),
        "message": error.get("message"),
        "group": asked.get("required_group"),
        "assignee": asked.get("assignee"),
        "requested_by": asked.get("requested_by") or run["principal"],
        "since": run["finished_at"],
        "deadline": _moment(deadline) if isinstance(deadline, int | float) else None,
        "digest": detail.get("digest"),
        "asked": dict(asked),
    }


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def _text(found: Sequence[JsonObject]) -> str:
    return columns(
        (
            str(one["run_id"]),
            str(one["kind"]),
            whom(one["assignee"], one["group"]),
            f"since {_minute(one['since'])}",
            f"until {_minute(one['deadline'])}" if one["deadline"] else "-",
            shorten(str(one["message"])),
        )
        for one in found
    )


def _minute(moment: JsonValue) -> str:
    return str(moment)[:16].replace("T", " ") + " UTC"
