"""The record of a run over rows in memory: what an agent was told, audited, and what it may count on."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from tuvl.agent.recorded import once
from tuvl.agent.steering import RecordedSteers
from tuvl.control import RunControl
from tuvl.durable.record import Answer, DurableJournal, intent_of
from tuvl.durable.rows import row_of
from tuvl.errors import EngineError
from tuvl.journal import Effect, Settlement, Suspended, Wait
from tuvl.llm.meter import Meter


class Rows:
    """Rows in memory, as a database would give them back."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}

    async def put(self, name: str, row: Any) -> None:
        self.kept[name] = row


async def value(given: Any) -> Any:
    return given


def write(repeatable: bool = False) -> Effect:
    return Effect(
        step="pay", kind="APICall", repeatable=repeatable, settle=lambda said: {"done": said.done, "got": said.answer}
    )


async def test_what_was_recorded_is_not_done_again():
    rows = Rows()
    assert await DurableJournal(rows, {}).within("a#1").record("end", lambda: value((1, 2))) == [1, 2]

    async def never() -> Any:
        raise AssertionError("done again")

    assert await DurableJournal(rows, rows.kept).within("a#1").record("end", never) == [1, 2]


async def test_work_that_raises_is_not_recorded():
    rows = Rows()

    async def fails() -> Any:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await DurableJournal(rows, {}).record("end", fails)
    assert rows.kept == {}


async def test_the_intent_of_an_effect_is_there_before_it_begins():
    rows = Rows()
    seen: list[list[str]] = []

    async def work() -> Any:
        seen.append(list(rows.kept))
        return 1

    await DurableJournal(rows, {}).record("end", work, effect=write())
    assert seen == [["end!1"]]
    assert list(rows.kept) == ["end!1", "end"]


async def test_an_effect_whose_end_is_not_known_is_asked_about_unless_it_may_be_repeated():
    rows = Rows()
    rows.kept["end!1"] = row_of(intent_of(write(True), marked=False), 0.5)
    assert await DurableJournal(rows, dict(rows.kept)).record("end", lambda: value(1), effect=write(True)) == 1
    rows.kept = {"end!1": row_of(intent_of(write(), marked=False), 0.5)}
    with pytest.raises(Suspended) as waiting:
        await DurableJournal(rows, dict(rows.kept)).record("end", lambda: value(1), effect=write())
    assert waiting.value.wait.name == "end!1?"
    assert waiting.value.type == "outcome_unknown"


KEYED = Effect(step="pay", kind="APICall", repeatable=True, request="with the key OLD")
PLAIN = replace(KEYED, repeatable=False, request="without a key")


@pytest.mark.parametrize(
    ("begun", "now"),
    [
        (KEYED, replace(KEYED, request="with the key NEW")),
        (PLAIN, KEYED),
        (PLAIN, replace(PLAIN, repeatable=True)),
        (KEYED, replace(KEYED, repeatable=False)),
        (PLAIN, replace(PLAIN, writes=False)),
        (KEYED, replace(KEYED, writes=False)),
    ],
    ids=["another key", "a key added", "called repeatable", "no key any more", "called a read", "keyed, called a read"],
)
async def test_what_an_effect_was_begun_as_decides_whether_it_is_repeated_and_no_newer_definition(begun, now):
    rows = Rows()

    async def killed() -> Any:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await DurableJournal(rows, {}).record("end", killed, effect=begun)

    async def never() -> Any:
        raise AssertionError("done again")

    with pytest.raises(Suspended) as waiting:
        await DurableJournal(rows, dict(rows.kept)).record("end", never, effect=now)
    assert waiting.value.type == "outcome_unknown"


async def test_what_only_reads_leaves_no_intent():
    rows = Rows()
    await DurableJournal(rows, {}).record("end", lambda: value(1), effect=replace(PLAIN, writes=False))
    assert list(rows.kept) == ["end"]


def answer(wait: Wait, **said: Any) -> Answer:
    from datetime import UTC, datetime

    return Answer(wait=wait.name, digest=wait.digest, by="ann", at=datetime.now(UTC), value=said)


async def unknown(rows: Rows) -> Wait:
    with pytest.raises(Suspended) as waiting:
        await DurableJournal(rows, dict(rows.kept)).record("end", lambda: value(1), effect=write())
    return waiting.value.wait


