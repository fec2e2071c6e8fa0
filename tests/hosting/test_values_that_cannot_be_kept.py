"""Values that a database does not take: those of texts are kept without what it refuses, others end their run."""

import sqlalchemy as sa

import tuvl.durable.backend as backend
from tests.hosting.conftest import Site
from tuvl.durable.shared_state import SharedState
from tuvl.hosting.host import Host
from tuvl.hosting.requests import AnswerRequest, StartRequest
from tuvl.principal import ANY, Principal

OPERATOR = Principal(scopes=frozenset({ANY}))

ASK = """\
kind: Workflow
metadata: { name: ask, description: Ask what somebody else has written. }
spec:
  input: { type: object, properties: { q: { type: string } }, required: [q] }
  steps:
    - id: sure
      kind: HumanInTheLoop
      ui: { title: "{{ q }}", display_context: [q] }
      human_feedback: [{ name: words, type: text }]
      routes: { default: done }
    - { id: done, kind: Functional, runner: set, values: { both: "{{ q }}{{ sure_result.words }}" } }
"""
ODD = "a\0b"


def with_question(site: Site) -> Site:
    (site.folder / "workflows/ask.yaml").write_text(ASK, encoding="utf-8")
    return site


async def ended_at_last(host: Host, run_id: str) -> dict:
    """Wait for the end of a run that was answered: what it waited for may be seen once more before it goes on."""
    while True:
        document = await host.wait(run_id, 30)
        assert document is not None
        if document["status"] != "suspended":
            return document


async def test_a_question_with_characters_that_no_database_takes_is_asked_and_answered(site):
    async with with_question(site).host() as host:
        run_id = await host.start(StartRequest(workflow="ask", input={"q": ODD}))
        waiting_for = await host.wait(run_id, 30)
        assert waiting_for is not None
        assert waiting_for["status"] == "suspended"
        (wait,) = await host.waits(OPERATOR)
        assert wait.message.startswith("step 'sure' waits for an answer: a")
        await host.answer(run_id, AnswerRequest(digest=wait.digest, value={"words": ODD}, by=OPERATOR))
        ended = await ended_at_last(host, run_id)
    assert (ended["status"], ended["context"]["both"]) == ("completed", ODD + ODD)


async def test_a_run_that_waits_for_what_the_database_refuses_ends_and_says_so(shared_site, monkeypatch, caplog):
    def refused(state: SharedState, wait: object, *, owner: str) -> bool:
        state.in_transaction(lambda connection: connection.execute(sa.text("SELECT CAST('x' AS int)")))
        raise AssertionError("the database took it")

    monkeypatch.setattr(SharedState, "suspend", refused)
    async with with_question(shared_site).host() as host:
        run_id = await host.start(StartRequest(workflow="ask", input={"q": "?"}))
        ended = await host.wait(run_id, 30)
        shown = await host._registry.access.store.show(run_id, OPERATOR)
    assert ended is not None
    assert (ended["status"], ended["error"]["type"]) == ("failed", "record_failed")
    assert shown is not None
    assert shown["status"] == "failed"
    assert "database is back" not in caplog.text


async def test_a_run_whose_entry_the_database_refuses_ends_and_says_so(shared_site, monkeypatch):
    async with with_question(shared_site).host() as host:
        run_id = await host.start(StartRequest(workflow="ask", input={"q": "?"}))
        await host.wait(run_id, 30)
        (wait,) = await host.waits(OPERATOR)
        monkeypatch.setattr(backend, "text_of", lambda row: "{}\0")
        await host.answer(run_id, AnswerRequest(digest=wait.digest, value={"words": "?"}, by=OPERATOR))
        ended = await ended_at_last(host, run_id)
        assert await host.waits(OPERATOR) == []
    assert (ended["status"], ended["error"]["type"]) == ("failed", "record_failed")
    assert "takes no such value" in ended["error"]["message"]
