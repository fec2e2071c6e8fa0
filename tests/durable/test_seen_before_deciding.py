"""Whoever has to decide at the command line sees what they decide, and only what fits counts; for runs in files."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from tests.durable.test_crash_matrix import run_of
from tests.durable.test_durable_approvals import approving
from tests.durable.test_going_on import answer, asking, lost, start
from tests.durable.test_record import Rows, value
from tuvl.durable.record import DurableJournal
from tuvl.journal import Effect, Suspended


def shown(run, folder, run_id: str) -> list[str]:
    found = run.tuvl("runs", "show", run_id, cwd=folder)
    assert found.code == 0, found.err
    return found.out.splitlines()


def test_a_question_is_shown_whole_and_each_command_that_ends_with_it_says_how_it_is_answered(tmp_path, run):
    run_id = asking(tmp_path, run)
    command = f"tuvl resume {run_id} --answer FILE --principal FILE"
    whole = shown(run, tmp_path, run_id)
    for line in (
        "for         group finance, and not 'me', who has asked for it",
        "asks        Pay 7?",
        "shown       sum: 7",
        "field       verdict: required, choice of yes_pay, no",
        "field       note: optional, text",
    ):
        assert line in whole
    assert whole[-1] == f"next        {command}"
    assert not any(line.startswith("error") for line in whole)
    again = run.tuvl("resume", run_id, cwd=tmp_path)
    assert f"next: {command} (tuvl runs show {run_id} says all that is asked)" in again.err
    assert "next:" not in run.tuvl("resume", run_id, "--events", "none", cwd=tmp_path).err
    assert len(run.tuvl("runs", "list", "--waiting", cwd=tmp_path).out.splitlines()) == 1


def test_who_approves_sees_the_whole_call_before(tmp_path, run, server):
    approving(tmp_path)
    waiting = start(tmp_path, run, server[0])
    run_id = run_of(tmp_path)
    assert f"next: tuvl approve {run_id}, or with --deny" in waiting.err
    whole = shown(run, tmp_path, run_id)
    at = whole.index("asks        Step 'agent' wants to call the tool 'pay' with")
    assert [line.strip() for line in whole[at + 1 : at + 4]] == ["{", '"n": 1', "}"]
    assert "Asked because" in whole[at + 4]
    assert whole[-1] == f"next        tuvl approve {run_id}, or with --deny"


@pytest.mark.parametrize(
    ("at", "known"),
    [
        ("after plain#1/end!1", ['"method": "POST",', '"body": "{}"']),
        ("after agent#1/tool.pay.c1#1/end!1", ['"n": 1', '"method": "POST",']),
    ],
)
def test_who_says_what_became_of_a_step_sees_what_it_was_begun_with(at, known, tmp_path, run, server):
    run_id = lost(tmp_path, run, server[0], at)
    waiting = run.tuvl("resume", run_id, cwd=tmp_path)
    command = f"tuvl resume {run_id} --outcome done|retry|failed"
    assert f"next: {command}" in waiting.err
    whole = shown(run, tmp_path, run_id)
    assert [line for line in known if line not in map(str.strip, whole)] == []
    assert "            it was begun with" in whole
    assert whole[-1] == f"next        {command}"


def test_what_a_step_would_ask_for_by_now_is_not_told_as_what_it_was_begun_with():
    rows = Rows()
    begun = Effect(
        step="pay", kind="APICall", repeatable=False, request="one", told=lambda: {"url": "https://one.example/"}
    )

    async def asked_of(now: Effect) -> dict[str, Any]:
        with pytest.raises(Suspended) as waiting:
            await DurableJournal(rows, dict(rows.kept)).record("end", lambda: value(1), effect=now)
        return dict(waiting.value.wait.asked)

    async def play() -> None:
        async def killed() -> Any:
            raise asyncio.CancelledError

        with pytest.raises(asyncio.CancelledError):
            await DurableJournal(rows, {}).record("end", killed, effect=begun)
        assert await asked_of(begun) == {"request": {"url": "https://one.example/"}}
        other = replace(begun, request="two", told=lambda: {"url": "https://two.example/"})
        assert await asked_of(other) == {"request_now": {"url": "https://two.example/"}}

    asyncio.run(play())


def test_an_answer_is_no_approval_and_no_approval_is_an_outcome(tmp_path, run, server):
    port, counted = server
    approving(tmp_path)
    assert start(tmp_path, run, port).code == 3
    run_id = run_of(tmp_path)
    for words in (("--answer", answer(tmp_path, n=1)), ("--outcome", "done"), ("--outcome", "retry")):
        refused = run.tuvl("resume", run_id, *words, cwd=tmp_path)
        assert (refused.code, refused.out) == (2, "")
        assert f"tuvl approve {run_id}" in refused.err
    assert run.tuvl("approve", run_id, cwd=tmp_path, kill="after agent#1/tool.pay.c1#1/end!1").code == -9
    assert run.tuvl("resume", run_id, cwd=tmp_path).code == 3
    for words in (("approve", run_id), ("resume", run_id, "--outcome", "failed", "--answer", "answer.json")):
        refused = run.tuvl(*words, cwd=tmp_path)
        assert (refused.code, refused.out) == (2, "")
        assert "--outcome done" in refused.err
    assert counted.counts["/x/pay1"] == 0
