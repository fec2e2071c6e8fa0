"""Each step and each tool call is its own transaction, in a session of its own, on both databases."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sql.conftest import Database
from tests.sql.records_support import Records, add, failure, op
from tuvl.engine.result import RunResult
from tuvl.values import JsonObject


def agent(*tools: str, **fields: object) -> dict[str, object]:
    body = {"model": "default", "steering": "Work.", "tools": [{"ref": t, "description": t} for t in tools], **fields}
    return {"id": "agent", "kind": "Agent", "mode": "autonomous", "agent": body}


def node(id: str, runner: str, **fields: object) -> dict[str, object]:
    return {"id": id, "kind": "Functional", "runner": runner, **fields}


def calls(*names: str, **arguments: object) -> JsonObject:
    return {"tool_calls": [{"name": name, "arguments": dict(arguments)} for name in names]}


def observations(result: RunResult) -> list[str]:
    return [str(entry["content"]) for entry in result.trace or () if entry["type"] == "tool_result"]


WRITER = """
from sqlalchemy import text
from tuvl import node

INSERT = text("INSERT INTO customers (email) VALUES (:email)")
COUNT = text("SELECT count(*) FROM customers")

@node("write_async")
async def write_async(ctx):
    await ctx.session.execute(INSERT, {"email": "from async"})
    return {"seen": await ctx.session.scalar(COUNT)}, ctx.params.get("signal", "default")

@node("write_sync")
def write_sync(ctx):
    ctx.session.execute(INSERT, {"email": "from sync"})
    rows = [tuple(row) for row in ctx.session.execute(text("SELECT email FROM customers"))]
    assert ctx.session.scalars(text("SELECT email FROM customers")).all() == [row[0] for row in rows]
    if ctx.params.get("raises"):
        raise ValueError("no")
    return {"seen": ctx.session.scalar(COUNT)}

@node("commit")
async def commit(ctx):
    await ctx.session.commit()
"""


@pytest.mark.parametrize("runner", ["write_async", "write_sync"])
async def test_a_node_writes_in_the_transaction_of_its_step(runner: str, database: Database, tmp_path: Path) -> None:
    project = Records(tmp_path, database).customers()
    project.node(WRITER)
    project.steps(add("first", email="x"), node("write", runner), op("all", "list"))
    result = await project.run()
    assert result.status == "completed", result.error
    assert result.context["seen"] == 2
    assert len(result.context["all_result"]) == 2


@pytest.mark.parametrize(("runner", "params"), [("write_async", {"signal": "error"}), ("write_sync", {"raises": True})])
async def test_what_a_failed_step_wrote_is_undone(runner, params, database: Database, tmp_path: Path) -> None:
    project = Records(tmp_path, database).customers()
    project.node(WRITER)
    project.steps(
        add("first", email="x"), node("write", runner, params=params, routes={"error": "all"}), op("all", "list")
    )
    result = await project.run()
    assert result.error is not None
    assert result.error.step == "write"
    assert [row["email"] for row in result.context["all_result"]] == ["x"]


async def test_a_step_on_another_signal_than_error_is_kept(database: Database, tmp_path: Path) -> None:
    project = Records(tmp_path, database).customers()
    project.node(WRITER)
    project.steps(
        add("first", email="x"),
        node("write", "write_async", params={"signal": "odd"}, routes={"odd": "all"}),
        op("all", "list"),
    )
    assert len((await project.run()).context["all_result"]) == 2


async def test_a_node_cannot_commit_before_its_step_has_ended(tmp_path: Path) -> None:
    project = Records(tmp_path).customers()
    project.node(WRITER)
    project.steps(node("write", "commit"))
    found, message = failure(await project.run())
    assert found == "node_error"
    assert "committed by the engine when the step ends" in message


async def test_a_project_without_records_has_no_session(tmp_path: Path) -> None:
    project = Records(tmp_path)
    project.node(WRITER)
    project.steps(node("write", "write_async"))
    assert failure(await project.run()) == (
        "not_available",
        "ctx.session is not available: this project has no data source",
    )


async def test_of_several_data_sources_the_one_named_default_is_the_session(tmp_path: Path) -> None:
    project = Records(tmp_path).customers()
    project.source("one", type="sqlite", connection="one.db").source("two", type="sqlite", connection="two.db")
    project.node(
        'from tuvl import node\n@node("look")\nasync def look(ctx):\n    return {"at": str(ctx.session.bind.url)}\n'
    )
    project.steps(node("look", "look"))
    assert "name one of them 'default'" in failure(await project.run())[1]
    project.source("default", type="sqlite", connection="three.db")
    assert str((await project.run()).context["at"]).endswith("three.db")


SLOW = """
import asyncio
from sqlalchemy import text
from tuvl import node

