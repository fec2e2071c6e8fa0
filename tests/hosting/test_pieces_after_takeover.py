"""Replies in pieces over a takeover: who joins the texts as the page on streaming says has each reply once."""

import asyncio
from collections import Counter
from collections.abc import Sequence

from tests.hosting.conftest import Site
from tests.hosting.hosted_project import gated
from tests.hosting.test_event_keeping import AT, BEGAN, ENDED, event, perform, store
from tests.hosting.test_followed_elsewhere import events_of, watching_only
from tests.hosting.test_numbers_of_events import hearing, performing
from tests.hosting.test_takeover import gone
from tests.server.server_support import each_event
from tuvl.clock import SystemClock
from tuvl.events.types import (
    Event,
    EventBody,
    Iteration,
    ModelCallStarted,
    StreamReset,
    TextDelta,
    ToolCallDelta,
)
from tuvl.hosting.event_keeping import EventKeeper
from tuvl.hosting.hearing import NUMBERS
from tuvl.principal import ANY
from tuvl.server.event_log import EventLog

WORDS = "It was delivered on Monday, and a neighbour signed for it."

TALK = """\
kind: Workflow
metadata: { name: talk, description: Answer in pieces after a look. }
spec:
  durable: true
  input:
    type: object
    properties: { origin: { type: string } }
    required: [origin]
  steps:
    - id: talk
      kind: Agent
      mode: autonomous
      agent:
        model: talker
        stream: true
        steering: Answer.
        tools: [{ ref: look, parameters: { type: object, properties: {} } }]
        token_budget: 20000
      routes: { max_iterations: END, budget_exceeded: END, aborted: END, error: END, default: END }
    - id: look
      kind: APICall
      description: Looks the order up.
      http: { url: "http://127.0.0.1:{{ origin }}/x/gate", timeout: 120 }
  output: talk_result
---
kind: AgentModel
metadata: { name: talker }
spec:
  provider: scripted
  replies:
    - { text: Let me see., tool_calls: [{ id: c1, name: look, arguments: {} }] }
    - { text: "WORDS", delay_s: 1.0 }
""".replace("WORDS", WORDS)


def joined(events: Sequence[dict]) -> dict[tuple[str, int], str]:
    """Join texts as docs/streaming.md says."""
    texts: dict[tuple[str, int], str] = {}
    for told in events:
        turn = (told["step_id"], told.get("iteration", 0))
        if told["type"] == "text_delta":
            texts[turn] = texts.get(turn, "") + told["text"]
        elif told["type"] == "stream_reset":
            texts.pop(turn, None)
    return texts


async def test_words_of_a_call_that_a_dead_process_had_begun_are_void_before_they_come_again(shared_site: Site, spawn):
    (shared_site.folder / "workflows" / "talk.yaml").write_text(TALK, encoding="utf-8")
    with gated("x") as (port, _, gate):
        start = {"workflow": "talk", "input": {"origin": port}, "run_id": "r"}
        first = spawn(shared_site, start=start, kill="before talk#1/turn.talker#2")  # all of its words are told
        async with watching_only(shared_site) as server:
            client = await server.client("runs:read", ANY)
            async with asyncio.timeout(30), client.stream("GET", "/api/runs/r/events") as stream:
                async for told in each_event(stream):
                    if told["type"] == "iteration":
                        break
            gate.opened.set()
            async with asyncio.timeout(30):
                await gone(first)
        async with performing(shared_site) as server:
            client = await server.client("runs:read", ANY)
            before, rest = [], []
            for event in await events_of(client, "r"):
                (before if event["seq"] < NUMBERS else rest).append(event)
    # Words are told once it is kept that their call has begun, to which the model leaves a second here.
    told = any((event["type"], event.get("iteration")) == ("model_call_started", 2) for event in before)
    words = [{"type": "text_delta", "step_id": "talk", "iteration": 2, "text": word} for word in WORDS.split() if told]
    said = joined([*words, *rest])
    assert (
        said.pop(("talk", 1), "Let me see.") == "Let me see."
    )  # void and told again where its end was not kept in time
    assert said == {("talk", 2): WORDS}
    count = Counter(event["type"] for event in rest)
    assert (count["run_resumed"], count["run_finished"]) == (1, 1)
    assert count["stream_reset"] >= told
    assert rest[-1]["status"] == "completed"