async def test_an_answer_counts_for_what_it_was_given_to_and_for_nothing_else():
    rows = Rows()
    rows.kept["end!1"] = row_of(None, 0.5)
    wait = await unknown(rows)
    other = Answer(
        wait=wait.name,
        digest="of something else",
        by="ann",
        at=answer(wait).at,
        value={"outcome": "done", "answer": {}},
    )
    journal = DurableJournal(rows, dict(rows.kept), answers=(other,))
    with pytest.raises(Suspended):
        await journal.record("end", lambda: value(1), effect=write())
    assert journal.unused == (other,)
    mine = answer(wait, outcome="done", answer={"id": 7})
    journal = DurableJournal(rows, dict(rows.kept), answers=(mine,))
    assert await journal.record("end", lambda: value(1), effect=write()) == {"done": True, "got": {"id": 7}}
    assert journal.unused == ()
    assert rows.kept["end!1?"]["value"]["by"] == "ann"


async def test_a_settlement_says_what_the_person_said():
    assert write().settle is not None
    assert write().settle(Settlement(done=False, by="ann")) == {"done": False, "got": {}}


async def test_the_clock_of_a_run_goes_on_from_where_its_record_ends():
    rows = Rows()
    rows.kept["end"] = row_of(None, 500.0)
    journal = DurableJournal(rows, dict(rows.kept), again=True)
    assert journal.elapsed_s == 500.0
    assert journal.clock.monotonic() < 100
    await journal.record("end", lambda: value(None))
    assert journal.clock.monotonic() >= 500.0
    await journal.record("next", lambda: value(None))
    assert rows.kept["next"]["t"] >= 500.0


async def test_rows_of_another_form_are_refused():
    with pytest.raises(EngineError, match="form 2"):
        DurableJournal(Rows(), {"end": {"v": 2, "t": 0, "value": None}})


async def test_what_is_cancelled_when_its_work_is_done_is_recorded_all_the_same():
    entered, going_on = asyncio.Event(), asyncio.Event()

    class Slow(Rows):
        async def put(self, name: str, row: Any) -> None:
            entered.set()
            await going_on.wait()
            await super().put(name, row)

    rows = Slow()
    task = asyncio.ensure_future(DurableJournal(rows, {}).record("end", lambda: value(1)))
    await entered.wait()
    task.cancel()
    going_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert list(rows.kept) == ["end"]


async def test_what_a_run_was_told_is_told_at_the_same_turn_when_it_goes_on():
    rows, control = Rows(), RunControl()
    steers = RecordedSteers(control, DurableJournal(rows, {}), model="turn.m", meter=Meter())
    assert await steers.between_turns() == []
    control.steer("hurry")
    assert await steers.between_turns() == ["hurry"]
    again = RecordedSteers(RunControl(), DurableJournal(rows, dict(rows.kept)), model="turn.m", meter=Meter())
    assert [await again.between_turns() for _ in range(3)] == [[], ["hurry"], []]


async def test_what_a_run_is_told_while_it_goes_on_waits_for_a_turn_that_is_new():
    rows = Rows()
    before = DurableJournal(rows, {})
    await before.record(before.numbered("turn.m"), lambda: value(1))
    control, journal = RunControl(), DurableJournal(rows, dict(rows.kept))
    control.steer("hurry")
    steers = RecordedSteers(control, journal, model="turn.m", meter=Meter())
    assert await steers.between_turns() == []
    await journal.record(journal.numbered("turn.m"), lambda: value(2))
    assert await steers.between_turns() == ["hurry"]


async def test_an_audit_is_written_once():
    rows, written = Rows(), []

    async def write_it() -> None:
        written.append(1)

    await once(DurableJournal(rows, {}), "audit", write_it)
    await once(DurableJournal(rows, dict(rows.kept)), "audit", write_it)
    assert written == [1]


async def test_the_state_of_a_script_is_found_again():
    rows = Rows()
    journal = DurableJournal(rows, {})
    journal.keep_state("model.m", [2, 2])
    await journal.record("turn", lambda: value(1))
    assert DurableJournal(rows, dict(rows.kept)).last_state("model.m") == [2, 2]
    assert DurableJournal(rows, dict(rows.kept)).last_state("model.other") is None
