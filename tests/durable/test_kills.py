"""Killed while several things go on at once, or in the middle of one: what is on record is not done again."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.durable.durable_project import FILES
from tests.durable.test_crash_matrix import run_of

HEAD = """\
kind: Workflow
metadata: { name: w, description: Meet it. }
spec:
  input:
    type: object
    properties: { origin: { type: string } }
    required: [origin]
"""


def http(id: str, path: str, *, method: str = "POST", more: str = "") -> str:
    body = ", json: {}" if method == "POST" else ""
    url = f"http://127.0.0.1:{{{{ origin }}}}/{path}"
    return (
        f"    - {{ id: {id}, kind: APICall, description: It., "
        f'http: {{ url: "{url}", timeout: 120, method: {method}{body} }}, response: {{ output_key: {id} }}{more} }}\n'
    )


def project(folder: Path, spec: str, replies: object = (), **files: str) -> None:
    written = {"tuvl.yaml": FILES["tuvl.yaml"], "workflows/w.yaml": HEAD + spec, **files}
    if replies:
        model = {"kind": "AgentModel", "metadata": {"name": "m"}, "spec": {"provider": "scripted", "replies": replies}}
        written["llms/m.yaml"] = json.dumps(model)
    for name, text in written.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def begun(folder: Path, run, port: int, kill: str | None = None):
    ended = run.tuvl("run", "w", "--durable", "--set", f"origin={port}", cwd=folder, kill=kill)
    if kill is not None:
        assert ended.code == -9, ended.err
    return ended


def calls(*called: tuple[str, str]) -> dict:
    return {"tool_calls": [{"id": id, "name": name, "arguments": {}} for id, name in called]}


AGENT = """\
  steps:
    - id: agent
      kind: Agent
      mode: autonomous
      description: Do.
      agent:
        model: m
        steering: Do it.
        tool_concurrency: 4
        tools:
          - { ref: fast, parameters: { type: object, properties: {} } }
          - { ref: slow, parameters: { type: object, properties: {} } }
          - { ref: write, parameters: { type: object, properties: {} } }
"""


def arrived(counted, path: str) -> None:
    """Wait until somebody has asked for a path."""
    until = time.monotonic() + 60
    while not counted.counts[path]:
        assert time.monotonic() < until, f"nobody asked for {path}"
        time.sleep(0.01)


def test_of_parallel_tool_calls_those_that_had_finished_are_not_made_again(tmp_path, run, server):
    """`slow` is in flight when the process dies, `fast` is on record, and the write waits for its turn."""
    port, counted = server
    tools = http("fast", "fast", method="GET") + http("slow", "slow", method="GET") + http("write", "write")
    project(tmp_path, AGENT + tools, [calls(("c1", "slow"), ("c2", "fast"), ("c3", "write")), {"text": "done"}])
    counted.meanwhile["/slow"] = lambda: arrived(counted, "never") if counted.counts["/slow"] == 1 else None
    counted.meanwhile["/fast"] = lambda: arrived(counted, "/slow")
    begun(tmp_path, run, port, "after agent#1/tool.fast.c2#1/end")
    assert counted.counts["/slow"] == 1
    counted.counts["never"] = 1
    done = run.tuvl("resume", run_of(tmp_path), cwd=tmp_path)
    if done.code == 3:  # the write may have begun beside the read
        outcome = "done" if counted.counts["/write"] else "retry"
        done = run.tuvl("resume", run_of(tmp_path), "--outcome", outcome, cwd=tmp_path)
    assert done.code == 0, done.err
    assert (counted.counts["/fast"], counted.counts["/slow"], counted.counts["/write"]) == (1, 2, 1)
    assert done.document["usage"]["tool_calls"] == 3
    results = [entry["call_id"] for entry in done.document.get("trace") or []]
    assert results in ([], ["c1", "c2", "c3"])


EACH = """\
  steps:
    - { id: each, kind: ForEach, items: [0, 1, 2, 3], as: item, step: post, concurrency: 2, output_key: posted }
