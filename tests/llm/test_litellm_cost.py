"""What the LiteLLM lane says a call cost: once, from the table, in full."""

import pytest

from tests.support.openai_server import in_pieces, message, serving
from tuvl.llm.litellm_model import LiteLLMModel, close_connections
from tuvl.llm.messages import Message, ModelRequest
from tuvl.llm.meter import Meter
from tuvl.llm.pricing import table_price
from tuvl.llm.settings import CallSettings


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "in pieces"])
async def test_call_of_a_listed_model_is_priced_once(stream):
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}

    async def sink(delta) -> None:
        pass

    async with serving() as server:
        reply = message("x", usage=usage, model="gpt-4o")
        server.queue(in_pieces(reply) if stream else reply)
        model = LiteLLMModel(CallSettings(name="m", model="openai/gpt-4o", api_base=server.url, api_key="sk-0123456"))
        request = ModelRequest(messages=[Message(role="user", content="hi")], on_delta=sink if stream else None)
        reply = await model.complete(request)
        await close_connections()
    assert reply.usage.cost_usd is not None
    meter = Meter()
    meter.count_reply(request, reply, model.price)
    price = table_price("openai/gpt-4o")
    assert price is not None
    assert meter.cost_usd == pytest.approx((1000 * price.input_per_mtok + 100 * price.output_per_mtok) / 1e6)
