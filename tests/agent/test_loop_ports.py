"""What an author plugs into the loop is asked at its place, and can neither widen nor break the contract."""

import asyncio

import pytest

from tests.agent.loop_support import Loop, Model, ask, boom, say
from tuvl.agent.guarded_model import HeartbeatModel, ObservedModel, ReservedModel
from tuvl.agent.history import Preparation
from tuvl.clock import SystemClock
from tuvl.errors import ModelError, StepError
from tuvl.llm.messages import Message, ModelRequest


class Surface:
    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    async def offered(self, turn, declared):
        self.asked.append(turn)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def offered(loop):
    return [[tool.name for tool in request.tools] for request in loop.model.requests]


TWO = {"a": {}, "b": {}}


async def test_surface_is_asked_from_turn_two_on_and_what_it_sets_stays():
    surface = Surface(frozenset({"a"}), None)
    loop = Loop([ask(("a", {})), ask(("a", {}, "c2")), say("done")], tools=TWO, surface=surface)
    await loop.run()
    assert surface.asked == [2, 3]
    assert offered(loop) == [["a", "b"], ["a"], ["a"]]


async def test_surface_cannot_widen_what_is_declared():
    loop = Loop([ask(("a", {})), say("done")], tools=TWO, surface=Surface(frozenset({"b", "rm_rf"})))
    await loop.run()
    assert offered(loop)[1] == ["b"]


async def test_a_tool_the_surface_took_away_is_not_offered_and_not_run():
    loop = Loop([ask(("a", {})), ask(("a", {}, "c2")), say("done")], tools=TWO, surface=Surface(frozenset({"b"}), None))
    await loop.run()
    assert loop.ran == [("a", {})]
    assert loop.results(3)[1].content.count("'b'") == 1


async def test_a_failing_surface_fails_the_run():
    loop = Loop([ask(("a", {}))], tools=TWO, surface=Surface(StepError("broken", type="surface")))
    assert (await loop.run()).reason.type == "surface"


class Continuation:
    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    async def more(self, turn, answer):
        self.asked.append((turn, answer))
        return [Message(role="user", content=text) for text in self.answers.pop(0)]


async def test_a_continuation_goes_on_and_only_the_accepted_answer_is_read():
    continuation = Continuation(["and the rest?"], [])
    loop = Loop([say("not even json"), say('{"outcome":"done"}')], enum=("done",), continuation=continuation)
    assert (await loop.run()).signal == "done"
    assert continuation.asked == [(1, "not even json"), (2, '{"outcome":"done"}')]
    assert loop.sent(2)[-1].content == "and the rest?"


async def test_continuations_are_bounded():
    continuation = Continuation(*[["more"]] * 9)
    loop = Loop([say("x")] * 4, continuation=continuation)
    assert (await loop.run()).signal == "default"
    assert len(continuation.asked) == 3


async def test_a_continuation_is_not_asked_in_the_last_turn_or_about_nothing():
    continuation = Continuation()
    assert (await Loop([say("done")], max_iterations=1, continuation=continuation).run()).signal == "default"
    assert (await Loop([say("")], continuation=continuation).run()).reason.type == "empty_response"
    assert continuation.asked == []


class Trim:
    def __init__(self, change):
        self.change = change

    async def trimmed(self, messages):
        return self.change(list(messages))


async def test_trim_rewrites_the_request_and_leaves_the_history_whole():
    loop = Loop(
        [ask(("lookup", {})), ask(("lookup", {}, "c2")), say("done")],
        preparation=Preparation(
            trim=Trim(lambda messages: messages[:2] + messages[-2:] if len(messages) > 4 else messages)
        ),
    )
    await loop.run()
    assert [len(loop.sent(n)) for n in (1, 2, 3)] == [2, 4, 4]
    assert len(loop.entries("assistant")) == 3


async def test_a_trim_that_tears_a_call_from_its_result_is_refused():
    loop = Loop(
        [ask(("lookup", {}))],
        preparation=Preparation(trim=Trim(lambda messages: messages[:-1] if len(messages) > 2 else messages)),
    )
    assert (await loop.run()).reason.type == "trim"


class Reservation:
    def __init__(self, refuse=False):
        self.refuse = refuse
        self.log = []

    async def reserve(self, request):
        self.log.append("reserve")
        if self.refuse:
            raise StepError("quota used up", type="reservation")

    async def refund(self, request, used):
        self.log.append(("refund", used and used.total_tokens))


REQUEST = ModelRequest(messages=[Message(role="user", content="hi")])


async def test_a_refused_reservation_makes_no_call_and_refunds_nothing():
    reservation, model = Reservation(refuse=True), Model([])
    with pytest.raises(StepError):
        await ReservedModel(inner=model, reservation=reservation).complete(REQUEST)
    assert (reservation.log, model.requests) == (["reserve"], [])


class Unforgiving(Reservation):
    async def refund(self, request, used):
        raise StepError("the books are closed", type="books")


async def test_a_refund_that_fails_ends_the_call():
    with pytest.raises(StepError, match="the books are closed"):
        await ReservedModel(inner=Model([say("x", tokens=7)]), reservation=Unforgiving()).complete(REQUEST)


async def test_a_refund_that_fails_is_told_behind_the_failure_of_the_call():
    down = ModelError("down", type="server_error", retryable=True)
    with pytest.raises(ModelError) as caught:
        await ReservedModel(inner=Model([down]), reservation=Unforgiving()).complete(REQUEST)
    assert caught.value.message == "down; and its reservation was not given back: the books are closed"
    assert (caught.value.type, caught.value.retryable) == ("server_error", True)
    assert caught.value.detail == {"refund": {"type": "books", "message": "the books are closed"}}


