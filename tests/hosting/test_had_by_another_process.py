"""Runs on a file that another process has: whatever command is tried on one, it says what works."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.hosting.conftest import Site
from tests.hosting.hosted_project import make_project
from tuvl.hosting.requests import StartRequest


@asynccontextmanager
async def had_by_another_process(folder: Path) -> AsyncIterator[str]:
    """Have a run that waits for an answer on a file that a host has as long as the block runs; gives its id."""
    async with Site(make_project(folder), None).host() as host:
        run_id = await host.start(StartRequest(workflow="pay", input={"sum": 7}))
        waiting = await host.wait(run_id, 30)
        assert waiting is not None
        assert waiting["status"] == "suspended"
        yield run_id


@pytest.mark.parametrize(
    "words",
    [
        ("runs", "abort", "RUN"),
        ("runs", "pause", "RUN"),
        ("runs", "cancel", "RUN"),
        ("resume", "RUN", "--answer", "pay.yaml"),
        ("replay", "RUN"),
        ("runs", "fork", "RUN", "--at", "sure"),
    ],
    ids=" ".join,
)
async def test_what_a_server_has_is_sent_to_its_page_and_its_api(words, tmp_path, run):
    (tmp_path / "pay.yaml").write_text("verdict: pay\n", encoding="utf-8")
    async with had_by_another_process(tmp_path) as run_id:
        words = [run_id if word == "RUN" else word for word in words]
        refused = await asyncio.to_thread(run.tuvl, *words, cwd=tmp_path)
    assert refused.code in (1, 2)
    assert "another process has the durable runs of this project, `tuvl serve` most likely" in refused.err
    assert "answer, approve or abort a run of it on its run page or over its HTTP API" in refused.err
    assert "tuvl runs cancel" not in refused.err


async def test_what_is_shown_of_such_a_run_names_no_command_that_is_refused(tmp_path, run):
    async with had_by_another_process(tmp_path) as run_id:
        shown = await asyncio.to_thread(run.tuvl, "runs", "show", run_id, cwd=tmp_path)
    (line,) = [line for line in shown.out.splitlines() if line.startswith("next")]
    assert "answer, approve or abort a run of it on its run page or over its HTTP API" in line
    assert "tuvl resume" not in shown.out


async def test_when_that_process_has_ended_the_run_is_ended_from_the_command_line(tmp_path, run):
    async with had_by_another_process(tmp_path) as run_id:
        pass
    refused = await asyncio.to_thread(run.tuvl, "runs", "abort", run_id, cwd=tmp_path)
    assert f"`tuvl runs cancel {run_id}` ends it" in refused.err
    assert (await asyncio.to_thread(run.tuvl, "runs", "cancel", run_id, cwd=tmp_path)).code == 4
