"""Databases that cannot be opened: told by name, place and next step, and before work is paid for."""

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Thread, current_thread

import pytest

from tests.cli.cli_support import environment, tuvl, write
from tests.sql.conftest import Database
from tests.sql.records_support import Records, add, failure, op
from tests.sql.test_run_records import kept
from tuvl.data.location import _DRIVERS
from tuvl.errors import ConfigError
from tuvl.settings import DATABASE_SCHEMES, Settings, load_settings


def _no_folder(root: Path) -> tuple[Path, str]:
    return root / "nowhere" / "x.db", "there is no folder"


def _a_folder(root: Path) -> tuple[Path, str]:
    (root / "x.db").mkdir()
    return root / "x.db", "it is a folder; remove or rename it"


def _no_database(root: Path) -> tuple[Path, str]:
    (root / "x.db").write_bytes(b"these are words, and no database at all" * 40)
    return root / "x.db", "it is no SQLite database, or it is damaged"


UNUSABLE = pytest.mark.parametrize("make", [_no_folder, _a_folder, _no_database])
Make = Callable[[Path], tuple[Path, str]]


@UNUSABLE
async def test_a_data_source_that_cannot_be_opened_is_told_by_its_name_its_file_and_the_next_step(
    make: Make, tmp_path: Path
) -> None:
    file, why = make(tmp_path)
    project = Records(tmp_path / "p", Database("sqlite", str(file))).customers().steps(op("all", "list"))
    found, message = failure(await project.run())
    assert found == "database_unreachable"
    assert message.startswith(f"data source 'main': the SQLite file {str(file)!r} cannot be opened: {why}")
    assert message.endswith(f"change 'spec.connection' in {tmp_path / 'p' / 'datasources' / 'main.yaml'}")


ASKS = """
from sqlalchemy import text
from tuvl import node

@node("ask")
async def ask(ctx):
    await ctx.session.execute(text("SELECT 1"))
"""


async def test_a_node_whose_database_cannot_be_opened_fails_in_the_same_words(tmp_path: Path) -> None:
    project = Records(tmp_path, Database("sqlite", "nowhere/x.db")).node(ASKS)
    project.steps({"id": "ask", "kind": "Functional", "runner": "ask"})
    found, message = failure(await project.run())
    assert found == "database_unreachable"
    assert message.startswith("data source 'main': the SQLite file")
    assert "sqlalche" not in message


@pytest.mark.parametrize(
    ("query", "why"), [("/nosuchdb", "it has no database of that name"), (None, "no such file or directory")]
)
async def test_a_server_that_says_no_is_told_by_its_place_and_what_it_said(
    query: str | None, why: str, postgres_url: str, tmp_path: Path
) -> None:
    head, _, options = postgres_url.partition("?")
    url = f"{head.rpartition('/')[0]}{query}?{options}" if query else f"postgresql://u:secret-word@/db?host={tmp_path}"
    project = Records(tmp_path, Database("postgresql", "${DB}")).customers().steps(op("all", "list"))
    project.environ = {"DB": url}
    found, message = failure(await project.run())
    assert found == "database_unreachable"
    assert message.startswith("data source 'main': PostgreSQL at /")
    assert why in message
    assert "secret-word" not in message