sessions = []
arrived = asyncio.Event()

@node("meet", effects="read")
async def meet(ctx):
    sessions.append(ctx.session)
    await ctx.session.execute(text("SELECT 1"))
    if len(sessions) == 2:
        arrived.set()
    async with asyncio.timeout(20):
        await arrived.wait()
    await ctx.session.execute(text("SELECT 2"))
    return {"sessions": len({id(session) for session in sessions})}
"""


async def test_tools_that_run_together_have_a_session_each(database: Database, tmp_path: Path) -> None:
    """G09: both are inside a transaction at the same moment, and neither meets the other's."""
    project = Records(tmp_path, database).customers()
    project.node(SLOW)
    project.model(calls("meet", "meet"), "done")
    project.steps(agent("meet", tool_concurrency=2), node("meet", "meet"))
    result = await project.run(trace=True)
    assert result.status == "completed", result.error
    assert observations(result) == ['{"sessions":2}', '{"sessions":2}']


async def test_records_are_read_and_written_by_many_tools_of_one_turn(database: Database, tmp_path: Path) -> None:
    """G09: reads run together, writes one after the other, and nothing is lost."""
    project = Records(tmp_path, database).customers()
    wanted: list[object] = []
    for number in range(6):
        wanted += [
            {"name": "add", "arguments": {"email": f"{number}@x"}},
            {"name": "find", "arguments": {"email": f"{number}@x"}},
        ]
    project.model({"tool_calls": wanted}, "done")
    project.steps(
        agent("add", "find", tool_concurrency=6),
        op("all", "list", order_by="email"),
        add("add", email="{{ email }}"),
        op("find", "list", filters={"email": "{{ email }}"}),
    )
    result = await project.run(trace=True)
    assert result.status == "completed", result.error
    assert [row["email"] for row in result.context["all_result"]] == [f"{number}@x" for number in range(6)]
    assert all('"error"' not in text for text in observations(result))


async def test_a_failed_tool_call_is_undone_and_the_others_are_kept(database: Database, tmp_path: Path) -> None:
    project = Records(tmp_path, database).customers()
    project.node(WRITER)
    project.model(
        {
            "tool_calls": [
                {"name": "add", "arguments": {"email": "a"}},
                {"name": "add", "arguments": {"email": "a"}},
                {"name": "write", "arguments": {}},
                {"name": "add", "arguments": {"email": "b"}},
            ]
        },
        "done",
    )
    project.steps(
        agent("add", "write"),
        op("all", "list", order_by="email"),
        add("add", email="{{ email }}"),
        node("write", "write_sync", params={"raises": True}),
    )
    result = await project.run(trace=True)
    assert result.status == "completed", result.error
    assert [row["email"] for row in result.context["all_result"]] == ["a", "b"]
    assert [('"error"' in text) for text in observations(result)] == [False, True, True, False]
    assert '"type":"constraint"' in observations(result)[1]


LOST = """
from sqlalchemy import text
from tuvl import node

@node("lose")
async def lose(ctx):
    await ctx.session.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))
"""


async def test_a_broken_session_ends_the_agent_under_any_policy(postgres_url: str, tmp_path: Path) -> None:
    project = Records(tmp_path, Database("postgresql", postgres_url)).customers()
    project.node(LOST)
    project.model(calls("lose"), "this reply is never asked for")
    project.steps(agent("lose", tool_error_policy="report"), node("lose", "lose"))
    result = await project.run()
    assert failure(result)[0] == "database_broken"
    assert result.usage.llm_calls == 1


async def test_a_database_that_cannot_be_reached_is_told_without_its_password(tmp_path: Path) -> None:
    project = Records(tmp_path, Database("postgresql", "${DB}")).customers()
    project.environ = {"DB": f"postgresql://u:secret-word@/db?host={tmp_path}"}
    project.steps(op("x", "list"))
    found, message = failure(await project.run())
    assert found == "database_unreachable"
    assert "secret-word" not in message


HANGS = """
import asyncio
from sqlalchemy import text
from tuvl import node

@node("hang")
async def hang(ctx):
    await ctx.session.execute(text("INSERT INTO customers (email) VALUES ('half')"))
    await asyncio.Event().wait()
"""


async def test_a_step_that_is_cut_off_keeps_nothing_and_frees_its_connection(database, tmp_path: Path) -> None:
    project = Records(tmp_path, database).customers()
    project.node(HANGS)
    project.steps(
        add("first", email="x"),
        node("hang", "hang", timeout_s=0.5, routes={"error": "more"}),
        add("more", email="y"),
        op("all", "list"),
    )
    async with asyncio.timeout(20):
        result = await project.run()
    assert [row["email"] for row in result.context["all_result"]] == ["x", "y"]


