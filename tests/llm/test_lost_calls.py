"""Calls that were made and gave no reply: the provider may have worked, so they are counted, by estimate."""

import asyncio

import pytest

from tests.llm.test_retrying import Hanging, Policy
from tests.support.clock import SkippingClock
from tests.support.openai_server import Answer, chunk, serving, sse, trickled
from tests.support.ports import kept_port
from tuvl.errors import ModelError
from tuvl.http.client import HttpClient
from tuvl.llm.direct import DirectModel
from tuvl.llm.litellm_model import LiteLLMModel, close_connections
from tuvl.llm.messages import Message, ModelRequest, Price, Restarted, TextPiece
from tuvl.llm.meter import Meter
from tuvl.llm.retrying import RetryingModel
from tuvl.llm.settings import CallSettings
from tuvl.testing.model import ScriptedModel, failing, reply

REQUEST = ModelRequest(messages=[Message(role="user", content="hi" * 100)])
PRICE = Price(input_per_mtok=1000.0, output_per_mtok=4000.0)


def metered(model, meter: Meter, *, timeout_s: float | None = None, attempts: int = 1) -> RetryingModel:
    policy = Policy(attempts=attempts, backoff_s=0)
    return RetryingModel(model, policy, timeout_s=timeout_s, clock=SkippingClock(), meter=meter)


async def test_every_attempt_that_timed_out_is_a_call_with_its_usage_estimated():
    run = Meter()
    agent = Meter(parent=run)
    with pytest.raises(ModelError, match="did not answer"):
        await metered(Hanging(), agent, timeout_s=0.01, attempts=2).complete(REQUEST)
    assert (run.llm_calls, run.estimated, run.cost_usd) == (2, True, None)
    assert run.input_tokens == agent.input_tokens > 2 * 50


async def test_a_lost_call_of_a_priced_model_costs_what_its_request_does():
    meter, model = Meter(), Hanging()
    model.price = PRICE
    with pytest.raises(ModelError):
        await metered(model, meter, timeout_s=0.01).complete(REQUEST)
    assert meter.cost_usd == pytest.approx(meter.input_tokens * 1000 / 1e6)
    assert meter.cost_usd > 0


async def test_a_call_that_is_cut_off_by_a_cancellation_is_counted():
    meter, model = Meter(), Hanging()
    running = asyncio.create_task(metered(model, meter).complete(REQUEST))
    await model.called.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (meter.llm_calls, meter.estimated) == (1, True)


@pytest.mark.parametrize("type", ["timeout", "connection", "unknown"])
async def test_a_failed_attempt_before_an_answered_one_is_a_call_of_its_own(type):
    meter = Meter()
    model = metered(ScriptedModel([failing(type, retryable=True), reply("there")]), meter, attempts=2)
    await model.complete(REQUEST)
    assert meter.llm_calls == 1  # the answered one is for the caller to count


@pytest.fixture
async def server():
    async with serving() as made:
        yield made


@pytest.fixture(params=["direct", "litellm"])
async def model(request, server):
    http = HttpClient()
    if request.param == "direct":
        yield DirectModel(CallSettings(name="m", model="x", api_base=server.url), http)
    else:
        yield LiteLLMModel(CallSettings(name="m", model="openai/x", api_base=server.url, api_key="sk-none"))
    await http.aclose()
    await close_connections()


@pytest.mark.parametrize("status", [400, 401, 408, 429, 500, 503])
async def test_a_refused_call_used_nothing(model, server, status):
    meter = Meter()
    server.queue(Answer(status=status, body='{"error": {"message": "no"}}'))
    with pytest.raises(ModelError):
        await metered(model, meter).complete(REQUEST)
    assert (meter.llm_calls, meter.total_tokens, meter.cost_usd, meter.estimated) == (0, 0, 0.0, False)


NO_REPLIES = {"html": Answer(body="<html>"), "no message": {"choices": [{"message": None}]}, "nothing": {"choices": []}}


@pytest.mark.parametrize("answer", NO_REPLIES.values(), ids=NO_REPLIES)
async def test_an_answer_that_is_no_reply_is_counted(model, server, answer):
    meter = Meter()
    server.queue(answer)
    with pytest.raises(ModelError):
        await metered(model, meter).complete(REQUEST)
    assert (meter.llm_calls, meter.estimated, meter.cost_usd) == (1, True, None)


@pytest.mark.parametrize("lane", ["direct", "litellm"])
async def test_a_server_that_is_not_there_was_asked_for_nothing(lane):
    meter, http = Meter(), HttpClient()
    with kept_port() as port:
        url = f"http://127.0.0.1:{port}/v1"
        if lane == "direct":
            model = DirectModel(CallSettings(name="m", model="x", api_base=url), http)
        else:
            model = LiteLLMModel(CallSettings(name="m", model="openai/x", api_base=url, api_key="sk-none"))
        with pytest.raises(ModelError) as caught:
            await metered(model, meter).complete(REQUEST)
    await http.aclose()
    await close_connections()
    assert (caught.value.type, caught.value.sent) == ("connection", False)
    assert meter.llm_calls == 0


async def test_of_a_stream_that_breaks_off_what_was_heard_counts_as_output(model, server):
    heard: list[str] = []

    async def sink(delta: TextPiece | Restarted) -> None:
        heard.append(delta.text)

    meter = Meter()
    server.queue(trickled([sse(chunk({"content": "x" * 400}), done=False)]))
    asked = ModelRequest(messages=REQUEST.messages, on_delta=sink)
    with pytest.raises(ModelError):
        await metered(model, meter).complete(asked)
    assert "".join(heard) == "x" * 400
    assert (meter.llm_calls, meter.output_tokens, meter.estimated) == (1, 100, True)