async def test_the_threads_of_sqlite_have_ended_when_an_engine_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they still have to report would otherwise meet an event loop that is closed, with a traceback."""
    opening: list[Thread] = []

    class Watched(sqlite3.Connection):
        def __init__(self, *args: object, **options: object) -> None:
            opening.append(current_thread())
            super().__init__(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(sqlite3, "Connection", Watched)
    bad = Records(tmp_path / "bad", Database("sqlite", "nowhere/x.db")).customers().steps(op("all", "list"))
    good = Records(tmp_path / "good").customers().steps(add("first", email="x"))
    assert (await bad.run()).status == "failed"
    assert (await good.run()).status == "completed"
    assert len(opening) >= 2
    assert [thread for thread in opening if thread.is_alive()] == []


async def test_a_transaction_held_by_somebody_else_is_no_database_that_cannot_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tuvl.data.engines.BUSY_TIMEOUT_S", 0.01)
    holder = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    holder.execute("CREATE TABLE t (a)")
    holder.execute("BEGIN EXCLUSIVE")
    try:
        project = Records(tmp_path / "p", Database("sqlite", str(tmp_path / "x.db"))).customers()
        found, message = failure(await project.steps(op("all", "list")).run())
    finally:
        holder.close()
    assert found == "database_busy"
    assert "data source 'main'" in message


# ---- the store of runs ----------------------------------------------------------------------------------------------


@UNUSABLE
async def test_a_store_of_runs_that_cannot_be_opened_ends_the_run_before_its_first_model_call(
    make: Make, tmp_path: Path
) -> None:
    file, why = make(tmp_path)
    project = kept(tmp_path / "p", Database("sqlite", ""), audit=True)
    project.settings = replace(Settings(), database_url=f"sqlite:///{file}")
    with pytest.raises(ConfigError, match=r"^the store of runs: the SQLite file .*, or change TUVL_DATABASE_URL$") as e:
        await project.run()
    assert why in str(e.value)


async def test_a_store_needed_by_an_inner_workflow_alone_is_looked_at_before_the_first_step(tmp_path: Path) -> None:
    project = kept(tmp_path, Database("sqlite", ""), audit=True)
    inner = (tmp_path / "workflows" / "flow.yaml").read_text(encoding="utf-8").replace('"flow"', '"inner"')
    (tmp_path / "workflows" / "inner.yaml").write_text(inner, encoding="utf-8")
    project.workflow("- { id: in, kind: Workflow, workflow: inner, output_key: out }")
    project.settings = replace(Settings(), database_url=f"sqlite:///{tmp_path / 'nowhere' / 'x.db'}")
    with pytest.raises(ConfigError, match="the store of runs"):
        await project.run()


async def test_a_run_that_keeps_nothing_needs_no_store(tmp_path: Path) -> None:
    project = Records(tmp_path).steps({"id": "a", "kind": "Functional", "runner": "set", "values": {"x": 1}})
    project.settings = replace(Settings(), database_url=f"sqlite:///{tmp_path / 'nowhere' / 'x.db'}")
    assert (await project.run()).status == "completed"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("garbage", "TUVL_DATABASE_URL: this is no URL; unset it"),
        ("mysql://root:secret-word@a", "TUVL_DATABASE_URL: 'mysql' is no database tuvl knows; unset it"),
        ("://", "TUVL_DATABASE_URL: this is no URL; unset it"),
    ],
)
def test_a_database_url_of_another_kind_is_refused_with_the_settings(given: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings({"TUVL_DATABASE_URL": given})
    assert str(caught.value).startswith(said)
    assert "secret-word" not in str(caught.value)


def test_the_settings_and_the_databases_know_the_same_urls() -> None:
    assert set(_DRIVERS) == set(DATABASE_SCHEMES)


def test_runs_list_says_that_the_store_cannot_be_read(tmp_path: Path) -> None:
    write(tmp_path, {"tuvl.yaml": "kind: ProjectConfig\nspec: {}\n"})
    (tmp_path / ".tuvl" / "runs.db").mkdir(parents=True)
    done = tuvl("runs", "list", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tuvl: the store of runs: the SQLite file")
    assert done.stderr.rstrip().endswith("it is a folder; remove or rename it, or set TUVL_DATABASE_URL")


def test_a_bad_database_url_ends_every_command_that_reads_it_with_exit_code_2(tmp_path: Path) -> None:
    write(tmp_path, {"tuvl.yaml": "kind: ProjectConfig\nspec: {}\n"})
    environ = environment(TUVL_DATABASE_URL="garbage")
    done = tuvl("runs", "list", cwd=tmp_path, environ=environ)
    assert done.returncode == 2
    assert done.stderr.startswith("tuvl: TUVL_DATABASE_URL: this is no URL")


async def test_a_store_on_a_server_that_cannot_be_reached_is_told_without_its_password(tmp_path: Path) -> None:
    project = kept(tmp_path, Database("sqlite", ""), audit=True)
    project.settings = replace(Settings(), database_url=f"postgresql://u:hidden-word@/db?host={tmp_path}")
    with pytest.raises(ConfigError, match=r"^the store of runs: PostgreSQL at .*, or change TUVL_DATABASE_URL$") as e:
        await project.run()
    assert "hidden-word" not in str(e.value)
