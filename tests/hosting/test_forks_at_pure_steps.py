"""A fork at a step that only computes: what came before its first visit is kept, it and what follows is done anew."""

from collections.abc import Awaitable

import pytest

from tests.durable.durable_project import counting
from tests.durable.test_crash_matrix import run_of
from tests.durable.test_kills import begun, http, project
from tests.hosting.hosted_project import make_project
from tests.hosting.test_forks import CALL, INPUT, asked_in
from tuvl.errors import UsageError
from tuvl.hosting.host import Host
from tuvl.hosting.requests import AnswerRequest, StartRequest
from tuvl.principal import Principal

ANN, BOB = (Principal(id=name, groups=frozenset({"finance"})) for name in ("ann", "bob"))
LOOP = f"""\
kind: Workflow
metadata: {{ name: loop, description: Call twice. }}
spec:
  input:
    type: object
    properties: {{ origin: {{ type: string }}, n: {{ type: integer }} }}
    required: [origin, n]
  steps:
    - {{ id: count, kind: Functional, runner: set, values: {{ n: "{{{{ n + 1 }}}}" }} }}
    - id: call
      kind: APICall
      http: {{ url: "http://127.0.0.1:{{{{ origin }}}}/x/call{{{{ n }}}}", method: POST, json: {{}} }}
      routes: {{ error: never }}
    - id: pick
      kind: Router
      condition: {{ field: n, operator: lt, value: 2 }}
      routes: {{ "true": count, "false": last }}
    - {{ id: never, kind: Functional, runner: set, values: {{ never: true }} }}
    - {CALL.format("last")}
    - {{ id: told, kind: Response, source: n }}
"""
ROUTED = f"""\
kind: Workflow
metadata: {{ name: routed, description: Ask after a decision. }}
spec:
  input: {INPUT}
  steps:
    - {CALL.format("prep")}
    - {{ id: pick, kind: Router, match: {{ field: origin }}, routes: {{ default: sure }} }}
    - id: sure
      kind: HumanInTheLoop
      ui: {{ title: "Sure?" }}
      human_feedback: [{{ name: verdict, type: text }}]
    - {CALL.format("paid")}
"""


@pytest.fixture
def looping(site):
    for name, text in (("loop", LOOP), ("routed", ROUTED)):
        (site.folder / "workflows" / f"{name}.yaml").write_text(text, encoding="utf-8")
    return site


@pytest.mark.parametrize(
    ("at", "again"),
    [("count", ["call1", "call2", "last"]), ("pick", ["call2", "last"]), ("told", [])],
    ids=["the first step", "the first visit of several", "the last step"],
)
async def test_what_came_before_the_first_visit_is_kept_and_the_rest_is_done_anew(at, again, looping):
    with counting() as (port, counted):
        async with looping.host() as host:
            run_id = await _ended(host, host.start(StartRequest(workflow="loop", input={"origin": str(port), "n": 0})))
            assert dict(counted.counts) == {"/x/call1": 1, "/x/call2": 1, "/x/last": 1}
            fork = await _ended(host, host.fork(run_id, at, ANN))
            document = await host.result(fork)
    assert document is not None
    assert document["output"] == 2
    assert {name: counted.counts[f"/x/{name}"] for name in ("call1", "call2", "last")} == {
        name: 1 + (name in again) for name in ("call1", "call2", "last")
    }


@pytest.mark.parametrize(
    ("at", "said"),
    [
        ("never", "has not come to step 'never'.*; it came to count, call, pick, last, told"),
        ("pik", "has no step 'pik'.*did you mean 'pick'"),
        ("deep", "has no step 'deep'"),
    ],
)
async def test_a_step_that_the_run_has_not_come_to_is_told_and_nothing_is_begun(at, said, looping):
    with counting() as (port, counted):
        async with looping.host() as host:
            run_id = await _ended(host, host.start(StartRequest(workflow="loop", input={"origin": str(port), "n": 0})))
            with pytest.raises(UsageError, match=said):
                await host.fork(run_id, at, ANN)
            assert host.running == []
    assert sum(counted.counts.values()) == 3


async def test_a_run_that_waits_is_forked_at_a_decision_before_the_question_and_waits_on(looping):
    with counting() as (port, counted):
        async with looping.host() as host:
            run_id = await host.start(StartRequest(workflow="routed", input={"origin": str(port)}, principal=ANN))
            await asked_in(host, run_id)
            fork = await host.fork(run_id, "pick", BOB)
            for one in (fork, await host.fork(fork, "pick", BOB), run_id):
                waiting = await asked_in(host, one)
                answer = AnswerRequest(digest=waiting.digest, value={"verdict": "yes"}, by=BOB)
                await host.answer(one, answer)
                assert (await host.wait(one, 20) or {})["status"] == "completed"
    assert dict(counted.counts) == {"/x/prep": 1, "/x/paid": 3}


async def _ended(host: Host, started: Awaitable[str]) -> str:
    run_id = await started
    document = await host.wait(run_id, 20)
    assert document is not None
    assert document["status"] == "completed", document
    return run_id


@pytest.mark.parametrize("kind", ["file", "database"])
def test_the_command_forks_at_a_router_wherever_the_run_is_kept(kind, run, tmp_path, request):
    environ = {} if kind == "file" else {"TUVL_DATABASE_URL": request.getfixturevalue("postgres_url")}
    make_project(tmp_path)
    (tmp_path / "workflows" / "loop.yaml").write_text(LOOP, encoding="utf-8")

    def tuvl(*words):
        return run.tuvl(*words, cwd=tmp_path, environ=environ)

    with counting() as (port, counted):
        first = tuvl("run", "loop", "--durable", "--set", f"origin={port}", "--set", "n=0")
        assert first.code == 0, first.err
        forked = tuvl("runs", "fork", first.document["run_id"], "--at", "pick")
        assert forked.code == 0, forked.err
        assert forked.document["output"] == 2
        assert dict(counted.counts) == {"/x/call1": 1, "/x/call2": 2, "/x/last": 2}
        refused = tuvl("runs", "fork", first.document["run_id"], "--at", "never")
        assert (refused.code, refused.out) == (2, "")
        assert "the run has not come to step 'never'" in refused.err
        assert sum(counted.counts.values()) == 5


def test_a_fork_begins_at_a_step_that_was_in_flight_and_has_left_nothing_on_record(run, tmp_path):
    with counting() as (port, counted):
        project(tmp_path, "  steps:\n" + http("pay", "pay") + http("rest", "rest", method="GET") + http("more", "more"))
        begun(tmp_path, run, port, "before rest#1/end")
        forked = run.tuvl("runs", "fork", run_of(tmp_path), "--at", "rest", cwd=tmp_path)
        assert forked.code == 0, forked.err
        assert dict(counted.counts) == {"/pay": 1, "/rest": 2, "/more": 1}
