"""What is done again when nobody knows its end is what was begun, and not what the step asks for by now."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.durable.test_record import Rows, value, write
from tuvl.durable.record import Answer, DurableJournal
from tuvl.journal import Suspended

TO_ALICE = replace(write(), request="alice")
TO_MALLORY = replace(write(), request="mallory")


async def begun() -> Rows:
    rows = Rows()

    async def lost() -> Any:
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        await DurableJournal(rows, {}).record("pay#1/end", lost, effect=TO_ALICE)
    return rows


async def asked(rows: Rows, effect: Any, *answers: Answer) -> Suspended:
    async def never() -> Any:
        raise AssertionError("done")

    with pytest.raises(Suspended) as waiting:
        await DurableJournal(rows, rows.kept, answers=answers).record("pay#1/end", never, effect=effect)
    return waiting.value


def retry(waiting: Suspended) -> Answer:
    wait = waiting.wait
    return Answer(wait=wait.name, digest=wait.digest, by="ann", at=datetime.now(UTC), value={"outcome": "retry"})


async def test_who_says_to_repeat_a_write_has_not_said_to_do_another_one():
    rows = await begun()
    first = await asked(rows, TO_ALICE)
    assert "something else" not in str(first)
    other = await asked(rows, TO_MALLORY, retry(first))
    assert "something else by now" in str(other)
    journal = DurableJournal(rows, rows.kept, answers=(retry(first),))
    assert await journal.record("pay#1/end", lambda: value("paid"), effect=TO_ALICE) == "paid"


async def test_who_was_told_that_it_is_another_one_may_say_so():
    rows = await begun()
    other = await asked(rows, TO_MALLORY)
    journal = DurableJournal(rows, rows.kept, answers=(retry(other),))
    assert await journal.record("pay#1/end", lambda: value("paid"), effect=TO_MALLORY) == "paid"
