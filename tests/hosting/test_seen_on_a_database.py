"""Whoever has to decide at the command line sees what they decide, and only what fits counts; on a database."""

import pytest

from tests.durable.durable_project import counting
from tests.durable.processes import Ended


@pytest.fixture
def tuvl(run, shared_site):
    """Run a command on the project and the database of the test."""
    (shared_site.folder / "ann.yaml").write_text("id: ann\ngroups: [finance]\n")
    (shared_site.folder / "pay.yaml").write_text("verdict: pay\n")

    def tuvl(*words: str, kill: str | None = None) -> Ended:
        environ = {"TUVL_DATABASE_URL": shared_site.url}
        return run.tuvl(*words, cwd=shared_site.folder, kill=kill, environ=environ)

    return tuvl


def test_a_question_is_shown_whole_with_the_command_and_what_does_not_fit_changes_nothing(tuvl, shared_site):
    asked = tuvl("run", "pay", "--set", "sum=7")
    run_id = asked.document["run_id"]
    command = f"tuvl resume {run_id} --answer FILE --principal FILE"
    assert f"next: {command}" in asked.err
    whole = tuvl("runs", "show", run_id).out.splitlines()
    for line in ("asks        Pay 7 EUR?", "shown       sum: 7", "field       verdict: required, choice of pay, leave"):
        assert line in whole
    assert whole[-1] == f"next        {command}"

    flow = shared_site.folder / "workflows" / "pay.yaml"
    flow.write_text(flow.read_text(encoding="utf-8").replace("Pay {{", "Really pay {{"), encoding="utf-8")
    answer = ("--answer", "pay.yaml", "--principal", "ann.yaml")
    for words in (
        ("approve", run_id),
        ("resume", run_id, "--outcome", "failed", *answer),
        ("resume", run_id, "--outcome", "done", *answer, "--on-new-definition"),
    ):
        refused = tuvl(*words)
        assert (refused.code, refused.out) == (2, "")
        assert "does not fit" in refused.err
    again = tuvl("resume", run_id)
    assert (again.code, again.document["error"]["detail"]["asked"]["title"]) == (3, "Pay 7 EUR?")
    assert f"next: {command}" in again.err


def test_an_approval_and_an_outcome_are_shown_with_the_call_and_take_only_their_own_answers(tuvl, shared_site):
    flow = shared_site.folder / "workflows" / "w.yaml"
    text = flow.read_text(encoding="utf-8")
    flow.write_text(text.replace("- ref: pay\n", "- ref: pay\n            approval: required\n"), encoding="utf-8")
    with counting() as (port, counted):
        waiting = tuvl("run", "w", "--durable", "--set", f"origin={port}", "--set", "case=x")
        run_id = waiting.document["run_id"]
        assert f"next: tuvl approve {run_id}, or with --deny" in waiting.err
        whole = tuvl("runs", "show", run_id).out
        assert "wants to call the tool 'pay' with" in whole
        assert '"n": 1' in whole
        assert tuvl("resume", run_id, "--outcome", "retry").code == 2
        assert tuvl("resume", run_id, "--answer", "pay.yaml").code == 2

        assert tuvl("approve", run_id, kill="after agent#1/tool.pay.c1#1/end!1").code == -9
        unknown = tuvl("resume", run_id)
        assert f"next: tuvl resume {run_id} --outcome done|retry|failed" in unknown.err
        whole = tuvl("runs", "show", run_id).out
        assert '"n": 1' in whole
        assert "/x/pay1" in whole
        assert tuvl("approve", run_id).code == 2
        assert tuvl("resume", run_id, "--outcome", "retry", "--answer", "pay.yaml").code == 2
        assert counted.counts["/x/pay1"] == 0
