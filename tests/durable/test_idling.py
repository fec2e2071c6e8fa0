"""A queue is looked at rarely while it is empty, and at once when there is something."""

import threading
from types import SimpleNamespace

import pytest

from tuvl.durable import idling
from tuvl.durable.idling import BUSY_S, NEWS_S, REST_S, UNTOLD_S, Idling, Resting

LOOK_S = 0.1


class Time:
    """A clock that a wait puts forward."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> bool:
        self.now += seconds
        return False


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def rests(time: Time, monkeypatch: pytest.MonkeyPatch) -> Idling:
    made = Idling(time)
    monkeypatch.setattr(made._changed, "wait", time.wait)
    return made


def looks_in(seconds: float, resting: Resting, time: Time) -> int:
    until, looks = time.now + seconds, 0
    while time.now < until:
        resting.wait(LOOK_S)
        looks += 1
    return looks


@pytest.mark.parametrize(("told", "rest_s"), [(True, REST_S), (False, UNTOLD_S)])
def test_an_empty_queue_is_looked_at_rarely_and_more_often_where_nobody_would_tell(rests, time, told, rest_s):
    rests.trust(told)
    resting = Resting(rests)
    looks_in(BUSY_S, resting, time)
    assert looks_in(10 * rest_s, resting, time) == pytest.approx(10, abs=1)


def test_looks_follow_each_other_after_news_and_while_runs_are_found(rests, time):
    rests.trust(True)
    resting, found = Resting(rests), ["run"]
    look = rests.noticing(lambda queue: (list(found), None))
    for _ in range(100):
        look(SimpleNamespace())
        begun = time.now
        resting.wait(LOOK_S)
        assert time.now - begun == pytest.approx(LOOK_S)
    found.clear()
    looks_in(BUSY_S + REST_S, resting, time)
    rests.hear()
    assert looks_in(NEWS_S, resting, time) == pytest.approx(NEWS_S / LOOK_S, abs=1)
    resting.wait(LOOK_S)
    begun = time.now
    resting.wait(LOOK_S)
    assert time.now - begun == pytest.approx(REST_S)


def test_news_that_comes_during_a_look_is_looked_for_once_more_however_long_the_look_takes(rests, time):
    rests.trust(True)
    resting = Resting(rests)
    looks_in(BUSY_S + REST_S, resting, time)
    rests.hear()
    time.now += 10 * NEWS_S  # the look takes so long
    begun = time.now
    resting.wait(LOOK_S)
    assert time.now - begun == pytest.approx(LOOK_S)


def test_room_in_a_process_that_was_full_is_seen_soon(rests, time):
    rests.trust(True)
    resting = Resting(rests)
    looks_in(BUSY_S + REST_S, resting, time)
    rests.full = lambda: True
    begun = time.now
    resting.wait(LOOK_S)
    assert time.now - begun == pytest.approx(LOOK_S)


@pytest.mark.parametrize("say", ["wake", "hear", "stop"])
def test_whoever_rests_is_woken_from_another_thread(monkeypatch, say):
    monkeypatch.setattr(idling, "BUSY_S", 0.0)
    monkeypatch.setattr(idling, "NEWS_S", 0.0)
    monkeypatch.setattr(idling, "REST_S", 3600.0)
    rests = Idling()
    rests.trust(True)
    resting = Resting(rests)
    resting.wait(0.0)  # it has looked since it began
    woken = threading.Event()
    waiting = threading.Thread(target=lambda: (resting.wait(0.0), woken.set()))
    waiting.start()
    resting.set() if say == "stop" else getattr(rests, say)()
    assert woken.wait(30)
    waiting.join()
    assert resting.is_set() == (say == "stop")
