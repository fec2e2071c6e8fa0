"""A conversation is kept whole as long as somebody may go on with it."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime, timedelta

import pytest

from tuvl.data.retention import OldRuns
from tuvl.data.run_records import StoreAccess
from tuvl.data.run_rows import MessageRow, Place, RunRow
from tuvl.data.run_store import RunStore
from tuvl.hosting.retention import Retention
from tuvl.principal import ANY, Principal
from tuvl.settings import load_settings

NOW = datetime(2030, 6, 1, tzinfo=UTC)
LONG_AGO, BEFORE, LATELY = NOW - timedelta(days=60), NOW - timedelta(days=30), NOW - timedelta(days=2)
OPERATOR = Principal(scopes=frozenset({ANY}))


@pytest.fixture(params=["sqlite", "postgresql"])
async def access(request: pytest.FixtureRequest, tmp_path) -> AsyncIterator[StoreAccess]:
    url = None if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    async with aclosing(StoreAccess(str(tmp_path), url)) as found:
        yield found


async def talk(store: RunStore, run_id: str, conversation: str, ended: datetime | None) -> None:
    began = (ended or LONG_AGO) - timedelta(minutes=1)
    run = RunRow(run_id=run_id, workflow="w", schema_version="v1", principal=OPERATOR, started_at=began)
    await store.begin(run)
    place = Place(step_id="a", iteration=1, at=began, conversation=conversation)
    await store.messages(
        run_id, place, [MessageRow(role="user", content=run_id, tool_calls=[], tool_call_id=None, name=None)]
    )
    if ended is not None:
        await store.finish(run_id, status="completed", signal="default", at=ended, result={})


async def test_a_run_stays_while_a_later_one_or_one_that_has_not_ended_has_part_in_its_conversation(access, tmp_path):
    store = access.store
    for conversation, others in {"over": [LONG_AGO], "lately": [LATELY], "going-on": [None]}.items():
        await talk(store, f"{conversation}-1", conversation, LONG_AGO)
        for number, ended in enumerate(others, start=2):
            await talk(store, f"{conversation}-{number}", conversation, ended)
    settings = load_settings({"TUVL_DATABASE_URL": access._url or ""})
    assert (await Retention(tmp_path, settings, access).forget(OldRuns(before=BEFORE))).runs == 2
    for conversation, left in {"over": 0, "lately": 2, "going-on": 2}.items():
        assert len(await store.conversation(conversation, OPERATOR)) == left
