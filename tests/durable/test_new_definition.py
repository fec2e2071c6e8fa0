"""A run that goes on with other files: what it has begun and asked for was begun and asked by the old ones."""

import pytest

from tests.durable.test_crash_matrix import run_of
from tests.durable.test_kills import begun, http, project
from tests.durable.test_record import Rows
from tests.engine.run_support import Project
from tuvl.durable.record import DurableJournal
from tuvl.hosting.performing import rehearsed
from tuvl.hosting.started import Started
from tuvl.principal import Principal

KEYED = ', idempotency_key: "OLD"'


def edit(folder, old, new):
    file = folder / "workflows" / "w.yaml"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.parametrize(
    ("more", "old", "new"),
    [
        (KEYED, '"OLD"', '"NEW"'),
        (KEYED, "/pay", "/elsewhere"),
        (KEYED, "json: {}", "json: { sum: 9 }"),
        (KEYED, "{ id: pay,", "{ id: paid,"),
        (KEYED, KEYED, ", effects: read"),
        ("", "output_key: pay }", 'output_key: pay }, idempotency_key: "ADDED"'),
        ("", "output_key: pay }", "output_key: pay }, effects: read"),
        ("", "/pay", "/elsewhere"),
        ("", "json: {}", "json: { to: mallory }"),
        ("", "method: POST", "method: PUT"),
        ("", "{ id: pay,", "{ id: paid,"),
    ],
    ids=[
        *(
            "6 another key",
            "another address",
            "another body",
            "another step",
            "a read now",
            "6b key added",
            "6c a read",
        ),
        *("no key, another address", "no key, another body", "no key, another method", "no key, another step"),
    ],
)
def test_a_write_whose_end_is_unknown_is_not_repeated_on_the_word_of_a_newer_file(
    more, old, new, tmp_path, run, server
):
    port, counted = server
    project(tmp_path, "  steps:\n" + http("pay", "pay", more=more))
    begun(tmp_path, run, port, "before pay#1/end")
    assert counted.counts["/pay"] == 1
    edit(tmp_path, old, new)
    refused = run.tuvl("resume", run_of(tmp_path), "--on-new-definition", cwd=tmp_path)
    assert refused.code == 2, refused.err
    assert "part from its record at 'pay#1/end!1'" in refused.err
    assert sum(counted.counts.values()) == 1


def test_what_a_person_has_said_to_repeat_is_what_was_begun_and_not_what_a_newer_file_says(tmp_path, run, server):
    port, counted = server
    project(tmp_path, "  steps:\n" + http("pay", "pay"))
    begun(tmp_path, run, port, "before pay#1/end")
    run_id = run_of(tmp_path)
    edit(tmp_path, "/pay", "/elsewhere")
    against = run.tuvl("replay", run_id, "--against", "w", cwd=tmp_path)
    assert (against.code, against.document["divergence"]["at"]) == (1, "pay#1/end!1"), against.err
    assert run.tuvl("resume", run_id, cwd=tmp_path).code == 3
    both = run.tuvl("resume", run_id, "--outcome", "retry", "--on-new-definition", cwd=tmp_path)
    assert both.code == 2, both.err
    killed = run.tuvl("resume", run_id, "--outcome", "retry", cwd=tmp_path, kill="after pay#1/end!1?")
    assert killed.code == -9, killed.err
    said = run.tuvl("resume", run_id, "--on-new-definition", cwd=tmp_path)
    assert said.code == 2, said.err
    assert "this is to be done again" in said.err
    done = run.tuvl("resume", run_id, cwd=tmp_path)
    assert done.code == 0, done.err
    assert dict(counted.counts) == {"/pay": 2}


def test_a_run_that_waits_for_a_person_waits_on_whatever_newer_files_say(tmp_path, run, server):
    """6c, after the question was asked."""
    port, counted = server
    project(tmp_path, "  steps:\n" + http("pay", "pay"))
    begun(tmp_path, run, port, "before pay#1/end")
    assert run.tuvl("resume", run_of(tmp_path), cwd=tmp_path).code == 3
    edit(tmp_path, "output_key: pay }", "output_key: pay }, effects: read")
    assert run.tuvl("resume", run_of(tmp_path), "--on-new-definition", cwd=tmp_path).code == 2
    assert run.tuvl("resume", run_of(tmp_path), cwd=tmp_path).code == 3
    assert counted.counts["/pay"] == 1


