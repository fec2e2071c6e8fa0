"""A queue is looked at rarely while it is empty, and at once when there is something."""

from types import SimpleNamespace

from tuvl.durable.idling import BUSY_S, IDLE_LOOK_S, Idling


def test_an_empty_queue_is_looked_at_rarely_until_something_is_put_there_or_found():
    now, looks, found = [0.0], [], []
    idling = Idling(lambda: now[0])
    queue = SimpleNamespace(name="q")

    def look(queue, more):
        looks.append(now[0])
        return list(found), None

    rarely = idling.rarely(look)

    def looks_in(seconds: float) -> int:
        before = len(looks)
        for _ in range(round(seconds / 0.1)):
            now[0] += 0.1
            rarely(queue, 1)
        return len(looks) - before

    looks_in(BUSY_S)
    assert looks_in(4.0) <= 4.0 / IDLE_LOOK_S
    idling.wake()
    assert looks_in(1.0) == 10
    looks_in(BUSY_S)
    found.append("run")
    assert looks_in(4.0) > 30, "while runs are found, each look is taken"
