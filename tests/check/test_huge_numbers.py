"""A number that no float can hold is a number like any other: no check falls over it."""

from pathlib import Path

import pytest

from tuvl.check.runner import check_paths

HUGE = "1" + "0" * 400

WORKFLOW = """\
kind: Workflow
metadata: {{ name: w }}
spec:
  limits: {{ {limits} }}
  steps:
    - id: a
      kind: Agent
      mode: autonomous
      agent: {{ model: m, steering: Go., tools: [{{ ref: t, description: Do it., {tool} }}], {agent} }}
      routes: {{ default: END, error: END }}
    - {{ id: t, kind: Functional, runner: set, values: {{ x: 1 }}, {step} }}
---
kind: AgentModel
metadata: {{ name: m }}
spec:
  provider: scripted
  replies: [done]
  price: {{ input_per_mtok: {price}, output_per_mtok: {price} }}
"""

AGENT_FIELDS = (
    "max_iterations: N",
    "token_budget: N",
    "cost_budget_usd: N",
    "max_wall_clock_s: N",
    "max_tool_calls: N",
    "max_calls_per_turn: N",
    "tool_result_max_chars: N",
    "tool_result_max_bytes: N",
    "answer_retries: N",
    "timeout_s: N",
    "max_output_tokens: N",
    "max_consecutive_tool_failures: N",
    "conclude: { margin: N }",
    "conclude: { deadline_s: N }",
    "compaction: { max_tokens: N }",
    "retry: { attempts: N }",
    "retry: { attempts: 2, max_backoff_s: N }",
    "context_limits: { max_bytes: N }",
)

CASES = [
    *({"agent": field} for field in AGENT_FIELDS),
    *({"agent": field, "limits": "max_cost_usd: 1, max_tokens: 5, timeout_s: 5"} for field in AGENT_FIELDS),
    *(
        {"limits": f"{name}: N"}
        for name in ("max_steps", "timeout_s", "max_tokens", "max_cost_usd", "max_context_bytes")
    ),
    *({"tool": f"{name}: N"} for name in ("timeout_s", "max_calls", "max_result_chars")),
    {"step": "timeout_s: N"},
    {"price": "N"},
    {"price": "N", "agent": "cost_budget_usd: 1"},
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(case.values()))
def test_no_check_falls_over_a_huge_number(case: dict[str, str], tmp_path: Path) -> None:
    fields = {"agent": "", "limits": "", "tool": "", "step": "", "price": "1", **case}
    text = WORKFLOW.format(**{name: value.replace("N", HUGE) for name, value in fields.items()})
    (tmp_path / "w.yaml").write_text(text.replace(",  }", " }").replace(", }", " }"), encoding="utf-8")
    report = check_paths([tmp_path / "w.yaml"])
    assert not report.broken
    assert [finding.message for finding in report.findings if finding.code in ("TV001", "TV999")] == []
