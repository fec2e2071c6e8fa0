"""Runs that cannot be gone on with here are laid aside: nobody ends them, and who asks for them is told why."""

import asyncio
import json

import pytest
import sqlalchemy as sa

from tests.durable.durable_project import counting
from tests.hosting.test_sealed_runs import ONE, talking
from tuvl.durable.shared_tables import QUEUE, SCHEMA
from tuvl.errors import UsageError
from tuvl.hosting.requests import StartRequest

UNTAKEN = "UPDATE {schema}workflow_status SET status = 'ENQUEUED', queue_name = :queue, output = NULL, owner_xid = NULL"
NEWER = "UPDATE {schema}workflow_input SET inputs = :inputs"


def change(site, *statements: str, **values: object) -> None:
    schema = "" if site.url is None else f"{SCHEMA}."
    path = site.folder / ".tuvl" / "host.sqlite"
    url = f"sqlite:///{path}" if site.url is None else site.url.replace("postgresql://", "postgresql+psycopg://")
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        for statement in statements:
            text = sa.text(statement.format(schema=schema))
            connection.execute(text, {name: value for name, value in values.items() if f":{name}" in statement})
    engine.dispose()


async def laid_aside(host, run_id: str, why: str) -> None:
    async with asyncio.timeout(30):
        while not await asyncio.to_thread(host._state.lacks_key, run_id):
            await asyncio.sleep(0.05)
    with pytest.raises(UsageError, match=why):
        await host.take(run_id)
    assert await host.state(run_id) == "queued"


async def test_a_run_that_another_version_has_begun_is_not_ended(site):
    async with site.host(concurrency=0) as host:
        run_id = await host.start(StartRequest(workflow="pay", input={"sum": 1}))
        payload = (await asyncio.to_thread(host._runs.find, run_id)).payload
    newer = json.dumps({"positionalArgs": [{**payload, "v": 99}], "namedArgs": {}})
    change(site, NEWER, inputs=newer)
    async with site.host() as host:
        await laid_aside(host, run_id, "begun by another version of tuvl")


async def test_a_record_with_a_gap_is_not_gone_on_with(site):
    with counting() as (port, counted):
        async with site.host() as host:
            run_id = await host.start(StartRequest(workflow="w", input={"origin": str(port), "case": "x"}))
            assert await host.wait(run_id, 30)
        before = dict(counted.counts)
        gap = "DELETE FROM {schema}operation_outputs WHERE function_name = 'plain#1/end'"
        change(site, UNTAKEN, gap, queue=QUEUE)
        async with site.host() as host:
            await laid_aside(host, run_id, "of its [0-9]+ entries 1 are missing")
        assert dict(counted.counts) == before


async def test_an_encrypted_run_that_has_ended_is_not_done_again_whatever_its_status_says(site):
    site = talking(site, ONE)
    with counting() as (port, counted):
        async with site.host() as host:
            run_id = await host.start(StartRequest(workflow="w", input={"origin": str(port), "case": "x"}))
            document = await host.wait(run_id, 30)
            assert document is not None
        before = dict(counted.counts)
        change(site, UNTAKEN, "DELETE FROM {schema}workflow_output", queue=QUEUE)
        async with site.host() as host:
            assert await host.wait(run_id, 30) == document
        assert dict(counted.counts) == before
