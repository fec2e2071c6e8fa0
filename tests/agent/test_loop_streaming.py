"""The loop with its replies in pieces: what is told, what is void, what is kept, and that nothing else changes."""

import asyncio

import pytest

from tests.agent.loop_support import Loop, Model, ask, say
from tuvl.agent.streaming import ReplyStream
from tuvl.clock import SystemClock
from tuvl.control import RunControl
from tuvl.errors import ModelError
from tuvl.events.types import StreamEnded, StreamReset, TextDelta, TextWithheld, ToolCallDelta
from tuvl.llm.messages import CallNamed, ModelRequest, TextPiece
from tuvl.llm.retrying import RetryingModel
from tuvl.llm.scripted import speak
from tuvl.plan.model import RetryPlan
from tuvl.redaction import register_secret


def streaming(loop: Loop, *, model=None, withheld=False, conversation=None) -> Loop:
    """Have a loop stream; its model says words of its own accord when it is one of `spoken` or `half`."""
    stream = ReplyStream(
        emit=loop.events.append, turn=lambda: loop.runner.turn, transcript=loop.transcript, withheld=withheld
    )
    loop.runner.asker.model = stream.around(model or loop.model)
    loop.runner.ledger.conversation = stream.storing(conversation)
    loop.runner.emit = stream.events()
    return loop


def spoken(reply):
    """A reply that comes word by word."""

    async def answer(request: ModelRequest):
        assert request.on_delta is not None
        await speak(reply, request.on_delta)
        return reply

    return answer


def half(text, then, *, tool=None):
    """A reply that stops half way: `then` is raised, or called and awaited."""

    async def answer(request: ModelRequest):
        await request.on_delta(TextPiece(text=text))
        if tool is not None:
            await request.on_delta(CallNamed(name=tool))
        if isinstance(then, Exception):
            raise then
        await then()

    return answer


def lost() -> ModelError:
    return ModelError("connection lost", type="connection", retryable=True)


def of(loop: Loop, *kinds) -> list:
    return [event for event in loop.events if isinstance(event, kinds)]


def told(loop: Loop) -> list:
    """What a consumer holds at the end: text by turn, without what was void."""
    turns: dict[int, str] = {}
    for event in loop.events:
        if isinstance(event, TextDelta):
            turns[event.iteration] = turns.get(event.iteration, "") + event.text
        elif isinstance(event, StreamReset):
            turns.pop(event.iteration, None)
    return list(turns.items())


class Store:
    """A conversation that is kept whole."""

    def __init__(self) -> None:
        self.log: list = []

    async def append(self, messages) -> None:
        self.log.append([(message.role, message.content) for message in messages])


class StreamingStore(Store):
    """A conversation that takes replies in pieces."""

    async def open_turn(self, turn: int) -> None:
        self.log.append(("open", turn))

    async def chunk(self, text: str) -> None:
        self.log.append(("chunk", text))

    async def commit(self, message) -> None:
        self.log.append(("commit", message.content))


def script() -> list:
    return [ask(("lookup", {}), text="Let me see."), ask(("lookup", {"a": 1}), ("nope", {})), say("It is done.")]


@pytest.mark.parametrize("model", [spoken, lambda reply: reply], ids=["in words", "whole"])
async def test_a_run_that_streams_ends_and_is_traced_as_one_that_does_not(model):
    plain, stream = Loop(script()), streaming(Loop([model(reply) for reply in script()]))
    assert await plain.run() == await stream.run()
    assert timeless(plain.transcript.entries) == timeless(stream.transcript.entries)
    assert told(stream) == [(1, "Let me see."), (3, "It is done.")]
    assert [event.tool for event in of(stream, ToolCallDelta)] == ["lookup", "lookup", "nope"]
    kept = [event for event in stream.events if not isinstance(event, (TextDelta, ToolCallDelta, StreamEnded))]
    assert [type(event) for event in kept] == [type(event) for event in plain.events]


def timeless(entries: list) -> list:
    return [{name: value for name, value in entry.items() if name != "duration_ms"} for entry in entries]


async def test_a_model_that_has_no_pieces_to_give_is_told_on_as_one():
    loop = streaming(Loop([say("All at once.")]))
    await loop.run()
    assert [event.text for event in of(loop, TextDelta)] == ["All at once."]


