"""Calls of tools that need approval: each is asked about, made once, and refused where it is denied."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from tests.durable.durable_project import make_project
from tests.durable.test_crash_matrix import run_of
from tests.durable.test_going_on import start


def approving(folder: Path) -> None:
    make_project(folder)
    file = folder / "workflows" / "w.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("- ref: pay\n", "- ref: pay\n            approval: required\n"), encoding="utf-8")


def test_a_call_that_needs_approval_waits_for_it_and_runs_once(tmp_path, run, server):
    port, counted = server
    approving(tmp_path)
    waiting = start(tmp_path, run, port)
    assert waiting.code == 3, waiting.err
    assert waiting.document["error"]["detail"]["asked"]["arguments"] == {"n": 1}
    run_id = run_of(tmp_path)
    assert counted.counts["/x/pay1"] == 0
    second = run.tuvl("approve", run_id, cwd=tmp_path)  # which runs into the approval of the other call
    assert second.code == 3, second.err
    assert counted.counts["/x/pay1"] == 1
    assert second.document["error"]["detail"]["asked"]["arguments"] == {"n": 3}
    done = run.tuvl("approve", run_id, "--deny", "--note", "too much", cwd=tmp_path)
    assert done.code == 0, done.err
    assert (counted.counts["/x/pay1"], counted.counts["/x/pay3"]) == (1, 0)
    assert done.document["usage"]["llm_calls"] == 3


def test_a_second_approval_is_one_too_many_and_the_call_is_made_once(tmp_path, run, server):
    port, counted = server
    approving(tmp_path)
    assert start(tmp_path, run, port).code == 3
    run_id = run_of(tmp_path)
    assert run.tuvl("approve", run_id, cwd=tmp_path, kill="before agent#1/tool.pay.c1#1/end!1").code == -9
    # The first one is on record, so that a second one finds no question.
    again = run.tuvl("approve", run_id, cwd=tmp_path)
    assert again.code == 2, again.err
    assert "not known to wait for anything" in again.err
    again = run.tuvl("resume", run_id, cwd=tmp_path)
    assert again.code == 3, again.err
    assert counted.counts["/x/pay1"] == 1
    assert again.document["error"]["detail"]["asked"]["arguments"] == {"n": 3}


def test_two_approvals_at_once_count_once(tmp_path, run, server):
    port, counted = server
    approving(tmp_path)
    assert start(tmp_path, run, port).code == 3
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TUVL_", "OTEL_"))}
    words = [sys.executable, "-m", "tuvl", "approve", run_of(tmp_path), "--events", "none"]
    second = threading.Event()
    counted.meanwhile["/x/pay1"] = lambda: second.wait(60)  # whoever comes first has the run until the other has come
    both = [subprocess.Popen(words, cwd=tmp_path, env=kept, stdout=-3, stderr=-3) for _ in range(2)]
    while all(each.poll() is None for each in both):
        time.sleep(0.01)
    second.set()
    # The one that comes second finds no question any more, or that the run is being worked on.
    assert sorted(each.wait() for each in both) == [2, 3]
    assert counted.counts["/x/pay1"] == 1
