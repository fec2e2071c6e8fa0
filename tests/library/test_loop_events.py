"""What a loop in Python tells while it goes: when it beats, and in which span."""

import asyncio

import pytest

from tests.support.clock import SkippingClock
from tests.telemetry.recorded import Recorded
from tuvl import AgentLoop, Message, ModelReply
from tuvl.llm.messages import Usage
from tuvl.testing import ScriptedModel, calls, reply


@pytest.fixture
def recorded():
    recording = Recorded()
    recording.telemetry.start()
    yield recording
    recording.telemetry.close()


def lookup(number: str) -> dict:
    """Look an order up."""
    return {"number": number}


async def test_nothing_beats_while_a_reservation_is_waited_for():
    """A heartbeat says that a model call or a tool is in flight; a reservation is neither."""
    seen = []

    class Quota:
        async def reserve(self, _request):
            for _ in range(20):
                await asyncio.sleep(0)
            seen.append("reserved")

        async def refund(self, _request, _used):
            seen.append("settled")

    class Model:
        name, price = "m", None

        async def complete(self, _request):
            while "heartbeat" not in seen:
                await asyncio.sleep(0)
            return ModelReply(message=Message(role="assistant", content="done"), usage=Usage(total_tokens=7))

        async def aclose(self):
            pass

    loop = AgentLoop(model=Model(), reservation=Quota(), heartbeat_s=1, clock=SkippingClock())
    async with asyncio.timeout(5):
        await loop.run("Go.", on_event=lambda event: seen.append(event.body.type))
    said = [name for name in seen if name in {"reserved", "heartbeat", "settled"}]
    assert said[0] == "reserved"
    assert said[-1] == "settled"
    assert set(said[1:-1]) == {"heartbeat"}


async def test_events_name_the_span_they_happen_in(recorded: Recorded):
    events = []
    model = ScriptedModel([calls("lookup", {"number": "A-1"}), reply("done")])
    await AgentLoop(model=model, tools=[lookup]).run("Go.", on_event=events.append)
    spans = {f"{span.context.span_id:016x}": span for span in recorded.spans}

    def places(type):
        return [spans[event.span.span_id] for event in events if event.body.type == type]

    assert [span.attributes["tuvl.agent.iteration"] for span in places("iteration")] == [1, 2]
    assert [span.name for span in places("tool_call_started")] == ["agent.iteration"]


async def test_without_a_tracer_events_name_no_span():
    events = []
    await AgentLoop(model=ScriptedModel([reply("done")])).run("Go.", on_event=events.append)
    assert events
    assert {event.span for event in events} == {None}