def say(text: str, turn: int = 1) -> EventBody:
    return TextDelta(iteration=turn, text=text)


def replied(turn: int = 1) -> EventBody:
    return Iteration(iteration=turn, tool_calls=1, tokens_used=5, cost_usd=None)


CALLED = ModelCallStarted(iteration=1, attempt=1)
NAMED = ToolCallDelta(iteration=1, tool="look")
RESET = StreamReset(iteration=1)
WHOLE = (say("One, two."), NAMED, replied())
"""A turn that is on record, as it comes again."""


async def after_takeovers(folder, first: Sequence[EventBody], *others: Sequence[EventBody]) -> list[EventBody]:
    """Return what is told of the agent of a run after its first process, by those that have it one after the other."""
    async with store(folder) as access, EventKeeper.open(access) as keeper:
        log = EventLog("r", clock=SystemClock(), everywhere=True)
        for attempt, bodies in enumerate((first, *others), 1):
            heard = await hearing(keeper, log).begin("r", attempt=attempt)
            before = log.last_seq
            heard.accept(event(1, BEGAN))
            for body in bodies:
                heard.accept(Event(run_id="r", seq=2, at=AT, step_id="a", body=body))
            if attempt == 1:
                began = log.last_seq
        perform(heard, event(9, ENDED))
        assert before > began or attempt == 2
        reader, found = log.reader(last_id=str(began)), []
        while not reader.ended:
            found += await reader.events(0)
    return found


async def types(folder, first: Sequence[EventBody], *others: Sequence[EventBody]) -> list[str]:
    return [sent.type for sent in await after_takeovers(folder, first, *others)]


async def test_a_reply_that_was_told_whole_is_not_told_again(tmp_path):
    first = (CALLED, say("One, "), say("two."), NAMED, replied())
    assert await types(tmp_path, first, WHOLE) == ["run_resumed", "run_finished"]


async def test_a_reply_on_record_whose_end_was_not_told_is_void_and_comes_whole(tmp_path):
    told = await types(tmp_path, (CALLED, say("One, ")), WHOLE)
    again = ["stream_reset", "text_delta", "tool_call_delta", "iteration"]
    assert told == ["run_resumed", *again, "run_finished"]


async def test_a_call_that_nobody_had_begun_is_told_without_a_word_of_what_is_void(tmp_path):
    told = await types(tmp_path, (CALLED, *WHOLE), (*WHOLE, ModelCallStarted(iteration=2, attempt=1), say("Yes", 2)))
    assert told == ["run_resumed", "model_call_started", "text_delta", "run_finished"]


async def test_of_a_call_of_which_nobody_was_told_nothing_is_void(tmp_path):
    told = await types(tmp_path, (), (RESET, CALLED, say("One, "), RESET, say("Two."), replied()))
    assert told == [
        "run_resumed",
        "model_call_started",
        "text_delta",
        "stream_reset",
        "text_delta",
        "iteration",
        "run_finished",
    ]
    (tmp_path / "other").mkdir()
    told = await types(tmp_path / "other", (), WHOLE)
    assert told == [
        "run_resumed",
        "text_delta",
        "tool_call_delta",
        "iteration",
        "run_finished",
    ]


async def test_what_is_void_after_a_second_takeover_is_told_a_second_time(tmp_path):
    again = (RESET, CALLED, say("One, "), NAMED)
    told = await types(tmp_path, (CALLED, say("One, "), NAMED), again, again)
    once = ["run_resumed", "stream_reset", "text_delta", "tool_call_delta"]
    assert told == [*once, *once, "run_finished"]


async def test_an_agent_that_is_come_to_again_is_told_once_for_each_time(tmp_path):
    other = (CALLED, say("Three."))
    told = await types(tmp_path, (CALLED, *WHOLE, *other), (*WHOLE, RESET, *other))
    assert told == ["run_resumed", "stream_reset", "text_delta", "run_finished"]
