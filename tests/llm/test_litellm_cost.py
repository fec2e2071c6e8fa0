"""What the LiteLLM lane says a call cost: once, from the table, in full."""

import pytest

from tests.support.openai_server import message, serving
from tuvl.llm.litellm_model import LiteLLMModel, close_connections
from tuvl.llm.messages import Message, ModelRequest
from tuvl.llm.meter import Meter
from tuvl.llm.pricing import table_price
from tuvl.llm.settings import CallSettings


async def test_call_of_a_listed_model_is_priced_once():
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
    async with serving() as server:
        server.queue(message("x", usage=usage, model="gpt-4o"))
        model = LiteLLMModel(CallSettings(name="m", model="openai/gpt-4o", api_base=server.url, api_key="sk-0123456"))
        request = ModelRequest(messages=[Message(role="user", content="hi")])
        reply = await model.complete(request)
        await close_connections()
    meter = Meter()
    meter.count_reply(request, reply, model.price)
    price = table_price("openai/gpt-4o")
    assert price is not None
    assert meter.cost_usd == pytest.approx((1000 * price.input_per_mtok + 100 * price.output_per_mtok) / 1e6)