SLOW_STATEMENT = """
from sqlalchemy import text
from tuvl import node

@node("slow")
def slow(ctx):
    ctx.session.execute(text("INSERT INTO customers (email) VALUES ('half')"))
    ctx.session.execute(text("SELECT pg_sleep(600)"))
"""


async def test_a_thread_that_waits_for_the_database_is_cut_off_with_its_step(postgres_url, tmp_path: Path) -> None:
    project = Records(tmp_path).customers(datasource="one")
    pooling = {"size": 1, "max_overflow": 0, "timeout_s": 15}
    project.source("one", type="postgresql", connection=postgres_url, pooling=pooling)
    project.node(SLOW_STATEMENT)
    project.steps(
        add("first", email="x"),
        node("slow", "slow", timeout_s=0.5, routes={"error": "all"}),
        op("all", "list"),
    )
    async with asyncio.timeout(20):
        result = await project.run()
    # The one connection there is has come back, and what was written on it has not.
    assert [row["email"] for row in result.context["all_result"]] == ["x"]


OUTLIVES = """
import asyncio
from sqlalchemy import text
from tuvl import node

contexts = []

@node("leave")
async def leave(ctx):
    await ctx.session.execute(text("SELECT 1"))
    contexts.append((ctx, ctx.session))

@node("come_back")
async def come_back(ctx):
    earlier, session = contexts.pop()
    said = []
    for use in (lambda: earlier.session, lambda: session.execute(text("SELECT 1"))):
        try:
            made = use()
            if asyncio.iscoroutine(made):
                await made
        except Exception as error:
            said.append(str(error))
    return {"said": said}
"""


async def test_a_session_ends_with_its_step_for_good(tmp_path: Path) -> None:
    project = Records(tmp_path).customers()
    project.node(OUTLIVES)
    project.steps(node("leave", "leave"), node("back", "come_back"))
    first, second = (await project.run()).context["said"]
    assert first == "step 'leave' has ended; its database session with it"
    assert "closed" in second


async def test_two_runs_write_to_one_database_at_once(database: Database, tmp_path: Path) -> None:
    """Tables are made once, and a writer waits for the other one."""
    project = Records(tmp_path, database).customers()
    project.steps(*(add(f"a{number}", email=f"{{{{ who }}}}-{number}") for number in range(5)), op("all", "list"))
    engine = project.engine()
    try:
        plan = project.plan()
        results = await asyncio.gather(*(engine.run(plan, {"who": who}) for who in ("x", "y", "z")))
    finally:
        await engine.aclose()
    assert [result.status for result in results] == ["completed"] * 3
    assert max(len(result.context["all_result"]) for result in results) == 15


def test_a_run_without_records_does_not_import_sqlalchemy(tmp_path: Path) -> None:
    Records(tmp_path).workflow("- {id: a, kind: Functional, runner: set, values: {x: 1}}")
    script = (
        "import sys; from tuvl.__main__ import main\n"
        "code = main(['run', 'workflows/flow.yaml', '--events', 'none', '--output', 'out.json'])\n"
        "sys.exit(code or any(name in sys.modules for name in ('sqlalchemy', 'aiosqlite', 'asyncpg', 'sqlite3')))"
    )
    assert subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=False).returncode == 0
    assert not (tmp_path / ".tuvl").exists()


async def test_the_password_of_a_data_source_comes_from_the_environment(postgres_url: str, tmp_path: Path) -> None:
    folder = postgres_url.rpartition("host=")[2]
    name = postgres_url.removeprefix("postgresql://postgres@/").partition("?")[0]
    project = Records(tmp_path).customers(datasource="shop")
    parts = {"username": "postgres", "password": "${DB_PASSWORD:some-password}", "database": name}
    project.source("shop", type="postgresql", connection={**parts, "options": {"host": folder}})
    project.steps(op("x", "list"))
    assert (await project.run()).status == "completed"
    project.source("shop", type="postgresql", connection={**parts, "password": "${DB_PASSWORD}"})
    assert "DB_PASSWORD" in failure(await project.run())[1]


@pytest.mark.parametrize(
    ("type_", "connection", "said"),
    [
        ("sqlite", ":memory:", "name the file of the SQLite database"),
        ("sqlite", "postgresql://x/y", "no URL of a database of `type: sqlite`"),
        ("postgresql", "mysql://x/y", "'mysql' is no database tuvl knows"),
        ("postgresql", "nonsense", "no URL of a database"),
    ],
)
async def test_a_connection_that_means_nothing_is_told_with_its_place(type_, connection, said, tmp_path: Path) -> None:
    project = Records(tmp_path, Database(type_, connection)).customers().steps(op("x", "list"))
    found, message = failure(await project.run())
    assert found == "config"
    assert said in message
    assert "field 'spec.connection'" in message