def test_a_keyed_write_goes_on_with_a_newer_file_that_asks_for_the_same(tmp_path, run, server):
    port, counted = server
    project(tmp_path, "  steps:\n" + http("pay", "pay", more=KEYED) + http("after", "after"))
    begun(tmp_path, run, port, "before pay#1/end")
    edit(tmp_path, "/after", "/later")
    done = run.tuvl("resume", run_of(tmp_path), "--on-new-definition", cwd=tmp_path)
    assert done.code == 0, done.err
    assert (counted.counts["/pay"], counted.counts["/later"], counted.keys["/pay"]) == (2, 1, {"OLD"})


@pytest.mark.parametrize(
    ("old", "new"),
    [("/pay", "/elsewhere"), ("method: POST", "method: PUT"), ("json: {}", "json: { sum: 9 }"), ('"OLD"', '"NEW"')],
    ids=["address", "method", "body", "key"],
)
def test_a_recorded_call_that_would_ask_for_something_else_is_where_the_files_part(old, new, tmp_path, run, server):
    port, counted = server
    project(tmp_path, "  steps:\n" + http("pay", "pay", more=KEYED) + http("rest", "rest", method="GET"))
    assert begun(tmp_path, run, port).code == 0
    same = run.tuvl("replay", run_of(tmp_path), "--against", "w", cwd=tmp_path)
    assert (same.code, same.document["divergence"]) == (0, None)
    edit(tmp_path, old, new)
    other = run.tuvl("replay", run_of(tmp_path), "--against", "w", cwd=tmp_path)
    assert other.code == 1, other.err
    assert other.document["divergence"]["at"] == "pay#1/end"
    assert "idempotency key" in other.document["divergence"]["why"]
    assert counted.counts["/pay"] == 1


def test_a_read_that_would_ask_another_address_is_told_too(tmp_path, run, server):
    project(tmp_path, "  steps:\n" + http("rest", "rest", method="GET"))
    assert begun(tmp_path, run, server[0]).code == 0
    edit(tmp_path, "/rest", "/other")
    other = run.tuvl("replay", run_of(tmp_path), "--against", "w", cwd=tmp_path)
    assert other.document["divergence"]["at"] == "rest#1/end"


def test_of_several_newer_files_the_last_ones_count(tmp_path, run, server):
    port, counted = server
    project(tmp_path, "  steps:\n" + http("pay", "pay") + http("rest", "rest", method="GET") + http("more", "more"))
    begun(tmp_path, run, port, "before rest#1/end")
    for old, new in (("more", "a"), ("a", "b"), ("b", "c")):
        edit(tmp_path, f"/{old}", f"/{new}")
        ended = run.tuvl(
            "resume",
            run_of(tmp_path),
            "--on-new-definition",
            cwd=tmp_path,
            kill="before rest#1/end" if new != "c" else None,
        )
        assert ended.code == (0 if new == "c" else -9), ended.err
    assert dict(counted.counts) == {"/pay": 1, "/rest": 4, "/c": 1}


def test_a_step_may_be_called_as_the_entries_that_name_the_files(tmp_path, run, server):
    port, counted = server
    project(tmp_path, "  steps:\n" + http("definition", "pay") + http("rest", "rest", method="GET"))
    begun(tmp_path, run, port, "before rest#1/end")
    edit(tmp_path, "/rest", "/other")
    replayed = run.tuvl("replay", run_of(tmp_path), cwd=tmp_path)
    assert (replayed.code, replayed.document["divergence"]) == (0, None)
    done = run.tuvl("resume", run_of(tmp_path), "--on-new-definition", cwd=tmp_path)
    assert done.code == 0, done.err
    assert dict(counted.counts) == {"/pay": 1, "/rest": 1, "/other": 1}


async def test_a_record_is_gone_through_whole_however_much_of_its_time_the_run_had_taken(tmp_path):
    steps = (
        "- { id: first, kind: Functional, runner: wait, seconds: 0.001 }\n- { id: last, kind: Response, source: n }\n"
    )
    flow, rows = Project(tmp_path, steps, limits={"timeout_s": 3600}), Rows()
    engine = flow.engine()
    try:
        await engine.run(flow.plan(), {"n": 1}, journal=DurableJournal(rows, {}), run_id="r1")
        assert "first#1/end" in rows.kept
        rows.kept["first#1/end"]["t"] = 3600.0
        begun = Started(
            workflow="flow",
            definition="",
            input={"n": 1},
            models={},
            principal=Principal(),
            timeout_s=None,
            trace=False,
        )
        found = await rehearsed(engine, flow.plan(), begun, "r1", rows.kept)
    finally:
        await engine.aclose()
    assert (found.divergence, found.steps) == (None, ("first", "last"))
