"""`--approve`: who answers when a tool call waits for a person, on this terminal or by a standing answer."""

import asyncio
import getpass
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Protocol, TextIO, assert_never

from tuvl.cli.asked import call_lines
from tuvl.cli.options import ApproveMode
from tuvl.errors import UsageError
from tuvl.tools.approval import ApprovalDecision, ApprovalRequest, Approvals, StandingAnswer


class Asking(Protocol):
    """A view that can give the terminal to a question."""

    def question(self, lines: Sequence[str], prompt: str) -> None:
        """Print a question that stays, and stop repainting until `answered`."""
        ...

    def answered(self) -> None:
        """Take the terminal back."""
        ...


def approvals_for(mode: ApproveMode | None, view: Asking, stdin: TextIO, stderr: TextIO, *, machine: bool) -> Approvals:
    """Return who approves. Without a mode a person is asked where there is one, else every call is refused.

    `machine` says that stderr is read by a program. Raises `UsageError` when a person is to be asked and cannot be.
    """
    match mode:
        case "all":
            return StandingAnswer(approved=True, by="--approve all", note=None)
        case "none":
            return StandingAnswer(by="--approve none", note="this run approves nothing")
        case "prompt" | None:
            obstacle = _obstacle(stdin, stderr, machine=machine)
            if obstacle is None:
                return TerminalApprovals(view, stdin)
            if mode == "prompt":
                raise UsageError(
                    f"--approve prompt needs a terminal to ask on, and {obstacle}; say all or none instead"
                )
            return StandingAnswer(by="nobody", note=f"nobody can be asked: {obstacle}")
        case _:
            assert_never(mode)


def _obstacle(stdin: TextIO, stderr: TextIO, *, machine: bool) -> str | None:
    if machine:
        return "stderr carries events for a program (--events jsonl)"
    if not stdin.isatty():
        return "stdin is no terminal"
    return None if stderr.isatty() else "stderr is no terminal"


class TerminalApprovals:
    """Asks on the terminal, one call at a time; an abort ends the wait at once."""

    def __init__(self, view: Asking, stdin: TextIO) -> None:
        self._view = view
        self._lines = _Lines(stdin)
        self._one_at_a_time = asyncio.Lock()
        self._by = _user()

    async def ask(self, request: ApprovalRequest) -> ApprovalDecision:
        """Show the call and wait for a yes or a no; the end of the input is a no."""
        async with self._one_at_a_time:
            with self._asking(question_lines(request)):
                answer = await self._lines.next()
                while answer is not None and answer.strip().lower() not in _ANSWERS:
                    self._view.question((), "Please answer y or n: ")
                    answer = await self._lines.next()
        if answer is None:
            return ApprovalDecision(approved=False, by=self._by, note="the terminal was closed")
        return ApprovalDecision(approved=_ANSWERS[answer.strip().lower()], by=self._by)

    @contextmanager
    def _asking(self, lines: Sequence[str]) -> Iterator[None]:
        self._view.question(lines, "Approve? [y/N] ")
        try:
            yield
        finally:
            self._view.answered()


_ANSWERS = {"y": True, "yes": True, "n": False, "no": False, "": False}


def question_lines(request: ApprovalRequest) -> list[str]:
    """Say what is to be approved: agent, tool, the whole of the arguments, and why it is asked."""
    return call_lines(request.step_id, request.tool, request.arguments, request.reason)


def _user() -> str:
    try:
        return f"{getpass.getuser()} at the terminal"
    except (KeyError, OSError):  # no name in the environment, and none for the user's id
        return "someone at the terminal"


class _Lines:
    """Lines of a terminal, read in a thread that lives on: a wait that is given up leaves no half-read line behind."""

    def __init__(self, stdin: TextIO) -> None:
        self._stdin = stdin
        self._wanted: SimpleQueue[tuple[asyncio.AbstractEventLoop, asyncio.Future[str | None]]] = SimpleQueue()
        self._waiting: asyncio.Future[str | None] | None = None
        self._started = False

    async def next(self) -> str | None:
        """Return the next line; `None` at the end."""
        loop = asyncio.get_running_loop()
        if not self._started:
            self._started = True
            threading.Thread(target=self._read, name="tuvl-terminal", daemon=True).start()
        if self._waiting is None or self._waiting.done():
            self._waiting = loop.create_future()
            self._wanted.put((loop, self._waiting))
        # Shielded: the thread still waits for that line, and the next question gets it.
        return await asyncio.shield(self._waiting)

    def _read(self) -> None:
        while True:
            loop, future = self._wanted.get()
            try:
                line = self._stdin.readline()
            except (OSError, ValueError):
                line = ""
            try:
                loop.call_soon_threadsafe(_deliver, future, line or None)
            except RuntimeError:
                return  # the loop is closed: nobody asks any more


def _deliver(future: "asyncio.Future[str | None]", line: str | None) -> None:
    if not future.done():
        future.set_result(line)