"""


def test_of_a_list_with_concurrency_each_item_is_settled_and_none_is_done_twice(tmp_path, run, server):
    """Two are in flight when the process dies: both are asked about, one after the other; the rest is done once."""
    port, counted = server
    project(tmp_path, EACH + http("post", "post{{ item }}"))
    counted.meanwhile["/post0"] = lambda: arrived(counted, "/post1")
    gone = threading.Event()
    counted.meanwhile["/post1"] = lambda: gone.wait(30)
    begun(tmp_path, run, port, "before each#1/[0]/end")
    gone.set()
    assert {path: counted.counts[path] for path in ("/post0", "/post1")} == {"/post0": 1, "/post1": 1}
    asked = []
    done = run.tuvl("resume", run_of(tmp_path), cwd=tmp_path)
    while done.code == 3:
        asked.append(done.document["error"]["detail"]["wait"])
        done = run.tuvl("resume", run_of(tmp_path), "--outcome", "done", cwd=tmp_path)
    assert done.code == 0, done.err
    assert asked[0] == "each#1/[0]/end!1?"
    assert set(asked) <= {"each#1/[0]/end!1?", "each#1/[1]/end!1?"}, "waiting for a person cuts nothing else off"
    assert [counted.counts[f"/post{item}"] for item in range(4)] == [1, 1, 1, 1]


def test_killed_inside_a_workflow_inside_a_list_the_rest_goes_on(tmp_path, run, server):
    port, counted = server
    spec = """\
  steps:
    - { id: each, kind: ForEach, items: [0, 1], as: item, step: inside, output_key: found }
    - id: inside
      kind: Workflow
      workflow: inner
      description: In.
      input: { origin: "{{ origin }}", n: "{{ item }}" }
"""
    inner = HEAD.replace("name: w", "name: inner").replace(
        "origin: { type: string }", "origin: { type: string }, n: { type: integer }"
    )
    inner += "  steps:\n" + http("one", "one{{ n }}") + http("two", "two{{ n }}")
    project(tmp_path, spec, **{"workflows/inner.yaml": inner})
    begun(tmp_path, run, port, "after each#1/[1]/one#1/end")
    done = run.tuvl("resume", run_of(tmp_path), cwd=tmp_path)
    assert done.code == 0, done.err
    assert dict(counted.counts) == {"/one0": 1, "/two0": 1, "/one1": 1, "/two1": 1}


MOMENTS = ("before", "after") if os.environ.get("TUVL_SOAK") else ("before",)

LONG = "word " * 400


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_during_compaction_the_summary_is_made_once_it_is_on_record(moment, tmp_path, run, server):
    port, counted = server
    compaction = "        compaction: { max_tokens: 1200, reserve: 100, recent_tail: 2, model: short }\n"
    replies = [{"text": LONG, **calls(("c1", "write"))}, {"text": LONG, **calls(("c2", "fast"))}, {"text": "done"}]
    short = {
        "kind": "AgentModel",
        "metadata": {"name": "short"},
        "spec": {"provider": "scripted", "replies": ["It was done.", "All of it was done."]},
    }
    tools = http("fast", "fast", method="GET") + http("slow", "slow", method="GET") + http("write", "write")
    project(tmp_path, AGENT + compaction + tools, replies, **{"llms/short.yaml": json.dumps(short)})
    begun(tmp_path, run, port, f"{moment} agent#1/turn.short#1")
    done = run.tuvl("resume", run_of(tmp_path), cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.document["context"]["agent_result"] == "done"
    assert (counted.counts["/write"], counted.counts["/fast"]) == (1, 1)
    turns = sum(name.startswith("agent#1/turn.") for name in rows(tmp_path))
    assert done.document["usage"]["llm_calls"] == turns


def rows(folder: Path) -> list[str]:
    import sqlite3

    with sqlite3.connect(folder / ".tuvl" / "runs" / f"{run_of(folder)}.sqlite") as database:
        found = database.execute("SELECT function_name FROM operation_outputs ORDER BY function_id").fetchall()
    return [name for (name,) in found]


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_while_a_judge_is_asked_its_verdict_counts_once_it_is_on_record(moment, tmp_path, run, server):
    port, counted = server
    judge = {
        "kind": "AgentModel",
        "metadata": {"name": "judge"},
        "spec": {"provider": "scripted", "replies": ['{"pass": true}', '{"pass": true}']},
    }
    guard = """\
