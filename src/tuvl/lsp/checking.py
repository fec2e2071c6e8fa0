"""Checks in the background: a moment after the last change, in a thread, given up when a newer change comes."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from threading import Event

from tuvl.lsp.editing import Editing, Shown, path_of
from tuvl.lsp.overlay import Buffer
from tuvl.lsp.session import CheckCancelledError, ProjectSession

QUIET_S = 0.12
"""Seconds without a change after which a check begins."""

LONGEST_WAIT_S = 0.8
"""Seconds after which it begins although changes go on."""

_log = logging.getLogger(__name__)

Publish = Callable[[Shown], None]


class Checker:
    """Checks projects one after another; all but `_run` happens on the event loop."""

    def __init__(self, editing: Editing, publish: Publish) -> None:
        self._editing = editing
        self._publish = publish
        self._waiting: set[Path] = set()
        self._wake = asyncio.Event()
        self._stop = Event()

    def want(self, root: Path) -> None:
        """Ask for a check of a project; one that is under way is given up."""
        self._waiting.add(root)
        self._stop.set()
        self._wake.set()

    async def run(self) -> None:
        """Check what is asked for until the task is cancelled."""
        try:
            while True:
                await self._wake.wait()
                await self._quiet()
                for root in list(self._waiting):
                    await self._check(root)
        finally:
            self._stop.set()

    async def _quiet(self) -> None:
        """Wait until nothing has changed for a moment."""
        loop = asyncio.get_running_loop()
        latest = loop.time() + LONGEST_WAIT_S
        while self._wake.is_set() and loop.time() < latest:
            self._wake.clear()
            try:
                await asyncio.wait_for(self._wake.wait(), QUIET_S)
            except TimeoutError:
                return
        self._wake.clear()

    async def _check(self, root: Path) -> None:
        self._waiting.discard(root)
        self._stop = stop = Event()
        buffers = self._editing.buffers_of(root)
        session = self._editing.session(root)
        done = await asyncio.to_thread(self._run, session, buffers, stop, asyncio.get_running_loop())
        if not done:
            self._waiting.add(root)

    def _run(
        self, session: ProjectSession, buffers: dict[Path, Buffer], stop: Event, loop: asyncio.AbstractEventLoop
    ) -> bool:
        """Check, and show what is found as it comes; returns whether the check came to its end."""
        try:
            for checked in session.check(buffers, cancelled=stop.is_set):
                shown = list(self._editing.to_show(checked))
                loop.call_soon_threadsafe(self._show, session.root, shown, checked.whole)
        except CheckCancelledError:
            return False
        except Exception:  # noqa: BLE001 - one text that a check stumbles over must not end the server
            _log.exception("the check of %s failed", session.root)
        return True

    def _show(self, root: Path, found: list[Shown], whole: bool) -> None:
        before = self._editing.shown.setdefault(root, {})
        for shown in found:
            if self._editing.is_current(shown) and before.get(shown.uri) != shown:
                known = before.get(shown.uri)
                before[shown.uri] = shown
                if shown.version is not None or shown.findings or (known is not None and known.findings):
                    self._publish(shown)
        if whole:
            for uri in before.keys() - {shown.uri for shown in found}:
                self.clear(root, uri)

    def clear(self, root: Path, uri: str) -> None:
        """Take back what is shown of a file."""
        shown = self._editing.shown.get(root, {}).pop(uri, None)
        if shown is not None and shown.diagnostics:
            self._publish(Shown(uri, None, (), ()))

    def forget(self, path: Path, root: Path) -> None:
        """Take back what is shown of a file that was closed or deleted."""
        for uri in [uri for uri in self._editing.shown.get(root, {}) if path_of(uri) == path]:
            self.clear(root, uri)
