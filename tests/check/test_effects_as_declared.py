"""A step that says it reads and writes by its own text takes no write past the policy, nor past who is to be asked."""

from pathlib import Path

import pytest

from tests.check.checking import check, messages, of, workflow
from tuvl.analysis.policy import asks_by_policy
from tuvl.analysis.steps import StepView, WorkflowView, mapping
from tuvl.check.finding import Severity
from tuvl.project.index import ProjectIndex

POST = 'kind: APICall, http: { url: "https://m.example/", method: POST }'
OPTIONS = 'kind: APICall, http: { url: "https://m.example/", method: OPTIONS }'
OVERRIDDEN = 'kind: APICall, http: { url: "https://m.example/", headers: { X-HTTP-Method-Override: "AS" } }'
NODES = """
from tuvl import node


@node("writes", effects="write")
def writes(ctx):
    return {}


@node("silent")
def silent(ctx):
    return {}
"""
SUB = """
kind: Workflow
metadata: { name: sub }
spec:
  steps:
    - { id: pay, STEP }
"""
RECORD = """
kind: ModelDefinition
metadata: { name: T }
spec: { tablename: t, fields: [{ name: a, type: integer, primary_key: true }] }
"""


def files(tool: str, *, inside: str = POST, entry: str = "") -> dict[str, str]:
    agent = f"{{ model: own/x, steering: Work., tools: [{{ ref: tool, {entry} }}] }}"
    steps = f"""
- {{ id: work, kind: Agent, mode: autonomous, agent: {agent}, routes: {{ max_iterations: END }} }}
- {{ id: tool, description: Does it., {tool} }}
- {{ id: body, {POST}, danger: true }}
- {{ id: call, kind: Workflow, workflow: sub }}
"""
    config = "kind: ProjectConfig\nspec: { policy: { require_approval: { effects: [write] } } }\n"
    return workflow(steps, "context: T") | {
        "tuvl.yaml": config,
        "nodes/n.py": NODES,
        "models/t.yaml": RECORD,
        "workflows/sub.yaml": SUB.replace("STEP", inside),
    }


def tool_of(tmp_path: Path, given: dict[str, str]) -> tuple[StepView, WorkflowView, ProjectIndex]:
    check(tmp_path, given)
    project = ProjectIndex(tmp_path)
    document = project.workflow("w")
    assert document is not None
    view = WorkflowView(mapping(document.data))
    return view.by_id["tool"], view, project


@pytest.mark.parametrize(
    ("tool", "inside", "asks"),
    [
        (f"{POST}, effects: read", POST, True),
        (POST, POST, True),
        ("kind: ModelOp, model: T, operation: create, payload: { a: 1 }, effects: read", POST, True),
        ("kind: Functional, runner: writes, effects: read", POST, True),
        ("kind: Workflow, workflow: sub, effects: read", POST, True),
        ("kind: Workflow, workflow: sub, effects: read", f"{POST}, effects: read", True),
        ("kind: Workflow, workflow: sub, effects: read", "kind: Workflow, workflow: gone, effects: read", True),
        ("kind: Workflow, workflow: sub, effects: read", "kind: ModelOp, model: T, operation: list", False),
        ("kind: ModelOp, model: T, operation: list", POST, False),
        ("kind: ModelOp, model: T, operation: list, effects: write", POST, True),
        ("kind: Functional, runner: silent, effects: read", POST, False),
        ('kind: APICall, http: { url: "https://m.example/" }', POST, False),
        (f"{OPTIONS}, effects: read", POST, False),
        (OPTIONS, POST, True),
        (OVERRIDDEN.replace("AS", "delete"), POST, True),
        (OVERRIDDEN.replace("AS", "{{ args.m }}") + ", effects: read", POST, True),
        (OVERRIDDEN.replace("AS", "get"), POST, False),
        ("kind: ForEach, items: [1], step: body, effects: read", POST, True),
        ("kind: ForEach, items: [1], step: call, effects: read", POST, True),
        ("kind: ForEach, items: [1], step: call, effects: read", 'kind: APICall, http: { url: "https://m/" }', False),
        (
            "kind: Workflow, workflow: sub, effects: read",
            "kind: ForEach, items: [1], step: one }\n    - { id: one, " + POST,
            True,
        ),
    ],
)
def test_policy_asks_about_what_writes_whatever_the_step_says(
    tmp_path: Path, tool: str, inside: str, asks: bool
) -> None:
    assert asks_by_policy(*tool_of(tmp_path, files(tool, inside=inside))) is asks


