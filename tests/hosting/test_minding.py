"""What minds runs beside their performance goes on after a fault that nobody thought of."""

import asyncio

import pytest

from tests.hosting.hosted_project import gated
from tuvl.durable.shared_state import SharedState
from tuvl.hosting.requests import StartRequest


@pytest.mark.parametrize("method", ["settled", "wake_overdue"])
async def test_a_fault_beside_a_run_keeps_nobody_from_hearing_of_its_end(site, monkeypatch, caplog, method):
    real, failed = getattr(SharedState, method), asyncio.Event()
    loop = asyncio.get_running_loop()

    def failing(self, *given):
        if not failed.is_set():
            loop.call_soon_threadsafe(failed.set)
            raise ZeroDivisionError("a mistake")
        return real(self, *given)

    monkeypatch.setattr(SharedState, method, failing)
    with gated("x") as (port, _, gate):
        async with site.host() as host:
            run_id = await host.start(StartRequest(workflow="gated", input={"origin": port, "case": "x"}))
            waiting = asyncio.create_task(host.wait(run_id, 60))
            async with asyncio.timeout(30):
                await failed.wait()
            if method == "wake_overdue":
                await asyncio.to_thread(gate.reached.acquire)
                await host.abort(run_id, "enough", "the operator")
            gate.opened.set()
            document = await waiting
    assert document is not None
    assert document["status"] == ("aborted" if method == "wake_overdue" else "completed")
    assert "ZeroDivisionError" in caplog.text
