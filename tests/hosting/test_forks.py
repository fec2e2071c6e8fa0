"""A fork is a run of whoever forks: with the rights of that one, and with what people have said asked again."""

import asyncio
import time

import pytest
import sqlalchemy as sa

from tests.durable.durable_project import counting
from tuvl.durable.retention_state import RetentionState
from tuvl.errors import UsageError
from tuvl.hosting.host import Host
from tuvl.hosting.requests import AnswerRefused, AnswerRequest, NoSuchRun, StartRequest, WaitingRun
from tuvl.principal import ANY, Principal

ANN, BOB, CAY, DAVE = (Principal(id=name, groups=frozenset({"finance"})) for name in ("ann", "bob", "cay", "dave"))
OPERATOR = Principal(scopes=frozenset({ANY}))

YEAR = 365 * 86_400.0

CALL = (
    '{{ id: {0}, kind: APICall, http: {{ url: "http://127.0.0.1:{{{{ origin }}}}/x/{0}", method: POST, json: {{}} }} }}'
)
INPUT = "{ type: object, properties: { origin: { type: string } }, required: [origin] }"
ASK = """\
    - id: sure
      kind: HumanInTheLoop
      ui: { title: "Pay?" }
      human_feedback: [{ name: verdict, type: choice, choices: [pay, leave] }]
      signal_from: verdict
      auth: { required_group: finance }
      timeout_s: 3600
"""
FILES = {
    "asked": f"""\
kind: Workflow
metadata: {{ name: asked, description: Ask before paying. }}
spec:
  input: {INPUT}
  steps:
    - {CALL.format("prep")}
{ASK}      routes: {{ pay: between, leave: other, timeout: END }}
    - {CALL.format("other")[:-2]}, routes: {{ default: END }} }}
    - {CALL.format("between")}
    - {CALL.format("paid")}
""",
    "asks": f"""\
kind: Workflow
metadata: {{ name: asks, description: Ask. }}
spec:
  input: {INPUT}
  steps:
    - {CALL.format("inside")}
{ASK}      routes: {{ pay: END, leave: END, timeout: END }}
""",
    "outer": f"""\
kind: Workflow
metadata: {{ name: outer, description: Ask in another workflow. }}
spec:
  input: {INPUT}
  steps:
    - {{ id: ask, kind: Workflow, workflow: asks, input: {{ origin: "{{{{ origin }}}}" }}, output_key: said }}
    - {CALL.format("paid")}
""",
    "guarded": f"""\
kind: Workflow
metadata: {{ name: guarded, description: Pay., required_scope: refunds }}
spec:
  input: {INPUT}
  steps:
    - {CALL.format("paid")}
""",
}


@pytest.fixture
def asking(site):
    for name, text in FILES.items():
        (site.folder / "workflows" / f"{name}.yaml").write_text(text, encoding="utf-8")
    return site


async def asked_in(host: Host, run_id: str) -> WaitingRun:
    document = await host.wait(run_id, 20)
    assert document is not None
    assert document["status"] == "suspended", document
    (waiting,) = [one for one in await host.waits(OPERATOR) if one.run_id == run_id]
    return waiting


async def say(host: Host, run_id: str, verdict: str, by: Principal) -> None:
    waiting = await asked_in(host, run_id)
    await host.answer(run_id, AnswerRequest(digest=waiting.digest, value={"verdict": verdict}, by=by))


async def ended(host: Host, run_id: str) -> None:
    document = await host.wait(run_id, 20)
    assert document is not None
    assert document["status"] == "completed", document


@pytest.mark.parametrize(("workflow", "once"), [("asked", ("prep", "between")), ("outer", ("inside",))])
async def test_one_answer_of_a_person_is_good_for_one_run_and_a_fork_asks_again(asking, workflow, once):
    with counting() as (port, counted):
        async with asking.host() as host:
            run_id = await host.start(StartRequest(workflow=workflow, input={"origin": str(port)}, principal=ANN))
            await say(host, run_id, "pay", BOB)
            await ended(host, run_id)
            fork = await host.fork(run_id, "paid", DAVE)
            assert (await asked_in(host, fork)).requested_by == "dave"
            assert counted.counts["/x/paid"] == 1
            await say(host, fork, "pay", BOB)
            await ended(host, fork)
            assert counted.counts["/x/paid"] == 2
            of_fork = await host.fork(fork, "paid", DAVE)
            await say(host, of_fork, "pay", BOB)
            await ended(host, of_fork)
    assert [counted.counts[f"/x/{name}"] for name in once] == [1] * len(once), "what is on record is not done again"
    assert counted.counts["/x/paid"] == 3