kind: Artifact
metadata: { name: fine, description: Looks. }
spec: { type: guardrail, checks: [{ check: llm_judge, model: judge, criteria: It is fine. }] }
"""
    project(
        tmp_path,
        AGENT + '        guardrails: { tools: ["artifact://fine@1"], output: ["artifact://fine@1"] }\n' + tools_of(),
        [calls(("c1", "write")), {"text": "done"}],
        **{"llms/judge.yaml": json.dumps(judge), "artifacts/fine.yaml": guard},
    )
    named = [name for name in judged(tmp_path / "whole", run, port, tmp_path) if "judge.judge" in name]
    counted.counts.clear()
    begun(tmp_path, run, port, f"{moment} {named[0]}")
    done = run.tuvl("resume", run_of(tmp_path), cwd=tmp_path)
    if done.code == 3:  # the result of a write is looked at before it is on record
        done = run.tuvl("resume", run_of(tmp_path), "--outcome", "done", cwd=tmp_path)
    assert done.code == 0, done.err
    assert counted.counts["/write"] == 1
    assert done.document["context"]["agent_result"] == "done"


def tools_of() -> str:
    return http("fast", "fast", method="GET") + http("slow", "slow", method="GET") + http("write", "write")


def judged(folder: Path, run, port: int, like: Path) -> list[str]:
    """The names of the rows of a run that nothing happens to."""
    import shutil

    shutil.copytree(like, folder, ignore=lambda _, names: {"whole", ".tuvl"} & set(names))
    ended = begun(folder, run, port)
    assert ended.code == 0, ended.err
    return rows(folder)


def test_killed_in_the_retry_of_a_step_it_is_asked_about_as_one(tmp_path, run, server):
    """A step and its attempts are one effect: whether the last attempt arrived, nobody knows."""
    port, counted = server
    counted.failing["/post"] = 1
    text = http("post", "post", more=", idempotency_key: once")
    text = text.replace("json: {} }", "json: {}, retry: { attempts: 3, backoff: 0.01 } }")
    project(tmp_path, "  steps:\n" + text + http("last", "last"))
    begun(tmp_path, run, port, "before post#1/end")
    attempts = counted.counts["/post"]
    done = run.tuvl("resume", run_of(tmp_path), cwd=tmp_path)
    assert done.code == 0, done.err
    assert attempts == 2
    assert counted.counts["/post"] == attempts + 1
    assert counted.keys["/post"] == {"once"}, "each attempt carries the key of the step"
    assert counted.counts["/last"] == 1


def test_killed_with_a_hook_the_step_is_not_done_again_for_its_sake(tmp_path, run, server):
    port, counted = server
    hook = """\
