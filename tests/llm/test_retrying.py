"""The one place where model calls are retried."""

import asyncio
from dataclasses import dataclass, field

import pytest

from tests.support.clock import START, SkippingClock
from tests.support.openai_server import Answer, message, serving
from tuvl.clock import SystemClock
from tuvl.errors import ModelError
from tuvl.http.client import HttpClient
from tuvl.llm.direct import DirectModel
from tuvl.llm.messages import Message, ModelReply, ModelRequest
from tuvl.llm.retrying import RetryingModel
from tuvl.llm.settings import CallSettings
from tuvl.testing.model import ScriptedModel, failing, reply

REQUEST = ModelRequest(messages=[Message(role="user", content="hi")])


@dataclass(frozen=True)
class Policy:
    attempts: int = 3
    on: frozenset[str] = frozenset({"timeout", "error"})
    backoff_s: float = 1.0
    max_backoff_s: float = 30.0


def retrying(*replies, timeout_s=None, clock=None, attempts=None, **policy) -> RetryingModel:
    count = {} if attempts is None else {"attempts": attempts}
    model = ScriptedModel(replies)
    return RetryingModel(model, Policy(**count, **policy), timeout_s=timeout_s, clock=clock or SkippingClock())


@dataclass
class Hanging:
    """Never answers; the event tells that it was called."""

    called: asyncio.Event = field(default_factory=asyncio.Event)
    name: str = "hanging"
    price: None = None

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.called.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def aclose(self) -> None:
        pass


async def test_passing_failure_is_retried_and_the_reply_returned():
    """Edge case 48."""
    seen = []
    model = RetryingModel(
        ScriptedModel([failing("connection"), failing("server_error"), reply("there")]),
        Policy(),
        timeout_s=None,
        clock=SkippingClock(),
        on_attempt=seen.append,
    )
    assert (await model.complete(REQUEST)).message.content == "there"
    assert seen == [1, 2, 3]


@pytest.mark.parametrize("kind", ["authentication", "bad_request", "context_overflow", "bad_response"])
async def test_failure_that_will_not_pass_is_not_retried(kind):
    with pytest.raises(ModelError) as caught:
        await retrying(failing(kind), reply("never")).complete(REQUEST)
    assert caught.value.type == kind


async def test_last_error_is_raised_when_attempts_are_used_up():
    """Edge case 49."""
    replies = [failing(message=f"failure {number}") for number in (1, 2, 3)]
    with pytest.raises(ModelError, match="failure 3"):
        await retrying(*replies).complete(REQUEST)


async def test_one_attempt_is_the_default_of_no_retry():
    with pytest.raises(ModelError):
        await retrying(failing(), reply("never"), attempts=1).complete(REQUEST)


async def test_backoff_doubles_up_to_its_cap():
    clock = SkippingClock()
    model = retrying(*[failing()] * 5, reply("x"), attempts=6, backoff_s=2.0, max_backoff_s=10.0, clock=clock)
    await model.complete(REQUEST)
    assert clock.slept == [2.0, 4.0, 8.0, 10.0, 10.0]


async def test_thousands_of_attempts_do_not_overflow():
    clock = SkippingClock()
    model = retrying(*[failing()] * 2000, reply("x"), attempts=2001, max_backoff_s=1.0, clock=clock)
    await model.complete(REQUEST)
    assert set(clock.slept) == {1.0}


@pytest.mark.parametrize(
    ("on", "kind", "retried"),
    [
        ({"timeout"}, "timeout", True),
        ({"timeout"}, "server_error", False),
        ({"error"}, "timeout", False),
        ({"error"}, "server_error", True),
        (set(), "timeout", False),
    ],
)
async def test_only_declared_failures_are_retried(on, kind, retried):
    model = retrying(failing(kind), reply("again"), on=frozenset(on))
    if retried:
        assert (await model.complete(REQUEST)).message.content == "again"
    else:
        with pytest.raises(ModelError):
            await model.complete(REQUEST)


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        ("2", 2.0),
        ("2.5", 2.5),
        ("date", 7.0),
        ("garbage", 1.0),
        ("-5", 1.0),
        ("nan", 1.0),
        ("inf", 1.0),
        ("0", 1.0),
        ("86400", 30.0),
    ],
)
async def test_retry_after_is_a_floor_and_absurd_values_are_capped(header, wait):
    """E10: seconds, an HTTP date, garbage, a day."""
    value = START.replace(second=7).strftime("%a, %d %b %Y %H:%M:%S GMT") if header == "date" else header
    clock = SkippingClock()
    http = HttpClient()
    async with serving() as server:
        server.queue(Answer(status=429, headers={"retry-after": value}, body="{}"), message("now"))
        direct = DirectModel(CallSettings(name="m", model="x", api_base=server.url), http, clock=clock)
        model = RetryingModel(direct, Policy(), timeout_s=None, clock=clock)
        assert (await model.complete(REQUEST)).message.content == "now"
        await http.aclose()
    assert clock.slept == [wait]


async def test_attempt_that_takes_too_long_is_a_timeout():
    model = RetryingModel(Hanging(), Policy(attempts=2, backoff_s=0), timeout_s=0.01, clock=SkippingClock())
    with pytest.raises(ModelError, match="did not answer within") as caught:
        await model.complete(REQUEST)
    assert caught.value.type == "timeout"


async def test_timeout_error_of_the_model_itself_is_not_taken_for_ours():
    class Broken(Hanging):
        async def complete(self, request: ModelRequest) -> ModelReply:
            raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        await RetryingModel(Broken(), Policy(), timeout_s=60, clock=SkippingClock()).complete(REQUEST)


async def test_cancelling_reaches_the_attempt():
    hanging = Hanging()
    running = asyncio.create_task(RetryingModel(hanging, Policy(), timeout_s=60, clock=SystemClock()).complete(REQUEST))
    await hanging.called.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_cancelling_reaches_the_wait_between_attempts():
    class Waiting(SkippingClock):
        asleep = asyncio.Event()

        async def sleep(self, seconds: float) -> None:
            self.asleep.set()
            await asyncio.Event().wait()

    clock = Waiting()
    running = asyncio.create_task(retrying(failing(), reply("never"), clock=clock).complete(REQUEST))
    await clock.asleep.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_preparing_is_no_part_of_an_attempts_time():
    class Slow(Hanging):
        ready = False

        async def prepare(self) -> None:
            for _ in range(1000):
                await asyncio.sleep(0)
            self.ready = True

        async def complete(self, request: ModelRequest) -> ModelReply:
            assert self.ready
            return ModelReply(message=Message(role="assistant", content="ready"))

    model = RetryingModel(Slow(), Policy(attempts=1), timeout_s=5.0, clock=SkippingClock())
    assert (await model.complete(REQUEST)).message.content == "ready"
