"""The fan-out: bounded, in order, and never in a run's way."""

import asyncio
import threading
from collections.abc import Sequence
from datetime import UTC, datetime

from tests.support.clock import LoopTime
from tuvl.events.fanout import Fanout
from tuvl.events.sink import BatchSink
from tuvl.events.types import Event, RunFinished, StepStarted, TextDelta

AT = datetime(2030, 1, 1, tzinfo=UTC)


def event(seq: int) -> Event:
    return Event(run_id="r", seq=seq, at=AT, step_id="a", body=StepStarted(kind="Functional"))


def terminal(seq: int) -> Event:
    body = RunFinished(status="completed", signal="default", duration_ms=1.0)
    return Event(run_id="r", seq=seq, at=AT, step_id=None, body=body)


class Held:
    """A sink that takes its first event and then waits to be let go."""

    def __init__(self) -> None:
        self.seen: list[int] = []
        self.told: list[int] = []
        self.busy = threading.Event()
        self.go = threading.Event()
        self.ended = threading.Event()

    def accept(self, event: Event) -> None:
        self.busy.set()
        self.go.wait(30)
        self.seen.append(event.seq)
        if isinstance(event.body, RunFinished):
            self.told.append(event.body.dropped)
            self.ended.set()


async def test_events_reach_every_sink_in_order():
    sinks = [Held(), Held()]
    fanout = Fanout(sinks)
    for seq in range(1, 101):
        fanout.accept(event(seq))
    for sink in sinks:
        sink.go.set()
    await fanout.aclose()
    assert [sink.seen for sink in sinks] == [list(range(1, 101))] * 2
    assert fanout.dropped == 0


async def test_a_full_queue_drops_and_counts_and_keeps_the_terminal_event():
    sink = Held()
    fanout = Fanout([sink], size=3)
    fanout.accept(event(1))
    assert sink.busy.wait(30)  # the first event has left the queue
    for seq in range(2, 8):
        fanout.accept(event(seq))
    assert fanout.dropped == 3
    fanout.accept(terminal(8))
    fanout.accept(event(9))  # after the terminal event there is nothing
    sink.go.set()
    await fanout.aclose()
    assert sink.seen == [1, 2, 3, 4, 8]
    assert sink.told == [3]


async def test_a_sink_that_is_still_behind_at_the_end_gets_the_terminal_event_last_and_the_count_of_the_rest():
    sink = Held()
    fanout = Fanout([sink])
    for seq in range(1, 7):
        fanout.accept(event(seq))
    assert sink.busy.wait(30)
    fanout.accept(terminal(7))
    await fanout.aclose(timeout_s=0.05)
    assert fanout.dropped == 5
    sink.go.set()
    assert sink.ended.wait(30)
    assert (sink.seen, sink.told) == ([1, 7], [5])


class Batches(BatchSink):
    """Takes what comes at once, and waits before each batch to be let go."""

    def __init__(self) -> None:
        self.go = threading.Semaphore(0)
        self.busy = threading.Event()
        self.seen: list[int] = []

    def accept_batch(self, events: Sequence[Event]) -> None:
        self.busy.set()
        self.go.acquire(timeout=30)
        self.progress += 1
        self.seen += [each.seq for each in events]


async def test_a_sink_of_batches_may_be_far_behind_and_misses_nothing():
    sink = Batches()
    fanout = Fanout([sink])
    for seq in range(1, 20_001):
        body = TextDelta(iteration=1, text="word ")
        fanout.accept(Event(run_id="r", seq=seq, at=AT, step_id="a", body=body))
    fanout.accept(terminal(20_001))
    sink.go.release(20_001)
    await fanout.aclose()
    assert fanout.dropped == 0
    assert sink.seen == list(range(1, 20_002))


async def test_a_sink_of_batches_that_hangs_is_not_waited_for():
    sink = Batches()
    fanout = Fanout([sink])
    fanout.accept(event(1))
    assert sink.busy.wait(30)
    fanout.accept(terminal(2))
    await fanout.aclose(timeout_s=0.02)
    assert sink.seen == []
    sink.go.release(2)


async def test_a_process_that_was_stopped_for_a_while_takes_nothing_from_a_sink_that_gets_on():
    sink, time = Held(), LoopTime()
    fanout = Fanout([sink])
    for seq in range(1, 4):
        fanout.accept(event(seq))
    assert sink.busy.wait(30)
    closing = asyncio.ensure_future(fanout.aclose(timeout_s=60))
    for _ in range(5):
        await asyncio.sleep(0)
    time.advance(300)
    for _ in range(5):
        await asyncio.sleep(0)
    sink.go.set()
    await closing
    assert (sink.seen, fanout.dropped) == ([1, 2, 3], 0)


async def test_a_slow_sink_takes_nothing_from_a_quick_one():
    slow, quick = Held(), Held()
    quick.go.set()
    fanout = Fanout([slow, quick])
    for seq in range(1, 11):
        fanout.accept(event(seq))
    fanout.accept(terminal(11))
    assert quick.ended.wait(30)
    assert quick.seen == list(range(1, 12))
    await fanout.aclose(timeout_s=0.05)
    assert slow.seen == []
    slow.go.set()


async def test_the_end_does_not_wait_for_a_sink_that_hangs():
    sink = Held()
    fanout = Fanout([sink])
    fanout.accept(event(1))
    await fanout.aclose(timeout_s=0.01)
    assert sink.seen == []
    sink.go.set()


async def test_a_sink_that_raises_is_logged_once_and_gets_no_more(caplog):
    class Broken:
        calls = 0

        def accept(self, event: Event) -> None:
            self.calls += 1
            raise ValueError("no")

    broken = Broken()
    fanout = Fanout([broken])
    for seq in range(1, 6):
        fanout.accept(event(seq))
    await fanout.aclose()
    assert broken.calls == 1
    assert fanout.dropped == 5
    assert [record.levelname for record in caplog.records] == ["WARNING"]


async def test_without_sinks_nobody_listens_and_closing_is_free():
    fanout = Fanout([])
    assert not fanout.listening
    await fanout.aclose()


async def test_pieces_of_text_never_crowd_out_other_events():
    sink = Held()
    fanout = Fanout([sink], size=6)
    fanout.accept(event(1))
    assert sink.busy.wait(30)  # the first event has left the queue
    for seq in range(2, 9):
        body = TextDelta(iteration=1, text="word ")
        fanout.accept(Event(run_id="r", seq=seq, at=AT, step_id="a", body=body))
    assert fanout.dropped == 4
    for seq in range(9, 12):
        fanout.accept(event(seq))
    assert fanout.dropped == 4
    sink.go.set()
    await fanout.aclose()
    assert sink.seen == [1, 2, 3, 4, 9, 10, 11]  # the gap in the numbers tells what is missing