kind: Artifact
metadata: { name: tell, description: Tells. }
spec: { type: hook, on: after_step, action: notify, target: tell }
"""
    hooks = '  hooks: ["artifact://tell@1"]\n'
    steps = http("one", "one") + http("two", "two", more=", routes: { default: END }") + http("tell", "tell")
    project(
        tmp_path,
        hooks + "  steps:\n" + steps,
        **{"artifacts/tell.yaml": hook},
    )
    begun(tmp_path, run, port, "after one#1/end")
    done = run.tuvl("resume", run_of(tmp_path), cwd=tmp_path)
    assert done.code == 0, done.err
    assert (counted.counts["/one"], counted.counts["/two"]) == (1, 1)


def test_killed_while_a_person_is_waited_for_the_question_is_still_the_same(tmp_path, run, server):
    """Whether the process dies before it says that it waits, or when the answer is there."""
    port, counted = server
    spec = """\
  steps:
    - id: sure
      kind: HumanInTheLoop
      ui: { title: Sure? }
      human_feedback: [{ name: verdict, type: boolean }]
      timeout_s: 600
      routes: { default: post, timeout: END }
"""
    project(tmp_path, spec + http("post", "post"))
    begun(tmp_path, run, port, "after sure#1/asked_at")
    waiting = run.tuvl("resume", run_of(tmp_path), cwd=tmp_path)
    assert waiting.code == 3, waiting.err
    (tmp_path / "yes.json").write_text('{"verdict": true}', encoding="utf-8")
    words = ("resume", run_of(tmp_path), "--answer", "yes.json")
    assert run.tuvl(*words, cwd=tmp_path, kill="before sure#1/answer").code == -9
    assert run.tuvl("resume", run_of(tmp_path), cwd=tmp_path).document["error"] == waiting.document["error"]
    assert run.tuvl(*words, cwd=tmp_path, kill="after sure#1/answer").code == -9
    done = run.tuvl("resume", run_of(tmp_path), cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.document["context"]["sure_result"] == {"verdict": True}
    assert counted.counts["/post"] == 1


@pytest.mark.parametrize("moment", ["before", "after"])
def test_killed_when_it_is_told_to_stop_it_obeys_once_that_is_on_record(moment, tmp_path, run, server):
    """`tuvl runs abort` in another process; the one that has the run dies as it hears of it."""
    port, counted = server
    project(tmp_path, "  steps:\n" + http("slow", "slow", method="GET") + http("post", "post"))

    def abort() -> None:
        if counted.counts["/slow"] == 1:
            words = ("runs", "abort", run_of(tmp_path), "--reason", "wrong customer", "--by", "ann")
            until = time.monotonic() + 60
            while subprocess.run([sys.executable, "-m", "tuvl", *words], cwd=tmp_path, capture_output=True).returncode:
                assert time.monotonic() < until
            arrived(counted, "killed")

    counted.meanwhile["/slow"] = abort
    begun(tmp_path, run, port, f"{moment} told.*")
    counted.counts["killed"] = 1
    done = run.tuvl("resume", run_of(tmp_path), cwd=tmp_path)
    if moment == "after":
        assert done.code == 4, done.err
        assert done.document["error"]["message"] == "aborted by ann: wrong customer"
        assert counted.counts["/post"] == 0
    else:
        # It was told, and is told again by whoever keeps what it was told; before the run is over, or too late.
        assert done.code in (0, 4), done.err
    assert counted.counts["/post"] <= 1


def test_of_two_processes_that_go_on_with_a_run_at_once_one_is_refused(tmp_path, run, server):
    port, counted = server
    project(tmp_path, "  steps:\n" + http("one", "one") + http("two", "two"))
    begun(tmp_path, run, port, "after one#1/end")
    counted.meanwhile["/two"] = lambda: arrived(counted, "refused")
    words = [sys.executable, "-m", "tuvl", "resume", run_of(tmp_path), "--events", "none"]
    first = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    arrived(counted, "/two")
    refused = run.tuvl("resume", run_of(tmp_path), cwd=tmp_path)
    counted.counts["refused"] = 1
    out, err = first.communicate(timeout=60)
    assert (first.returncode, json.loads(out)["status"]) == (0, "completed"), err
    assert refused.code == 2
    assert f"run '{run_of(tmp_path)}' goes on in another process" in refused.err
    assert refused.out == ""
    assert (counted.counts["/one"], counted.counts["/two"]) == (1, 1)
