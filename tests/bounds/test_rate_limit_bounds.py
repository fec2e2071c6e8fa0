"""A model that may be called only so often takes its time."""

import json
from pathlib import Path

import pytest

from tests.check.checking import workflow
from tests.cli.cli_support import tuvl, write
from tuvl.analysis.language_models import preset_facts

AGENT = """
- id: a
  kind: Agent
  mode: completion
  agent: { model: m, prompt: Hi, timeout_s: 10, retry: { attempts: 4 } }
"""
MODEL = "kind: AgentModel\nmetadata: { name: m }\nspec: { provider: scripted, replies: [hi]%s }\n"


@pytest.mark.parametrize(("calls", "seconds"), [(1, 30), (2, 30), (3, 60), (5, 90)])
def test_a_period_is_waited_for_so_many_calls(calls: int, seconds: float) -> None:
    facts = preset_facts("m", {"provider": "scripted", "rate_limit": {"calls": 2, "per_seconds": 30}})
    assert facts.waits_s(calls) == seconds
    assert preset_facts("m", {"provider": "scripted"}).waits_s(calls) == 0


def test_the_wait_is_in_the_worst_case_of_a_run_with_what_it_rests_on(tmp_path: Path) -> None:
    found = []
    for limit in ("", ", rate_limit: { calls: 2, per_seconds: 30 }"):
        write(tmp_path, {**workflow(AGENT), "llms/m.yaml": MODEL % limit})
        said = tuvl("bounds", "w", "--format", "json", cwd=tmp_path)
        document = json.loads(said.stdout)
        found.append(document["proved"]["seconds"]["value"])
        assert ("rate_limit" in " ".join(document["assumptions"])) is bool(limit)
    assert found[1] - found[0] == 60
