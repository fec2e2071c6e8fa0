"""The meter: totals that never fall, whatever providers report, and costs that stay unknown when they are."""

import math

from hypothesis import given
from hypothesis import strategies as st

from tuvl.llm.messages import Message, ModelReply, ModelRequest, Price, Usage
from tuvl.llm.meter import Meter
from tuvl.llm.wire import parse_usage

ANY_NUMBER = st.none() | st.integers() | st.floats() | st.booleans() | st.text(max_size=3)
REPORT = st.dictionaries(
    st.sampled_from(["prompt_tokens", "completion_tokens", "total_tokens", "input_tokens", "prompt_tokens_details"]),
    ANY_NUMBER | st.dictionaries(st.just("cached_tokens"), ANY_NUMBER),
)
REQUEST = ModelRequest(messages=[Message(role="user", content="hello")])


def said(usage: Usage | None) -> ModelReply:
    return ModelReply(message=Message(role="assistant", content="hi"), usage=usage)


@given(reports=st.lists(st.none() | REPORT, max_size=8))
def test_usage_never_falls_and_every_call_counts_for_something(reports):
    run = Meter()
    agent = Meter(parent=run)
    seen = 0
    for report in reports:
        agent.count_reply(REQUEST, said(parse_usage(report)), None)
        assert agent.total_tokens > seen
        assert agent.total_tokens >= agent.input_tokens + agent.output_tokens
        seen = agent.total_tokens
    assert (run.total_tokens, run.llm_calls) == (agent.total_tokens, len(reports))


def test_one_unpriced_call_makes_the_cost_unknown_for_good():
    """E08."""
    meter = Meter()
    usage = Usage(input_tokens=1_000_000, output_tokens=0, total_tokens=1_000_000)
    meter.count_reply(REQUEST, said(usage), Price(input_per_mtok=2.0, output_per_mtok=8.0))
    assert meter.cost_usd == 2.0
    meter.count_reply(REQUEST, said(usage), None)
    assert meter.cost_usd is None


def test_cached_input_has_its_own_price():
    usage = Usage(input_tokens=1000, output_tokens=100, total_tokens=1100, cached_input_tokens=400)
    price = Price(input_per_mtok=10.0, output_per_mtok=20.0, cached_input_per_mtok=1.0)
    assert math.isclose(price.cost(usage), (600 * 10 + 400 * 1 + 100 * 20) / 1e6)