@pytest.mark.parametrize(
    ("replies", "limits", "reason", "signal"),
    [
        ([say("Done.")], {}, "stop", "default"),
        ([say("Half of it", finish="length")], {}, "length", "error"),
        ([say("", finish="content_filter")], {}, "content_filter", "error"),
        ([ask(("lookup", {}))], {"max_iterations": 1}, "tool_calls", "max_iterations"),
        ([ask(("lookup", {}), tokens=100)], {"token_budget": 50}, "tool_calls", "budget_exceeded"),
        ([lost()], {}, None, "error"),
    ],
    ids=["answer", "length", "filtered", "last turn", "budget", "failure"],
)
async def test_one_terminal_event_comes_last_but_the_outcome_and_says_why_the_last_reply_ended(
    replies, limits, reason, signal
):
    """Edge case 85."""
    loop = streaming(Loop(replies, **limits))
    assert (await loop.run()).signal == signal
    (end,) = of(loop, StreamEnded)
    assert end.finish_reason == reason
    assert [event.type for event in loop.events[-2:]] == ["stream_end", "outcome"]


async def test_the_terminal_event_comes_when_the_final_turn_is_stored():
    """Edge case 85."""
    store = StreamingStore()
    loop = streaming(Loop([spoken(say("Done."))]), conversation=store)
    at_end: list = []
    emit = loop.runner.emit
    loop.runner.emit = lambda body: (emit(body), at_end.append((body.type, list(store.log))))[0]
    await loop.run()
    assert at_end[-1][1][-1] == ("commit", "Done.")


async def test_token_cap_is_tested_when_a_turn_starts():
    """Edge case 86: the overrunning reply is streamed whole and its tools run."""
    loop = streaming(Loop([spoken(ask(("lookup", {}), tokens=100, text="One moment."))], token_budget=100))
    assert (await loop.run()).signal == "budget_exceeded"
    assert told(loop) == [(1, "One moment.")]
    assert loop.ran == [("lookup", {})]


async def test_a_call_without_a_name_is_traced_as_incomplete_and_answered_and_never_run():
    """Edge case 84: not even where a tool is called what the history calls it."""
    tools = {"unnamed": {"ran": True}, "lookup": {"ran": True}}
    loop = streaming(Loop([spoken(ask(("", {}), ("lookup!", {}))), say("Done.")], tools=tools))
    await loop.run()
    assert loop.ran == []
    first, second = loop.entries("assistant")[0]["tool_calls"]
    assert (first["incomplete"], "incomplete" in second) == (True, False)
    assert all("there is no tool" in message.content for message in loop.results(2))
    assert [event.tool for event in of(loop, ToolCallDelta)] == ["_lookup"]


async def test_a_steer_half_way_voids_the_pieces_and_keeps_them_in_the_trace_only():
    """Edge case 87: of the last call only."""
    control, said = RunControl(), asyncio.Event()

    async def wait() -> None:
        said.set()
        await asyncio.Event().wait()

    loop = Loop(
        [spoken(ask(("lookup", {}), text="Let me see.")), half("I thi", wait, tool="lookup"), spoken(say("In short."))],
        control=control,
        interruptible=True,
    )
    streaming(loop)
    async with asyncio.timeout(10):
        run = asyncio.ensure_future(loop.runner.run("s", "u"))
        await said.wait()
        control.steer("Be short.")
        assert (await run).signal == "default"
    (partial,) = loop.entries("partial_reply")
    assert {name: partial[name] for name in ("iteration", "content", "tools", "why")} == {
        "iteration": 2,
        "content": "I thi",
        "tools": ["lookup"],
        "why": "cut off",
    }
    assert told(loop) == [(1, "Let me see."), (2, "In short.")]
    assert not any("I thi" in (message.content or "") for message in loop.sent(3))
    assert [event.type for event in loop.events].count("stream_reset") == 1


async def test_an_abort_half_way_ends_the_run_and_leaves_no_task():
    control, said = RunControl(), asyncio.Event()

    async def wait() -> None:
        said.set()
        await asyncio.Event().wait()

    loop = streaming(Loop([half("I thi", wait)], control=control))
    before = asyncio.all_tasks()
    async with asyncio.timeout(10):
        run = asyncio.ensure_future(loop.runner.run("s", "u"))
        await said.wait()
        control.abort()
        assert (await run).signal == "aborted"
    assert asyncio.all_tasks() == before
    assert [entry["content"] for entry in loop.entries("partial_reply")] == ["I thi"]
    assert loop.entries("assistant") == []
    assert [event.type for event in loop.events[-3:]] == ["stream_reset", "stream_end", "outcome"]