@pytest.mark.parametrize(
    ("reply", "settled"),
    [
        (say("x", tokens=7), [("refund", 7)]),
        (say("x", tokens=None), []),
        (ModelError("down", type="server_error", retryable=True), [("refund", None)]),
    ],
)
async def test_a_reservation_is_settled_by_what_became_of_the_call(reply, settled):
    reservation = Reservation()
    model = ReservedModel(inner=Model([reply]), reservation=reservation)
    if isinstance(reply, ModelError):
        with pytest.raises(ModelError):
            await model.complete(REQUEST)
    else:
        await model.complete(REQUEST)
    assert reservation.log == ["reserve", *settled]


async def test_an_observer_can_veto_a_call():
    class Veto:
        async def observe_request(self, request):
            raise StepError("not today", type="vetoed")

    model = Model([])
    with pytest.raises(StepError):
        await ObservedModel(inner=model, observer=Veto()).complete(REQUEST)
    assert model.requests == []


async def test_heartbeats_come_while_a_call_is_in_flight_and_never_after():
    beats, enough = [], asyncio.Event()

    def beat(_elapsed_s):
        beats.append(1)
        if len(beats) == 3:
            enough.set()

    async def slow(_request):
        await enough.wait()
        return say("x")

    model = HeartbeatModel(inner=Model([slow]), every_s=0.001, beat=beat, clock=SystemClock())
    await model.complete(REQUEST)
    seen = len(beats)
    await asyncio.sleep(0.01)
    assert len(beats) == seen >= 3
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_an_interrupting_steer_cancels_the_call_and_the_turn_is_asked_anew():
    loop = Loop([], interruptible=True)

    async def slow(_request):
        asyncio.get_running_loop().call_soon(loop.control.steer, "look at order 7")
        asyncio.get_running_loop().call_soon(loop.control.steer, "and at order 8")
        await asyncio.Event().wait()

    loop.model.replies += [slow, say("done")]
    ended = await asyncio.wait_for(loop.run(), 5)
    assert (ended.signal, loop.runner.turn) == ("default", 1)
    assert [message.content.splitlines()[-1] for message in loop.sent(2)[2:]] == ["look at order 7", "and at order 8"]
    assert len(loop.entries("assistant")) == 1


async def test_a_steer_at_the_boundary_does_not_interrupt():
    loop = Loop([], interruptible=False)

    async def slow(_request):
        loop.control.steer("later")
        await asyncio.sleep(0)
        return ask(("lookup", {}))

    loop.model.replies += [slow, say("done")]
    await loop.run()
    assert loop.sent(2)[-1].content.endswith("later")


async def test_an_abort_wins_over_a_steer():
    loop = Loop([], interruptible=True)

    async def slow(_request):
        asyncio.get_running_loop().call_soon(loop.control.steer, "x")
        asyncio.get_running_loop().call_soon(loop.control.abort)
        await asyncio.Event().wait()

    loop.model.replies.append(slow)
    assert (await asyncio.wait_for(loop.run(), 5)).signal == "aborted"


async def test_a_cancellation_without_a_steer_is_not_a_steer():
    started = asyncio.Event()

    async def slow(_request):
        started.set()
        await asyncio.Event().wait()

    loop = Loop([slow], interruptible=True)
    run = asyncio.create_task(loop.runner.run("s", "u"))
    await started.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run


async def test_a_run_that_steers_itself_is_not_interrupted():
    loop = Loop([], interruptible=True)

    async def reply(_request):
        loop.control.steer("from within")
        return ask(("lookup", {}))

    loop.model.replies += [reply, say("done")]
    assert (await loop.run()).signal == "default"
    assert loop.sent(2)[-1].content.endswith("from within")


async def test_a_steer_that_comes_while_another_is_being_taken_in_is_not_lost():
    """Edge case 58: each interrupts the call that it finds, and both are delivered, once."""
    loop = Loop([], interruptible=True)

    def interrupted_by(message):
        async def slow(_request):
            asyncio.get_running_loop().call_soon(loop.control.steer, message)
            await asyncio.Event().wait()

        return slow

    loop.model.replies += [interrupted_by("look at order 7"), interrupted_by("and at order 8"), say("done")]
    ended = await asyncio.wait_for(loop.run(), 5)
    assert (ended.signal, loop.runner.turn) == ("default", 1)
    assert [message.content.splitlines()[-1] for message in loop.sent(3)[2:]] == ["look at order 7", "and at order 8"]


async def test_a_steer_before_the_start_interrupts_nothing_and_is_in_the_first_request():
    """Edge case 57."""
    loop = Loop([say("done")], interruptible=True)
    loop.control.steer("look at order 7")
    assert (await loop.run()).signal == "default"
    assert len(loop.model.requests) == 1
    assert loop.sent(1)[-1].content.endswith("look at order 7")


async def test_a_continuation_is_not_asked_after_a_veto_or_a_streak_of_failures():
    """Edge case 65: only an answer is a stop that one can go on from."""
    continuation = Continuation()

    def veto(_request):
        raise StepError("not today", type="request_vetoed")

    vetoed = await Loop([veto], continuation=continuation).run()
    failing = Loop([ask(("f", {}))], tools={"f": boom}, max_consecutive_tool_failures=1, continuation=continuation)
    assert vetoed.reason.type == "request_vetoed"
    assert (await failing.run()).reason.type == "tool_failures"
    assert continuation.asked == []
