"""What threads bring to an event loop that Ctrl-C has closed is no news to anybody; any other mistake of theirs is."""

import asyncio
import threading

from tuvl.interrupted import hush_late_threads


def in_a_thread(work) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_a_thread_that_comes_to_a_closed_loop_says_nothing_and_other_mistakes_are_told(monkeypatch):
    told: list[type[BaseException]] = []
    monkeypatch.setattr(threading, "excepthook", lambda raised: told.append(raised.exc_type))
    hush_late_threads()
    loop = asyncio.new_event_loop()
    loop.close()
    in_a_thread(lambda: loop.call_soon_threadsafe(print))
    assert told == []

    def fails() -> None:
        raise RuntimeError("something else")

    in_a_thread(fails)
    assert told == [RuntimeError]
