"""A run that was paused when its process was lost performs nothing where it goes on, until somebody lets it go on."""

import asyncio
from typing import Any

import pytest

from tests.durable.test_record import Rows, value, write
from tests.durable.test_told import Dying, Killed, kept
from tests.engine.run_support import Project
from tests.guardrails.guard_support import Until
from tuvl.control import Intervention, RunControl
from tuvl.durable.leaving import LeavingJournal
from tuvl.durable.record import DurableJournal
from tuvl.durable.rows import row_of
from tuvl.engine.telling import tell_by_record
from tuvl.journal import Left

STEPS = """\
- { id: first, kind: Functional, runner: count }
- { id: second, kind: Functional, runner: count }
- { id: each, kind: ForEach, items: [1, 2], as: item, step: item, concurrency: 2, output_key: all }
- { id: item, kind: Functional, runner: count }
"""
NODE = """\
from tuvl import node

DONE = []


@node("count")
def count(ctx):
    DONE.append(ctx.get("item", 0))
    with open("{path}", "a") as file:
        file.write("x")
    return {{"n": len(DONE)}}
"""
RESUME = Intervention(action="resume", source="operator", by="ann")


def project(folder) -> Project:
    return Project(folder, STEPS).node(NODE.format(path=folder / "done"))


def done(folder) -> int:
    path = folder / "done"
    return len(path.read_text()) if path.exists() else 0


async def performed(project: Project, rows: Rows, control: RunControl, *sinks: object, begun: bool = True) -> Any:
    engine = project.engine()
    try:
        journal = DurableJournal(rows, dict(rows.kept), again=begun)
        return await engine.run(project.plan(), {}, control=control, journal=journal, run_id="r1", sinks=sinks)
    finally:
        await engine.aclose()


@pytest.mark.parametrize(
    ("point", "before"), [("after first#1/end", 1), ("after second#1/end!1", 1), ("after second#1/end", 2)]
)
async def test_a_paused_run_performs_nothing_in_the_process_that_takes_it_up(point, before, tmp_path):
    rows = Dying({}, point)
    with pytest.raises(Killed):
        await performed(project(tmp_path), rows, RunControl(), begun=False)
    rows.kept.pop("second#1/end!1", None)  # else a person would be asked
    rows.point = ""
    await DurableJournal(rows, dict(rows.kept)).tell("d1", {"kind": "pause", "by": "ann", "words": ""})
    control, paused = RunControl(), Until("supervisor")
    going_on = asyncio.ensure_future(performed(project(tmp_path), rows, control, paused))
    await asyncio.wait((going_on, asyncio.ensure_future(paused.come.wait())), return_when=asyncio.FIRST_COMPLETED)
    for _ in range(50):
        await asyncio.sleep(0)
    assert (control.paused, going_on.done(), done(tmp_path)) == (True, False, before)
    control.resume()
    assert (await going_on).status == "completed"
    assert done(tmp_path) == 4


async def test_whatever_comes_beside_to_what_is_new_is_held_up_too():
    rows, control, begun = Rows(), RunControl(), []
    rows.kept = kept(("pause", ""))
    journal = DurableJournal(rows, dict(_whole(rows.kept)), again=True)
    tell_by_record(journal, control, hear=_nothing)

    async def work(name: str) -> Any:
        begun.append(name)
        return name

    def item(name: str) -> "asyncio.Task[Any]":
        return asyncio.ensure_future(journal.within(name).record("end", lambda: work(name)))

    items = [item(name) for name in ("a#1", "b#1")]
    for _ in range(20):
        await asyncio.sleep(0)
    items.append(item("c#1"))
    for _ in range(20):
        await asyncio.sleep(0)
    assert begun == []
    control.resume()
    assert await asyncio.gather(*items) == ["a#1", "b#1", "c#1"]


async def test_a_run_that_is_let_on_before_its_record_ends_is_not_paused_by_what_it_was_told_before():
    rows, control = Rows(), RunControl()
    rows.kept = kept(("pause", ""))
    journal = DurableJournal(rows, dict(_whole(rows.kept)), again=True)
    tell_by_record(journal, control, hear=_nothing)
    assert control.keep is not None
    await control.keep("d9", RESUME, "")
    control.intervene(RESUME)
    assert await journal.within("a#1").record("end", lambda: value(1)) == 1
    assert not control.paused


async def test_what_nobody_has_read_yet_is_heard_before_anything_new_is_begun():
    rows, control, order = Rows(), RunControl(), []
    await DurableJournal(rows, {}).within("a#1").record("end", lambda: value(1))

    async def hear() -> None:
        order.append("heard")
        control.pause()
        asyncio.get_running_loop().call_later(0, lambda: (order.append("resumed"), control.resume()))

    async def work() -> Any:
        order.append("begun")

    journal = DurableJournal(rows, dict(rows.kept), again=True)
    tell_by_record(journal, control, hear=hear)
    await journal.within("b#1").record("end", work)
    assert order == ["heard", "resumed", "begun"]


async def test_a_pause_that_lasts_too_long_leaves_no_intent_behind():
    rows, control = Rows(), RunControl(pause_max_s=0.001)
    rows.kept = kept(("pause", ""))
    journal = DurableJournal(rows, dict(_whole(rows.kept)), again=True)
    tell_by_record(journal, control, hear=_nothing)
    await journal.within("pay#1").record("end", lambda: value("stopped"), effect=write())
    assert control.abort_reason == "paused for more than 0.001 s"
    assert [name for name in rows.kept if "!" in name] == []


async def test_a_paused_run_leaves_its_process_from_before_a_write_that_it_has_not_begun():
    rows, control = Rows(), RunControl()
    rows.kept = kept(("pause", ""))
    journal = LeavingJournal(rows, dict(_whole(rows.kept)), leaving=lambda: False)
    control.leave = journal.leave
    tell_by_record(journal, control, hear=_nothing)
    writing = asyncio.ensure_future(journal.within("pay#1").record("end", lambda: value(1), effect=write()))
    while not control.paused:
        await asyncio.sleep(0)
    control.let_go()
    with pytest.raises(Left):
        await asyncio.wait_for(writing, 20)
    assert all(name.startswith("told.") for name in rows.kept)


def _whole(found: dict[str, Any]) -> dict[str, Any]:
    return {name: row_of(row["value"], row["t"]) for name, row in found.items()}


async def _nothing() -> None:
    return None