def without_policy(given: dict[str, str]) -> dict[str, str]:
    return given | {"tuvl.yaml": "kind: ProjectConfig\nspec: {}\n"}


DANGER = f"{POST}, danger: true"
PERSON = "kind: HumanInTheLoop, ui: { title: Pay? }, human_feedback: [{ name: ok, type: boolean }] }"


@pytest.mark.parametrize(
    ("tool", "inside", "told"),
    [
        (DANGER, POST, "may call 'tool' unasked, a write"),
        (f"{DANGER}, effects: read", POST, "may call 'tool' unasked, a write"),
        ("kind: Workflow, workflow: sub", DANGER, "which runs 'pay' of workflow 'sub', a write"),
        (
            "kind: Workflow, workflow: sub",
            f"kind: ForEach, items: [1], step: one }}\n    - {{ id: one, {DANGER}",
            "which runs 'one' of workflow 'sub', a write",
        ),
        (
            "kind: Workflow, workflow: sub",
            f"kind: Router, match: {{ field: x }}, routes: {{ a: ask, b: after }} }}\n    - {{ id: ask, {PERSON}\n"
            f"    - {{ id: after, {DANGER}",
            "which runs 'after' of workflow 'sub', a write",
        ),
        ("kind: Workflow, workflow: sub", f"{PERSON}\n    - {{ id: after, {DANGER}", None),
        ("kind: Workflow, workflow: sub", 'kind: APICall, http: { url: "https://m.example/" }, danger: true', None),
        ("kind: Workflow, workflow: sub", "kind: Workflow, workflow: sub", None),
        (POST, DANGER, None),
    ],
)
def test_dangerous_write_is_told_where_a_tool_comes_to_it_and_nobody_is_asked(
    tmp_path: Path, tool: str, inside: str, told: str | None
) -> None:
    found = messages(check(tmp_path, without_policy(files(tool, inside=inside))), "TV709")
    assert len(found) == (told is not None)
    assert all(told in message for message in found if told is not None)
    approved = without_policy(files(tool, inside=inside, entry="approval: required"))
    assert messages(check(tmp_path, approved), "TV709") == []


CLOSED = "parameters: { type: object, additionalProperties: false, properties: { b: { type: number } } }"


@pytest.mark.parametrize(
    ("tool", "inside"),
    [
        ("kind: ModelOp, model: T, operation: create, payload: { a: '{{ args.b }}' }, effects: read", POST),
        (POST.replace("POST", "POST, json: { n: '{{ args.b }}' }") + ", effects: read", POST),
        ("kind: ForEach, items: ['{{ args.b }}'], step: body, effects: read", POST),
        ("kind: Workflow, workflow: sub, input: { n: '{{ args.b }}' }, effects: read", POST),
    ],
)
def test_write_is_a_sink_whatever_the_step_says(tmp_path: Path, tool: str, inside: str) -> None:
    given = without_policy(files(tool, inside=inside, entry=CLOSED))
    text = given["workflows/w.yaml"].replace(
        "context: T", "context: T\n  input: { properties: { t: { type: string } } }"
    )
    found = messages(check(tmp_path, given | {"workflows/w.yaml": text}), "TV702")
    assert ["which can act with 'tool' unasked" in message for message in found] == [True]


@pytest.mark.parametrize(
    ("tool", "why"),
    [
        (f"{POST}, effects: read", "its method is POST"),
        ("kind: ModelOp, model: T, operation: delete, record_id: 1, effects: read", "its operation is delete"),
        ("kind: Functional, runner: writes, effects: read", "its node 'writes' declares that it writes"),
        ("kind: Workflow, workflow: sub, effects: read", "what it runs writes"),
        ("kind: ForEach, items: [1], step: body, effects: read", "what it runs writes"),
        (POST, None),
        ("kind: Functional, runner: silent, effects: read", None),
        ('kind: APICall, http: { url: "https://m.example/" }, effects: read', None),
    ],
)
def test_label_that_is_not_believed_is_told(tmp_path: Path, tool: str, why: str | None) -> None:
    found = of(check(tmp_path, files(tool)), "TV713")
    assert [finding.severity for finding in found] == [Severity.NOTE] * (why is not None)
    for finding in found:
        assert finding.path == "spec.steps[1].effects"
        assert str(why) in finding.message


def test_label_of_a_step_that_no_agent_calls_is_the_authors_own(tmp_path: Path) -> None:
    assert of(check(tmp_path, workflow(f"- {{ id: a, {POST}, effects: read }}")), "TV713") == []
