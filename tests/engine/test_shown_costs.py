"""Dollars as they are shown: sums of small prices collect noise, which is nobody's business."""

from tests.agent.loop_support import Model, ask, say
from tests.engine.agent_support import agent_project
from tests.engine.run_support import Seen
from tuvl.events.serialize import to_wire
from tuvl.llm.messages import Price
from tuvl.values import dollars, number_text

PRICE = Price(input_per_mtok=0.07, output_per_mtok=0.13)


async def test_costs_are_shown_without_the_noise_of_their_sums(tmp_path):
    seen = Seen()
    project = agent_project(tmp_path, audit=True)
    project.chat_models["default"] = Model([*[ask(("put", {}), tokens=33)] * 3, say("done", tokens=33)], price=PRICE)
    result = await project.run(trace=True, sinks=[seen])
    shown = [result.to_json()["usage"]["cost_usd"]]
    shown += [event["cost_usd"] for event in map(to_wire, seen.events) if "cost_usd" in event]
    shown += [entry["usage"]["cost_usd"] for entry in result.trace or () if "usage" in entry]
    assert len(shown) > 4
    assert [cost for cost in shown if cost is None or len(str(cost)) > len("0.000000001")] == []


def test_dollars_are_rounded_to_a_thousandth_of_a_millionth():
    assert dollars(0.00043899999999999994) == 0.000439
    assert dollars(None) is None


def test_numbers_are_written_as_they_stand_in_a_file():
    numbers = [5, 5.0, 0.5, 1234567.0, 1e15, 0.0000001, 10**30, 10**60]
    assert list(map(number_text, numbers)) == [
        "5",
        "5",
        "0.5",
        "1234567",
        "1000000000000000",
        "0.0000001",
        "1" + "0" * 30,
        "1" + "0" * 39 + "… (61 digits)",
    ]
