"""A conversation in SQL takes streamed replies piece by piece, and says so when one never came to its end."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest
from sqlalchemy import text

from tests.sql.conftest import Database
from tests.sql.records_support import Records
from tests.sql.test_run_records import Reader, conversation, inside, kept
from tests.support.openai_server import chunk, serving, sse, trickled
from tuvl.agent.stored import StoredConversation
from tuvl.cli.app import app
from tuvl.clock import SystemClock
from tuvl.data.run_records import RunRecords, StoreAccess
from tuvl.data.run_rows import RunRow, TraceFilter
from tuvl.data.run_tables import ADDED_IN_2
from tuvl.data.secure import SecureValues
from tuvl.errors import ModelError
from tuvl.llm.messages import Message, ModelReply, Restarted, TextPiece, ToolCall
from tuvl.principal import Principal

ASKS = ToolCall(id="c1", name="say", arguments={"text": "hi"})


class Pieces:
    """A model that streams; each reply is a list of pieces, with functions to await between them, then the end."""

    name, price = "pieces", None

    def __init__(self, *replies) -> None:
        self.replies = list(replies)

    async def complete(self, request):
        *pieces, end = self.replies.pop(0)
        said = []
        for piece in pieces:
            if callable(piece):
                await piece()
            elif isinstance(piece, str):
                said.append(piece)
                await request.on_delta(TextPiece(text=piece))
            else:
                said.clear()
                await request.on_delta(piece)
        if isinstance(end, Exception):
            raise end
        calls = (end,) if isinstance(end, ToolCall) else ()
        reason = end if isinstance(end, str) else "stop"
        message = Message(role="assistant", content="".join(said), tool_calls=calls)
        return ModelReply(message=message, finish_reason="tool_calls" if calls else reason)

    async def aclose(self) -> None:
        pass


@pytest.fixture(autouse=True)
def every_piece_is_written(monkeypatch) -> None:
    monkeypatch.setattr("tuvl.agent.stored.GATHERED_S", 0.0)


def streaming(root: Path, database: Database, *replies, **agent: object) -> Records:
    project = kept(root, database, stream=True, conversation=conversation("chat"), **agent)
    project.chat_models["default"] = Pieces(*replies)
    return project


async def read(project: Records) -> list[dict]:
    async with Reader(project) as store:
        return list(await store.conversation("chat", Principal()))


def said(messages: list[dict]) -> list[tuple]:
    return [(message["role"], message.get("content"), message.get("state")) for message in messages[2:]]


async def test_a_reply_is_open_then_grows_then_is_whole_in_its_place(database: Database, tmp_path: Path) -> None:
    seen = []

    async def look() -> None:
        seen.append(said(await read(project)))

    project = streaming(
        tmp_path, database, ("Let ", look, "me see.", look, ASKS), ("Done", look, ".", "stop"), audit=True
    )
    result = await project.run()
    assert result.status == "completed", result.error
    asked = ("assistant", "Let me see.", None)
    answered = ("tool", '{"echo":"hi"}', None)
    assert seen == [
        [("assistant", "Let ", "open")],
        [("assistant", "Let me see.", "open")],
        [asked, answered, ("assistant", "Done", "open")],
    ]
    messages = await read(project)
    assert said(messages) == [asked, answered, ("assistant", "Done.", None)]
    assert messages[2]["tool_calls"] == [{"id": "c1", "name": "say", "arguments": '{"text":"hi"}'}]
    async with Reader(project) as store:
        shown = await store.show(result.run_id, Principal())
        trace = await store.trace(result.run_id, TraceFilter())
    assert shown is not None
    assert shown["conversations"][0]["messages"] == 5
    assert [entry["type"] for entry in trace] == ["model_call", "tool_call", "model_call"]


async def test_a_reply_that_begins_anew_leaves_the_first_beginning_void(database: Database, tmp_path: Path) -> None:
    project = streaming(tmp_path, database, ("Wro", Restarted(), "Right.", "stop"), audit=True)
    result = await project.run()
    assert said(await read(project)) == [("assistant", "Wro", "void"), ("assistant", "Right.", None)]
    async with Reader(project) as store:
        trace = await store.trace(result.run_id, TraceFilter())
        shown = await store.show(result.run_id, Principal())
    assert [(entry["type"], entry.get("state")) for entry in trace] == [
        ("unfinished_reply", "void"),
        ("model_call", None),
    ]
    assert shown["conversations"][0]["messages"] == 3


@pytest.mark.parametrize(
    "end", ["length", ModelError("model 'm': gone", type="connection", retryable=False)], ids=["cut off", "failed"]
)
async def test_a_reply_that_is_no_answer_stays_open(database: Database, end, tmp_path: Path) -> None:
    project = streaming(tmp_path, database, ("Half of", end))
    assert (await project.run()).status == "failed"
    assert said(await read(project)) == [("assistant", "Half of", "open")]


async def test_pieces_are_gathered_and_a_long_reply_is_not_written_over_and_over(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("tuvl.agent.stored.GATHERED_S", 3600.0)
    written = []
    keep = RunRecords.reply_so_far

    async def counted(self, number, text):
        written.append(len(text))
        await keep(self, number, text)

    monkeypatch.setattr(RunRecords, "reply_so_far", counted)
    project = streaming(tmp_path, Database("sqlite", ""), (*["0123456789"] * 20_000, "stop"))
    assert (await project.run()).status == "completed"
    assert 5 < len(written) < 40
    assert sum(written) < 3 * 200_000
    assert len(said(await read(project))[0][1]) == 200_000


async def test_half_a_secure_value_is_not_kept(database: Database, tmp_path: Path) -> None:
    access = StoreAccess(str(tmp_path), kept(tmp_path, database).settings.database_url)
    secure = SecureValues()
    secure.add("DE02120300000000202051")
    run = RunRow(run_id="r", workflow="w", schema_version="v1", principal=Principal(), started_at=SystemClock().now())
    records = RunRecords(access, run, secure=secure, clock=SystemClock())
    stored = StoredConversation(records, step_id="agent", conversation="chat", clock=SystemClock())

    async def content() -> str:
        (message,) = await access.store.conversation("chat", Principal())
        return message["content"]

    try:
        await stored.open_turn(1)
        await stored.chunk("Pay to DE02120300")
        assert await content() == "Pay to "
        await stored.chunk("000000202051")
        assert await content() == "Pay to ***"
        await stored.chunk(" today, DE")
        assert await content() == "Pay to *** today, "
        await stored.commit(Message(role="assistant", content="Pay to DE02120300000000202051 today, DEAR."))
        assert await content() == "Pay to *** today, DEAR."
    finally:
        await access.aclose()


async def test_a_process_that_dies_half_way_leaves_an_open_reply_that_the_trace_shows(
    database: Database, tmp_path: Path, monkeypatch
) -> None:
    """Killed between open and commit, nothing pretends that the reply was whole."""
    project = kept(tmp_path, database, stream=True, audit=True, conversation=conversation("chat"))
    never = asyncio.Event()
    async with serving() as server:
        server.queue(trickled([sse(chunk({"content": "Half of the answer, "}), done=False)], then=never))
        (tmp_path / "llms" / "default.yaml").write_text(
            json.dumps(
                {
                    "kind": "AgentModel",
                    "metadata": {"name": "default"},
                    "spec": {"provider": "openai_compatible", "model": "local", "api_base": server.url},
                }
            )
        )
        url = project.settings.database_url
        environ = {**os.environ, "TUVL_DATABASE_URL": url} if url else os.environ
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tuvl", "run", "workflows/flow.yaml", "--events", "jsonl"),
            cwd=tmp_path,
            env=environ,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stderr is not None
        run_id = ""
        async with asyncio.timeout(60):
            async for line in process.stderr:
                event = json.loads(line)
                run_id = event["run_id"]
                if event["type"] == "text_delta":
                    break
            while not (messages := await read(project)) or len(messages) < 3:
                await asyncio.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        await process.wait()
        never.set()
    (opened,) = said(await read(project))
    assert (opened[0], opened[2]) == ("assistant", "open")
    assert "Half of the answer, ".startswith(opened[1])
    with inside(tmp_path, monkeypatch) as cli:
        if url:
            monkeypatch.setenv("TUVL_DATABASE_URL", url)
        shown = await asyncio.to_thread(cli.invoke, app, ["runs", "trace", run_id])
        told = await asyncio.to_thread(cli.invoke, app, ["runs", "trace", run_id, "--format", "json"])
        state = await asyncio.to_thread(cli.invoke, app, ["runs", "show", run_id])
    assert "agent: turn 1 · unfinished: a reply that came in pieces was never completed" in shown.stdout
    assert [(entry["type"], entry["state"]) for entry in json.loads(told.stdout)] == [("unfinished_reply", "open")]
    assert "status      running" in state.stdout


async def test_a_store_of_the_first_version_is_brought_up_to_date(database: Database, tmp_path: Path) -> None:
    project = kept(tmp_path, database, audit=True, conversation=conversation("chat"))
    old = await project.run()
    async with Reader(project) as store, store._writing.begin() as connection:
        for column in ADDED_IN_2:
            await connection.execute(text(f"ALTER TABLE {column.table.name} DROP COLUMN {column.name}"))
        await connection.execute(text("UPDATE tuvl_store SET version = 1"))
    new = await project.run()
    assert new.status == "completed", new.error
    async with Reader(project) as store:
        traces = [await store.trace(run.run_id, TraceFilter()) for run in (old, new)]
        assert len(await store.conversation("chat", Principal())) == 12
    assert [entry["type"] for entry in traces[0]] == [entry["type"] for entry in traces[1]]
    assert len(traces[0]) == 4
