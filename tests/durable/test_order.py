"""What an earlier process may have been at when it was lost: only of that is anything void that it has told."""

import pytest

from tests.durable.test_record import Rows, value
from tuvl.durable.record import DurableJournal
from tuvl.durable.rows import row_of
from tuvl.journal import NO_JOURNAL

CALL = "turn.m#1"


def journal(*found: str, again: bool = True, earlier: bool | None = None) -> DurableJournal:
    return DurableJournal(Rows(), {name: row_of(1, 1.0) for name in found}, again=again, earlier=earlier)


async def may(place: str, *found: str, new: tuple[str, ...] = ()) -> bool:
    """Whether a call at a place may have begun, after this process was the first to do something."""
    record = journal(*found)
    for name in new:
        await record.record(name, lambda: value(1))
    part = record
    for name in place.split("/"):
        part = part.within(name)
    return part.may_have_begun(CALL)


@pytest.mark.parametrize(
    ("place", "new"),
    [
        ("a#1", ()),
        ("each#1/[2]/a#1", ("each#1/[1]/a#1/turn.m#1", "each#1/[1]/end")),  # items may go on side by side
        ("a#1/tool.sub.c1#1/b#1", ("a#1/tool.look.c2#1/end", "a#1/audit#2")),  # and so may calls of one turn
    ],
)
async def test_a_call_that_comes_next_may_have_begun(place, new):
    assert await may(place, new=new)


@pytest.mark.parametrize(
    ("place", "new"),
    [
        ("b#1", ("a#1/end",)),
        ("b#1", ("each#1/[1]/end",)),
        ("a#1", ("a#1/tool.look.c1#1/end",)),
        ("a#1", ("a#1/audit#1",)),
        ("each#1/[2]/b#1", ("each#1/[2]/a#1/end",)),
        ("each#1/[2]/b#1", ("a#1/end",)),
    ],
)
async def test_a_call_after_something_that_was_done_here_first_had_not_begun(place, new):
    assert not await may(place, new=new)


async def test_a_call_whose_outcome_is_on_record_and_one_of_a_run_that_is_new_had_not_begun():
    assert not await may("a#1", f"a#1/{CALL}")
    assert not journal(again=False).may_have_begun(CALL)
    assert not journal("a#1/end", earlier=False).may_have_begun(CALL)  # one that another run has left to this one
    assert not NO_JOURNAL.may_have_begun(CALL)


async def test_what_a_run_is_told_when_it_goes_on_says_nothing_of_what_it_was_at():
    record = journal("a#1/end")
    await record.tell("d1", {"kind": "steer", "by": "ann", "words": "short"})
    assert record.within("b#1").may_have_begun(CALL)