async def test_another_answer_leads_a_fork_elsewhere_than_the_record(asking):
    with counting() as (port, counted):
        async with asking.host() as host:
            run_id = await host.start(StartRequest(workflow="asked", input={"origin": str(port)}, principal=ANN))
            await say(host, run_id, "leave", BOB)
            await ended(host, run_id)
            with pytest.raises(UsageError, match="has not come to step 'paid'"):
                await host.fork(run_id, "paid", DAVE)
            fork = await host.fork(run_id, "other", DAVE)
            await say(host, fork, "pay", BOB)
            await ended(host, fork)
            again = await host.fork(fork, "paid", DAVE)
            await say(host, again, "leave", BOB)
            await ended(host, again)
    assert counted.counts == {"/x/prep": 1, "/x/other": 2, "/x/between": 1, "/x/paid": 1}


async def test_neither_who_forks_nor_who_asked_for_the_run_before_may_answer(asking):
    with counting() as (port, _):
        async with asking.host() as host:
            run_id = await host.start(StartRequest(workflow="asked", input={"origin": str(port)}, principal=ANN))
            await say(host, run_id, "pay", DAVE)
            await ended(host, run_id)
            fork = await host.fork(run_id, "sure", BOB)
            for who in (ANN, BOB):
                with pytest.raises(AnswerRefused, match="somebody else has to answer") as refused:
                    await say(host, fork, "pay", who)
                assert refused.value.refusal == "not_allowed"
            await say(host, fork, "pay", CAY)
            await ended(host, fork)
            second = await host.fork(fork, "paid", DAVE)
            for who in (ANN, BOB, DAVE):
                with pytest.raises(AnswerRefused, match="somebody else has to answer"):
                    await say(host, second, "pay", who)
            await say(host, second, "pay", CAY)
            await ended(host, second)


async def test_a_fork_needs_what_a_start_needs_and_has_the_rights_of_who_forks(asking):
    rightful = Principal(id="ann", tenant="a", scopes=frozenset({"refunds"}))
    other = Principal(id="eve", tenant="a", scopes=frozenset({"refunds"}))
    with counting() as (port, counted):
        async with asking.host() as host:
            run_id = await host.start(StartRequest(workflow="guarded", input={"origin": str(port)}, principal=rightful))
            await ended(host, run_id)
            with pytest.raises(UsageError, match="needs the scope 'refunds'"):
                await host.fork(run_id, "paid", Principal(id="bob", tenant="a", scopes=frozenset()))
            with pytest.raises(NoSuchRun):
                await host.fork(run_id, "paid", Principal(id="bob", tenant="b", scopes=frozenset({"refunds"})))
            assert counted.counts["/x/paid"] == 1
            fork = await host.fork(run_id, "paid", other)
            await ended(host, fork)
            started, _ = await host.kept(fork)
            assert (started.principal, started.also_requested_by) == (other, ("ann",))


async def test_the_files_of_a_fork_are_kept_though_nothing_else_had_been_made_of_them_for_long(asking):
    with counting() as (port, _):
        async with asking.host() as host:
            first = await host.start(StartRequest(workflow="asked", input={"origin": str(port)}, principal=ANN))
            await asked_in(host, first)
            digest = (await host.kept(first))[0].definition
            uses = host._state.tables.uses
            long_ago = sa.update(uses).values(first=uses.c.first - YEAR, last=uses.c.last - YEAR)
            await asyncio.to_thread(host._state.in_transaction, lambda connection: connection.execute(long_ago))
            fork = await host.fork(first, "sure", BOB)
            retention = RetentionState(host._state, host._runs.engine, host._runs.schema)
            await asyncio.to_thread(retention.forget_definitions, unused_since=time.time() + YEAR, dry_run=False)
            assert await asyncio.to_thread(host._state.definition, digest)
            await say(host, fork, "pay", CAY)
            await ended(host, fork)
