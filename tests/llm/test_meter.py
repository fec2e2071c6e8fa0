"""The meter: totals that never fall, whatever providers report, and costs that stay unknown when they are."""

import math

import pytest
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


PRICE = Price(input_per_mtok=2.0, output_per_mtok=8.0)

NONSENSE = {
    "text": "x",
    "below zero": -1_000_000,
    "no number": math.nan,
    "without end": math.inf,
    "a flag": True,
    "larger than any call": 10**30,
    "a list": [5],
}


@pytest.mark.parametrize("bad", NONSENSE.values(), ids=NONSENSE)
@pytest.mark.parametrize("field", ["prompt_tokens", "completion_tokens"])
def test_reported_nonsense_is_estimated_marked_so_and_paid_for(bad, field):
    """A provider whose numbers are broken spends from every budget."""
    report = {"prompt_tokens": 40, "completion_tokens": 5, field: bad, "total_tokens": bad}
    meter = Meter()
    used = meter.count_reply(REQUEST, said(parse_usage(report)), PRICE)
    assert (used.input_tokens > 0, used.output_tokens > 0, used.estimated) == (True, True, True)
    assert used.total_tokens == used.input_tokens + used.output_tokens < 10**6
    assert used.cost_usd == PRICE.cost(used)
    good = "output_tokens" if field == "prompt_tokens" else "input_tokens"
    assert getattr(used, good) == (5 if field == "prompt_tokens" else 40)


@pytest.mark.parametrize("bad", NONSENSE.values(), ids=NONSENSE)
def test_nonsense_in_all_of_it_is_as_if_nothing_had_been_reported(bad):
    report = {"prompt_tokens": bad, "completion_tokens": bad, "total_tokens": bad}
    assert parse_usage(report) is None
    guest = Usage(input_tokens=bad, output_tokens=bad, total_tokens=bad, cached_input_tokens=bad)
    used = Meter().count_reply(REQUEST, said(guest), None)
    assert used.estimated
    assert used == Meter().count_reply(REQUEST, said(None), None)


@pytest.mark.parametrize(
    ("report", "inputs", "outputs", "estimated"),
    [
        ({"prompt_tokens": 10, "total_tokens": 15}, 10, 5, False),
        ({"completion_tokens": 5, "total_tokens": 15}, 10, 5, False),
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": "x"}, 10, 5, False),
        ({"prompt_tokens": 10, "completion_tokens": 0, "total_tokens": 10}, 10, 0, False),
        ({"prompt_tokens": "10", "completion_tokens": "5"}, 10, 5, False),
        ({"prompt_tokens": 10, "completion_tokens": 4.5}, 10, 5, True),
        ({"total_tokens": 5000}, 4995, 5, True),
        ({"completion_tokens": 5, "total_tokens": 5}, 6, 5, True),
    ],
)
def test_a_number_that_is_missing_follows_from_the_others_where_it_can(report, inputs, outputs, estimated):
    used = Meter().count_reply(REQUEST, said(parse_usage(report)), None)
    assert (used.input_tokens, used.output_tokens, used.estimated) == (inputs, outputs, estimated)


@pytest.mark.parametrize("bad", ["x", True, math.nan, -1.0, math.inf, [1]])
def test_a_reported_cost_that_is_no_amount_is_reckoned_from_the_price_or_unknown(bad):
    usage = Usage(input_tokens=1_000_000, output_tokens=0, total_tokens=1_000_000, cost_usd=bad)
    meter = Meter()
    assert meter.count_reply(REQUEST, said(usage), PRICE).cost_usd == 2.0
    assert meter.count_reply(REQUEST, said(usage), None).cost_usd is None
