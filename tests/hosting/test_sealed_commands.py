"""The commands with `TUVL_RECORD_KEY`: with the key as ever, and without it each of them says what is lacking."""

import json

import pytest

from tests.durable.durable_project import counting
from tests.hosting.test_sealed_runs import ONE, TWO


@pytest.fixture
def tuvl(run, site):
    (site.folder / "ann.yaml").write_text("id: ann\ngroups: [finance]\n")
    (site.folder / "pay.yaml").write_text("verdict: pay\n")

    def tuvl(*words: str, keys: str = ONE, kill: str | None = None):
        environ = {"TUVL_RECORD_KEY": keys} | ({} if site.url is None else {"TUVL_DATABASE_URL": site.url})
        return run.tuvl(*words, cwd=site.folder, environ=environ, kill=kill)

    return tuvl


def started(tuvl, *words: str):
    """Start a run; it is on record, whatever became of it."""
    ended = tuvl("run", *words, "--durable", "--events", "none")
    (one,) = json.loads(tuvl("runs", "list", "--format", "json").out)
    return ended, one["run_id"]


@pytest.mark.parametrize("others", ["", TWO])
def test_who_lacks_the_key_is_told_so_by_each_command_and_nothing_is_lost(others, tuvl):
    waiting, run_id = started(tuvl, "pay", "--set", "sum=4711")
    assert waiting.code == 3, waiting.err
    listed = tuvl("runs", "list", keys=others)
    assert listed.code == 0
    assert "suspended" in listed.out
    shown = tuvl("runs", "show", run_id, keys=others)
    assert "TUVL_RECORD_KEY" in shown.out
    assert "4711" not in listed.out + shown.out
    for words in (
        ("resume", run_id),
        ("resume", run_id, "--answer", "pay.yaml", "--principal", "ann.yaml"),
        ("replay", run_id),
        ("runs", "cancel", run_id),
        ("runs", "fork", run_id, "--at", "sure"),
    ):
        refused = tuvl(*words, keys=others)
        assert refused.code == 2, (words, refused.err)
        assert "TUVL_RECORD_KEY" in refused.err
        assert "Traceback" not in refused.err
    done = tuvl("resume", run_id, "--answer", "pay.yaml", "--principal", "ann.yaml", "--events", "none")
    assert done.code == 0, done.err
    assert done.document["context"]["paid"] == 4711


def test_with_the_key_a_lost_run_is_resumed_shown_replayed_and_forked(tuvl):
    with counting() as (port, counted):
        words = ("w", "--set", f"origin={port}", "--set", "case=x")
        lost = tuvl("run", *words, "--durable", kill="before agent#1/turn.m#2")
        assert lost.code == -9
        (one,) = json.loads(tuvl("runs", "list", "--format", "json").out)
        done = tuvl("resume", one["run_id"], "--events", "none")
        assert done.code == 0, done.err
        assert tuvl("resume", one["run_id"]).document == done.document
        shown = json.loads(tuvl("runs", "show", one["run_id"], "--format", "json").out)
        assert shown["result"]["context"] == done.document["context"]
        assert tuvl("runs", "trace", one["run_id"]).code == 0
        replayed = tuvl("replay", one["run_id"])
        assert (replayed.code, replayed.document["divergence"]) == (0, None), replayed.err
        forked = tuvl("runs", "fork", one["run_id"], "--at", "each", "--events", "none")
        assert forked.code == 0, forked.err
    assert counted.counts["/x/plain"] == 1
    assert counted.counts["/x/post7"] == 2
