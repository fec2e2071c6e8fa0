"""A run that is taken over amid parallel lanes has used what it would have used in one process."""

import asyncio
import json

import pytest

from tests.hosting.test_takeover import gone

LANES = """\
kind: Workflow
metadata: { name: lanes, description: Ask for each item at once. }
spec:
  limits: { max_tokens: 200, max_steps: 30 }
  steps:
    - id: each
      kind: ForEach
      items: [1, 2, 3, 4, 5, 6]
      as: item
      step: sub
      concurrency: 3
      output_key: got
    - { id: sub, kind: Workflow, workflow: inner_lanes, input: { n: "{{ item }}" }, output_key: out }
---
kind: Workflow
metadata: { name: inner_lanes, description: Ask twice. }
spec:
  input: { type: object, properties: { n: { type: integer } }, required: [n] }
  steps:
    - { id: one, kind: Agent, mode: completion, agent: { model: lane, prompt: "one {{ n }}" } }
    - { id: two, kind: Agent, mode: completion, agent: { model: lane, prompt: "two {{ n }}" } }
"""

MODEL = """\
kind: AgentModel
metadata: { name: lane }
spec:
  provider: scripted
  price: { input_per_mtok: 1, output_per_mtok: 2 }
  replies: [{ when: { role: user }, text: ok, usage: { input_tokens: 10, output_tokens: 1 } }]
"""

POINTS = (
    "before each#1/[2]/one#1/end",
    "before each#1/[1]/end",
    "after each#1/[3]/two#1/turn.lane#1",
    "before each#1/end",
)


@pytest.mark.parametrize("point", POINTS)
async def test_taken_over_amid_parallel_lanes_a_run_has_used_what_its_calls_used(point, site, spawn):
    (site.folder / "workflows" / "lanes.yaml").write_text(LANES, encoding="utf-8")
    (site.folder / "llms" / "lane.yaml").write_text(MODEL, encoding="utf-8")
    await gone(spawn(site, kill=point, start={"workflow": "lanes", "run_id": "r"}))
    async with site.host(concurrency=0) as host:
        while await host.state("r") == "running":
            await asyncio.sleep(0.02)
        await host.take("r")
        document = await host.wait("r", 30)
    assert document is not None
    assert document["status"] == "completed", document["error"]
    used = document["usage"]
    assert (used["llm_calls"], used["total_tokens"]) == (12, 132), json.dumps(used)
    assert used["cost_usd"] == pytest.approx(144e-6)
