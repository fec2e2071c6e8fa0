"""A step that failed may tell it in a stranger's words: whoever shows those to a model shows untrusted text."""

from pathlib import Path

import pytest

from tests.check.checking import check, messages, workflow

HEAD = """
input:
  type: object
  additionalProperties: false
  required: [text, n]
  properties: { text: { type: string }, n: { type: integer } }
"""
CALL = 'kind: APICall, http: { url: "https://a.example/" }'
SUB = """
kind: Workflow
metadata: { name: sub }
spec:
  input: { type: object, additionalProperties: false, properties: {} }
  steps: [{ id: c, kind: APICall, http: { url: "https://a.example/" }, routes: { ROUTES } }]
"""
RATES = "kind: Agent, mode: completion, agent: { model: own/x, prompt: Rate., outcome: { enum: [good] } }"


def files(first: str, shown: str, *, signal: str = "error", routes: str = "", inside: str = "") -> dict[str, str]:
    """A step, then an agent whose instructions show something of its failure."""
    steps = f"""
- {{ id: first, {first}, routes: {{ default: END, {signal}: ask, {routes} }} }}
- id: ask
  kind: Agent
  mode: completion
  agent: {{ model: own/x, prompt: Hi., system: "Mend {{{{ {shown} }}}}" }}
  routes: {{ timeout: END, error: END, aborted: END, default: END }}
- {{ id: body, {CALL} }}
"""
    return workflow(steps, HEAD) | {"workflows/sub.yaml": SUB.replace("ROUTES", inside)}


@pytest.mark.parametrize(
    ("first", "shown"),
    [
        (CALL, "_last_error"),
        (CALL, "_last_error_detail"),
        (CALL, "_last_error_detail.body"),
        ("kind: MCP, mcp: { server: artifact://s@1, tool: t }", "_last_error"),
        ("kind: Workflow, workflow: sub, input: {}", "_last_error"),
        ("kind: ForEach, items: [1], step: body", "_last_error"),
        ('kind: Functional, runner: fail, message: "No: {{ text }}"', "_last_error"),
    ],
)
def test_failure_that_quotes_a_stranger_is_no_instruction(tmp_path: Path, first: str, shown: str) -> None:
    (message,) = messages(check(tmp_path, files(first, shown)), "TV710")
    assert f"shows {shown!r}" in message


def test_refused_answer_is_quoted_by_the_failure_of_its_agent(tmp_path: Path) -> None:
    given = files(RATES, "_last_error_detail.received", signal="parse_error", routes="good: END, timeout: END")
    (message,) = messages(check(tmp_path, given), "TV710")
    assert message.endswith("the failure in '_last_error_detail' of Agent → first (parse_error) → ask")


@pytest.mark.parametrize(
    ("first", "shown", "inside"),
    [
        (CALL, "_last_error_type", ""),
        (CALL, "_last_error_step", ""),
        (CALL, "_last_error_detail.status", ""),
        ("kind: Workflow, workflow: sub, input: {}", "_last_error", "error: END"),
        ("kind: ModelOp, model: T, operation: list", "_last_error", ""),
        ("kind: Functional, runner: fail, message: Nothing to do.", "_last_error", ""),
        ('kind: Functional, runner: fail, message: "No: {{ n }}"', "_last_error", ""),
    ],
)
def test_failure_in_the_words_of_the_engine_is_clean(tmp_path: Path, first: str, shown: str, inside: str) -> None:
    assert messages(check(tmp_path, files(first, shown, inside=inside)), "TV710") == []


def test_agent_that_ran_out_of_time_has_quoted_nothing(tmp_path: Path) -> None:
    given = files(RATES, "_last_error", signal="timeout", routes="good: END, parse_error: END, error: END")
    assert messages(check(tmp_path, given), "TV710") == []


def test_later_failure_takes_the_place_of_one_that_quotes(tmp_path: Path) -> None:
    given = files("kind: Functional, runner: set, values: { a: 1 }", "_last_error")
    call = f"    - {{ id: call, {CALL}, routes: {{ default: END, error: first }} }}\n"
    given["workflows/w.yaml"] = given["workflows/w.yaml"].replace("  steps:\n", f"  steps:\n{call}")
    assert messages(check(tmp_path, given), "TV710") == []


def test_copy_of_a_failure_that_quotes_is_untrusted(tmp_path: Path) -> None:
    copies = 'kind: Functional, runner: set, values: { why: "{{ _last_error }}" }'
    given = files(copies, "why", signal="default", routes="error: END").copy()
    text = given["workflows/w.yaml"].replace("default: END, default: ask", "default: ask")
    call = f"    - {{ id: call, {CALL}, routes: {{ default: END, error: first }} }}\n"
    given["workflows/w.yaml"] = text.replace("  steps:\n", f"  steps:\n{call}")
    (message,) = messages(check(tmp_path, given), "TV710")
    assert message.endswith("the failure in '_last_error' of APICall → call (error) → first → ask")