async def test_another_attempt_tells_the_consumer_to_drop_what_the_first_one_said():
    model = Model([half("Half of", lost(), tool="lookup"), lost(), spoken(say("All of it."))])
    retrying = RetryingModel(model, RetryPlan(attempts=3, backoff_s=0), timeout_s=5, clock=SystemClock())
    store = StreamingStore()
    loop = streaming(Loop([]), model=retrying, conversation=store)
    await loop.run()
    assert told(loop) == [(1, "All of it.")]
    assert len(of(loop, StreamReset)) == 1  # the second attempt had said nothing
    assert [(entry["content"], entry["why"]) for entry in loop.entries("partial_reply")] == [
        ("Half of", "another attempt")
    ]
    assert store.log[-1] == ("commit", "All of it.")
    assert store.log.count(("open", 1)) == 2


async def test_a_call_that_fails_for_good_leaves_nothing_standing():
    loop = streaming(Loop([half("Half of", lost())]))
    assert (await loop.run()).signal == "error"
    assert told(loop) == []
    assert loop.entries("partial_reply")[0]["why"] == "the call failed"


async def test_a_reply_is_stored_open_then_in_pieces_then_committed_before_its_tools_run():
    store = StreamingStore()
    stored_when_it_ran: list = []
    tools = {"lookup": lambda: stored_when_it_ran.extend(store.log) or {}}
    loop = Loop([spoken(ask(("lookup", {}), text="Let me see.")), spoken(say("Done."))], tools=tools)
    await streaming(loop, conversation=store).run()
    assert store.log == [
        [("system", "You are a test."), ("user", "Begin.")],
        ("open", 1),
        ("chunk", "Let "),
        ("chunk", "me "),
        ("chunk", "see."),
        ("commit", "Let me see."),
        [("tool", "null")],
        ("open", 2),
        ("chunk", "Done."),
        ("commit", "Done."),
    ]
    assert stored_when_it_ran == store.log[:6]


async def test_a_store_that_knows_no_pieces_gets_replies_whole():
    store = Store()
    await streaming(Loop([spoken(say("It is done."))]), conversation=store).run()
    assert store.log[-1] == [("assistant", "It is done.")]


async def test_a_reply_that_is_no_answer_is_opened_and_never_committed():
    store = StreamingStore()
    await streaming(Loop([spoken(say("Half of", finish="length"))]), conversation=store).run()
    assert [entry[0] for entry in store.log[1:]] == ["open", "chunk", "chunk"]


@pytest.mark.parametrize("method", ["open_turn", "chunk", "commit"])
async def test_a_store_that_fails_on_the_way_ends_the_run(method, monkeypatch):
    """Edge case 78."""

    async def fail(self, *_) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(StreamingStore, method, fail)
    ended = await streaming(Loop([spoken(say("Done."))]), conversation=StreamingStore()).run()
    assert (ended.signal, ended.reason.type) == ("error", "conversation_failed")


async def test_text_that_a_guardrail_must_see_whole_is_not_told_and_that_is_said_once():
    """O01."""
    store = StreamingStore()
    replies = [spoken(ask(("lookup", {}), text="user@example.com?")), spoken(say("user@example.com."))]
    loop = streaming(Loop(replies), withheld=True, conversation=store)
    await loop.run()
    assert of(loop, TextDelta) == []
    assert [(event.iteration, event.reason) for event in of(loop, TextWithheld)] == [(1, "output_guardrail")]
    assert [event.tool for event in of(loop, ToolCallDelta)] == ["lookup"]
    assert all(isinstance(entry, list) for entry in store.log)  # it gets each reply whole, as ever


async def test_a_secret_cut_in_pieces_is_masked_in_every_one_of_them():
    """O01."""
    register_secret("hunter2-hunter2")

    async def answer(request: ModelRequest):
        for piece in ("The key is hun", "ter2-", "hunter", "2, not hunter3.", " hunt"):
            await request.on_delta(TextPiece(text=piece))
        return say("The key is hunter2-hunter2, not hunter3. hunt")

    loop = streaming(Loop([answer]))
    await loop.run()
    assert told(loop) == [(1, "The key is ***, not hunter3. hunt")]
