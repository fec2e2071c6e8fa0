"""A model that may be called only so often: calls wait, as part of their run, seen from outside."""

import asyncio
from pathlib import Path

import pytest

from tests.support.clock import SkippingClock
from tuvl.control import RunControl
from tuvl.events.types import Event, ModelCallDelayed, ModelCallStarted
from tuvl.project.index import ProjectIndex
from tuvl.runtime import Engine
from tuvl.settings import load_settings

FLOW = """\
kind: Workflow
metadata: { name: w, description: Ask. }
spec:
  limits: { timeout_s: 900 }
  steps:
    - id: ask
      kind: Agent
      mode: completion
      agent: { model: m, prompt: Hello, retry: { attempts: 2 }, outcome: { write: said } }
"""

MODEL = """\
kind: AgentModel
metadata: { name: m }
spec:
  provider: scripted
  rate_limit: { calls: 1, per_seconds: 60 }
  replies: [one, two]
"""


class Seen:
    def __init__(self) -> None:
        self.bodies: list[object] = []
        self.delayed = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def accept(self, event: Event) -> None:
        self.bodies.append(event.body)
        if isinstance(event.body, ModelCallDelayed):
            self._loop.call_soon_threadsafe(self.delayed.set)  # sinks hear in a thread of their own


@pytest.fixture
def project(tmp_path: Path) -> ProjectIndex:
    (tmp_path / "workflows").mkdir()
    (tmp_path / "llms").mkdir()
    (tmp_path / "workflows" / "w.yaml").write_text(FLOW)
    (tmp_path / "llms" / "m.yaml").write_text(MODEL)
    return ProjectIndex(tmp_path)


async def test_runs_of_one_engine_share_the_rate_of_a_model_and_tell_that_they_wait(project: ProjectIndex) -> None:
    clock, seen = SkippingClock(), Seen()
    engine = Engine(project, settings=load_settings({}), environ={}, clock=clock)
    plan = engine.plan(project.workflow("w"))
    first = await engine.run(plan, {}, sinks=[seen])
    assert not any(isinstance(body, ModelCallDelayed) for body in seen.bodies)
    second = await engine.run(plan, {}, sinks=[seen])
    await engine.aclose()
    assert [first.status, second.status] == ["completed", "completed"]
    assert clock.slept == [60]
    (delayed,) = [number for number, body in enumerate(seen.bodies) if isinstance(body, ModelCallDelayed)]
    assert seen.bodies[delayed] == ModelCallDelayed(iteration=1, wait_s=60)
    assert isinstance(seen.bodies[delayed + 1], ModelCallStarted)


async def test_another_attempt_is_another_call(project: ProjectIndex) -> None:
    failing = MODEL.replace("[one, two]", "[{ error: { type: server_error } }, two]")
    (project.root / "llms" / "m.yaml").write_text(failing)
    clock = SkippingClock()
    engine = Engine(project, settings=load_settings({}), environ={}, clock=clock)
    result = await engine.run(engine.plan(project.workflow("w")), {})
    await engine.aclose()
    assert result.status == "completed"
    assert sum(clock.slept) == 60, "a second of it before the next attempt"


async def test_a_run_is_aborted_while_it_waits(project: ProjectIndex) -> None:
    engine = Engine(project, settings=load_settings({}), environ={})
    plan, control, seen = engine.plan(project.workflow("w")), RunControl(), Seen()
    await engine.run(plan, {})
    waiting = asyncio.create_task(engine.run(plan, {}, control=control, sinks=[seen]))
    await seen.delayed.wait()
    control.abort("enough")
    assert (await waiting).status == "aborted"
    await engine.aclose()


async def test_the_wait_is_part_of_the_time_of_the_run_and_of_no_call(project: ProjectIndex) -> None:
    engine = Engine(project, settings=load_settings({}), environ={})
    plan = engine.plan(project.workflow("w"))
    await engine.run(plan, {})
    result = await engine.run(plan, {}, timeout_s=0.05)
    await engine.aclose()
    assert result.status == "failed"
    assert result.error is not None
    assert result.error.type == "timeout"
    assert result.usage.llm_calls == 0


async def test_a_recording_is_played_without_waiting(project: ProjectIndex, tmp_path: Path) -> None:
    record = tmp_path / "calls.yaml"
    recording = Engine(project, settings=load_settings({}), environ={}, record=record)
    await recording.run(recording.plan(project.workflow("w")), {})
    await recording.aclose()
    clock = SkippingClock()
    engine = Engine(project, settings=load_settings({}), environ={}, clock=clock, replay=record)
    for _ in range(2):
        assert (await engine.run(engine.plan(project.workflow("w")), {})).status == "completed"
    await engine.aclose()
    assert clock.slept == []
