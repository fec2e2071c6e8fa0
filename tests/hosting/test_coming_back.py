"""A run comes back to its process while its former performance there still clears up: it waits until that is over."""

import asyncio

from tests.hosting.test_host import answer, asked_in
from tuvl.hosting.requests import StartRequest
from tuvl.hosting.taking import Taken


async def test_a_run_that_is_back_before_it_was_let_go_of_is_performed_once_that_is_over(site, monkeypatch):
    perform, inner, leave_line = Taken.perform, Taken._perform, Taken._leave_line
    clearing, back, may_clear = asyncio.Event(), asyncio.Event(), asyncio.Event()
    came: list[str] = []
    told: list[str] = []

    async def comes(self, run_id, *more):
        came.append(run_id)
        if len(came) == 2:  # said after what it does at once
            asyncio.get_running_loop().call_soon(back.set)
        return await perform(self, run_id, *more)

    async def performs(self, run_id, *more):
        told.append("begins")
        try:
            return await inner(self, run_id, *more)
        finally:
            told.append("is over")

    async def leaves(self, run_id):
        await leave_line(self, run_id)
        clearing.set()
        await may_clear.wait()

    monkeypatch.setattr(Taken, "perform", comes)
    monkeypatch.setattr(Taken, "_perform", performs)
    monkeypatch.setattr(Taken, "_leave_line", leaves)
    async with site.host() as host, asyncio.timeout(60):
        run_id = await host.start(StartRequest(workflow="pay", input={"sum": 7}))
        await clearing.wait()
        waiting = await asked_in(host, run_id)
        await host.answer(run_id, answer(waiting))
        await back.wait()
        assert told == ["begins"], "it is here again, and waits for what has not been cleared away"
        assert host.running == [run_id]
        may_clear.set()
        document = await host.wait(run_id, 30)
        assert document is not None
        assert (document["status"], document["context"]["paid"]) == ("completed", 7)
        while len(told) < 4:
            await asyncio.sleep(0)
    assert came == [run_id] * 2
    assert told == ["begins", "is over"] * 2
