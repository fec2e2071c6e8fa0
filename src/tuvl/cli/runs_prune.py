"""`tuvl runs prune`: deletes runs that ended long ago."""

import asyncio
import sys
from datetime import timedelta
from pathlib import Path

from tuvl.cli.output import json_document
from tuvl.cli.streams import write_stdout
from tuvl.cli.wording import count
from tuvl.clock import SystemClock
from tuvl.data.run_records import StoreAccess
from tuvl.errors import UsageError
from tuvl.hosting.retention import Forgotten, Retention
from tuvl.project.layout import find_root
from tuvl.settings import SHORTEST_KEPT_S, load_settings
from tuvl.values import JsonObject
from tuvl.wording import duration_s

NOT_DELETED = 1


class PruneCommand:
    """The old runs of one project."""

    def __init__(
        self, *, older_than: str, status: str | None, workflow: str | None, project: str | None, as_json: bool
    ) -> None:
        self._root = find_root(Path.cwd()) if project is None else Path(project)
        if not self._root.is_dir():
            raise UsageError(f"--project names {project!r}, which is no folder")
        self._before = SystemClock().now() - timedelta(seconds=_age(older_than))
        self._status, self._workflow = status, workflow
        self._as_json = as_json

    def prune(self, *, dry_run: bool, yes: bool) -> int:
        """Delete them, when somebody says so; returns the exit code."""
        if not (dry_run or yes):
            if not (sys.stdin.isatty() and sys.stderr.isatty()):
                raise UsageError("there is no terminal to ask on; say --yes to delete, or --dry-run to see how many")
            found = asyncio.run(self._forget(dry_run=True))
            if not found.runs and not found.definitions:
                return self._print(found, dry_run=False)
            if not _confirmed(_words(found)):
                sys.stderr.write("tuvl: nothing deleted\n")
                return NOT_DELETED
        return self._print(asyncio.run(self._forget(dry_run=dry_run)), dry_run=dry_run)

    async def _forget(self, *, dry_run: bool) -> Forgotten:
        from tuvl.data.retention import OldRuns  # it imports SQLAlchemy

        settings = load_settings()
        access = StoreAccess(str(self._root), settings.database_url)
        asked = OldRuns(before=self._before, status=self._status, workflow=self._workflow)
        try:
            return await Retention(self._root, settings, access).forget(asked, dry_run=dry_run)
        finally:
            await access.aclose()

    def _print(self, found: Forgotten, *, dry_run: bool) -> int:
        document: JsonObject = {
            "runs": found.runs,
            "definitions": found.definitions,
            "ended_before": self._before.isoformat(),
            "dry_run": dry_run,
        }
        text = f"{'would delete' if dry_run else 'deleted'} {_words(found)}\n"
        return 0 if write_stdout(json_document(document) if self._as_json else text) else 1


def _age(text: str) -> float:
    found = duration_s(text)
    if found is None:
        raise UsageError(f"--older-than takes hours or days such as 24h or 30d, not {text!r}")
    if found < SHORTEST_KEPT_S:
        raise UsageError(
            f"--older-than {text}: runs are kept for a day at least, since a key or a schedule may still lead to them; "
            "say e.g. 1d"
        )
    return found


def _words(found: Forgotten) -> str:
    more = f" and {count(found.definitions, 'definition')}" if found.definitions else ""
    return f"{count(found.runs, 'run')}{more}"


def _confirmed(what: str) -> bool:
    sys.stderr.write(f"tuvl: delete {what}, for good? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
