"""Threads for code that blocks: reused, never waited for, and never in the way of the process's end.

The pools of the standard library wait for their threads when the interpreter exits, and a few stuck calls fill them.
Here a call that hangs costs one daemon thread and nobody else's turn.
"""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue
from typing import TypeVar

Result = TypeVar("Result")

IDLE_S = 10.0
"""How long an idle thread waits for another call, in seconds."""

_idle: list["_Worker"] = []
_idle_lock = threading.Lock()


async def run_in_thread(function: Callable[[], Result]) -> Result:
    """Run a blocking function in a thread, in the caller's context variables.

    When the caller is cancelled, the thread is abandoned: its result is void.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()
    context = contextvars.copy_context()

    def call() -> None:
        try:
            result = context.run(function)
        except BaseException as error:  # noqa: BLE001 - it belongs to the caller, and the worker must live on
            _hand_back(loop, partial(_fail, future, error))
        else:
            _hand_back(loop, partial(_finish, future, result))

    _worker().jobs.put(call)
    return await future


def _hand_back(loop: asyncio.AbstractEventLoop, deliver: Callable[[], None]) -> None:
    try:
        loop.call_soon_threadsafe(deliver)
    except RuntimeError:
        return  # the loop is closed: the caller has long gone


def _finish(future: "asyncio.Future[Result]", result: Result) -> None:
    if not future.done():  # else the caller was cancelled and the result is void
        future.set_result(result)


def _fail(future: "asyncio.Future[Result]", error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)


class _Worker:
    """One thread and the calls handed to it, one at a time."""

    def __init__(self) -> None:
        self.jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        threading.Thread(target=self._work, name="tuvl-node", daemon=True).start()

    def _work(self) -> None:
        while True:
            try:
                job = self.jobs.get(timeout=IDLE_S)
            except Empty:
                with _idle_lock:
                    if self in _idle:
                        _idle.remove(self)
                        return
                continue  # it was taken for a call just now
            job()
            del job  # an idle thread keeps nothing of a run alive
            with _idle_lock:
                _idle.append(self)


def _worker() -> _Worker:
    with _idle_lock:
        return _idle.pop() if _idle else _Worker()
