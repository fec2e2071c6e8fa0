"""What a change means: each kind of change has its class and its name, and turned round it does not widen."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.changes.samples import side
from tests.check.project_files import write
from tuvl.changes.change import CODES, GRAVE, Change, ChangeClass
from tuvl.changes.compare import compare
from tuvl.changes.site import doc_of
from tuvl.source.loading import load_data

WORKFLOW = """\
kind: Workflow
metadata: { name: desk, description: Answers. }
spec:
  input: { type: object, properties: { text: { type: string } }, required: [text] }
  limits: { max_steps: 20 }
  context: [Order]
  trigger: { path: /desk, method: POST }
  supervisor:
    watches: [agent]
    rules: [{ when: tool_repeated, count: 3, then: abort }]
    judge: { model: small, criteria: Be fair., on_violation: abort }
  steps:
    - id: agent
      kind: Agent
      mode: autonomous
      auth: { required_scope: desk }
      agent:
        model: small
        steering: artifact://tone@1
        context_injection: [text]
        guardrails: { input: [artifact://guard@1] }
        max_iterations: 5
        token_budget: 1000
        retry: { attempts: 2, on: [timeout] }
        outcome: { enum: [solved, handed], write: said, schema: { type: object, required: [a] } }
        tools:
          - ref: pay
            description: Pays back.
            approval: required
            max_calls: 1
            parameters: { type: object, properties: { cents: { type: integer, maximum: 100 } } }
          - { ref: look, description: Looks up. }
      routes: { solved: done, handed: ask, error: END, aborted: END, max_iterations: END, budget_exceeded: END }
    - { id: done, kind: Functional, runner: count, params: { x: 1 }, routes: { default: END } }
    - id: ask
      kind: HumanInTheLoop
      ui: { title: What now }
      human_feedback: [{ name: answer }]
      auth: { required_group: leads }
      routes: { default: END }
    - { id: pay, kind: APICall,
        http: { url: "https://shop.example/pay", method: POST, json: { c: "{{ args.cents }}" } }
      }
    - { id: look, kind: APICall, http: { url: "https://shop.example/look" } }
  output: said
"""
FILES = {
    "tuvl.yaml": """\
kind: ProjectConfig
spec:
  default_model: small
  http: { allow_hosts: [shop.example] }
  policy: { max_tokens_per_run: 5000, allow_models: [small, "openai/*"], require_approval: { effects: [write] } }
""",
    "workflows/desk.yaml": WORKFLOW,
    "llms/small.yaml": """\
kind: AgentModel
metadata: { name: small }
spec:
  { provider: openai, model: gpt, api_key: "${KEY}", max_tokens: 100, price: { input_per_mtok: 1, output_per_mtok: 2 } }
""",
    "artifacts/tone.md": "---\nname: tone\ntype: steering\n---\nBe kind, and say what was done for the person.\n",
    "artifacts/guard.yaml": """\
kind: Artifact
metadata: { name: guard }
spec:
  type: guardrail
  checks:
    - { check: regex_deny, patterns: [ignore, forget] }
    - { check: max_chars, limit: 100 }
    - { check: llm_judge, model: small, criteria: Be fair., on_judge_error: violation }
""",
    "models/order.yaml": """\
kind: ModelDefinition
metadata: { name: Order }
spec: { tablename: orders, fields: [{ name: id, type: string }, { name: card, type: string, secure: true }] }
""",
    "nodes/count.py": 'from tuvl import node\n\n\n@node("count", effects="read")\ndef count(ctx):\n    return {}\n',
}
DESK = "workflows/desk.yaml"
B, W, V, C = ChangeClass.BREAKS, ChangeClass.WIDENS, ChangeClass.BEHAVIOUR, ChangeClass.COSMETIC

CASES: list[tuple[str, str, str, str]] = [
    # file, text, in its place, code
    (DESK, "required: [text] }\n  limits", "required: [text, who] }\n  limits", "input-tightened"),
    (DESK, "{ text: { type: string } }", "{ text: { type: string, maxLength: 5 } }", "input-tightened"),
    (DESK, "output: said", "output: said.a", "output-changed"),
    (DESK, "solved", "sorted", "outcome-renamed"),
    (DESK, "path: /desk", "path: /desks", "trigger-changed"),
    (DESK, "method: POST }\n  s", "method: PUT }\n  s", "trigger-changed"),
    (DESK, "  trigger: { path: /desk, method: POST }\n", "", "trigger-removed"),
    (DESK, "name: desk,", "name: desk, required_scope: run,", "scope-required"),
    (DESK, "metadata: {", "enabled: false\nmetadata: {", "workflow-disabled"),
    (DESK, "name: desk", "name: counter", "workflow-renamed"),
    (DESK, "method: POST }\n  s", "method: POST, public: true }\n  s", "trigger-opened"),
    (DESK, "          - { ref: look, description: Looks up. }\n", "", "tool-removed"),
    (DESK, "approval: required", "approval: never", "field-changed"),
    (DESK, "approval: required", 'approval: "{{ args.cents > 5 }}"', "approval-weakened"),
    (DESK, "max_calls: 1", "max_calls: 2", "bound-raised"),
    (DESK, "            max_calls: 1\n", "", "bound-removed"),
    (DESK, "max_iterations: 5", "max_iterations: 6", "bound-raised"),
    (DESK, "        max_iterations: 5\n", "", "bound-raised"),
    (DESK, "        token_budget: 1000\n", "", "bound-removed"),
    (DESK, "max_steps: 20", "max_steps: 21", "bound-raised"),
    (DESK, "max_steps: 20", "max_steps: 19", "bound-lowered"),
    (DESK, "attempts: 2", "attempts: 3", "bound-raised"),
    (DESK, "on: [timeout]", "on: [timeout, error]", "bound-raised"),
    (DESK, "maximum: 100", "maximum: 1000", "parameters-loosened"),
    (DESK, "maximum: 100", "maximum: 10", "parameters-tightened"),
    (DESK, "guardrails: { input: [artifact://guard@1] }", "guardrails: {}", "guardrail-removed"),
    (DESK, "context_injection: [text]", "context_injection: [text, who]", "context-injected"),
    (DESK, "required: [a]", "required: []", "result-loosened"),
    (DESK, "auth: { required_scope: desk }", "auth: {}", "scope-dropped"),
    (DESK, "required_group: leads", "assignee_user: me", "approval-weakened"),
    (DESK, "then: abort", "then: pause", "supervisor-weakened"),
    (DESK, "count: 3", "count: 4", "bound-raised"),
    (DESK, "https://shop.example/look", "https://other.example/look", "host-added"),
    (DESK, "https://shop.example/look", "https://shop.example/peek", "url-changed"),
    (DESK, '/look" }', '/look", method: POST }', "write-added"),
    (DESK, "id: pay,", "id: pay, effects: read,", "write-relabelled"),
    (DESK, '/look" }', '/look", follow_redirects: true }', "redirects-followed"),
    (DESK, "context: [Order]", "context: [Order, Person]", "data-model-added"),
    (DESK, "model: small\n        st", "model: big/one\n        st", "model-beyond-policy"),
    (DESK, "model: small\n        st", "model: openai/one\n        st", "model-changed"),
    (DESK, "Pays back.", "Pays.", "tool-described"),
    (DESK, "handed: ask", "handed: done", "route-changed"),
    (DESK, "steering: artifact://tone@1", "steering: Be quick.", "steering-changed"),
    (DESK, "params: { x: 1 }", "params: { x: 2 }", "field-changed"),
    (DESK, "id: done, kind", "id: done, description: Ends., kind", "described"),
    (DESK, "description: Answers.", "description: Replies.", "workflow-described"),
    (DESK, "done", "finished", "step-renamed"),
    (DESK, "limits: {", "limits:   {   # as few as possible\n    ", "layout-changed"),
    (DESK, "runner: count", "runner: other", "write-added"),
    (DESK, "method: POST, json", "method: DELETE, json", "operation-changed"),
    (DESK, "method: POST, json", "method: PUT, json", "operation-changed"),
    (DESK, '/look" }', '/look", method: HEAD }', "field-changed"),
    (DESK, "https://shop.example/look", "http://shop.example/look", "host-added"),
    (DESK, "https://shop.example/look", "https://shop.example:8443/look", "host-added"),
    (DESK, '/look" }', '/look" }, response: { expect_status: [2xx, 500] }', "result-loosened"),
    (DESK, '/look" }', '/look" }, response: { expect_status: [200] }', "result-tightened"),
    (DESK, "max_iterations: 5", "max_iterations: 5\n        tool_surface: done", "tool-helped"),
    (DESK, "[solved, handed]", "[handed, solved]", "order-changed"),
    (DESK, "context_injection: [text]", "context_injection: []", "field-changed"),
    ("models/order.yaml", "tablename: orders", "tablename: payroll", "store-moved"),
    (
        "artifacts/guard.yaml",
        "    - { check: max_chars, limit: 100 }\n    - { check: llm_judge, model: small, "
        "criteria: Be fair., on_judge_error: violation }\n",
        "    - { check: llm_judge, model: small, criteria: Be fair., "
        "on_judge_error: violation }\n    - { check: max_chars, limit: 100 }\n",
        "order-changed",
    ),
    ("artifacts/tone.md", "kind", "curt", "steering-changed"),
    ("artifacts/tone.md", "type: steering", "type: steering\nversion: 1", "spelled-otherwise"),
    ("artifacts/guard.yaml", "[ignore, forget]", "[ignore]", "guardrail-weakened"),
    ("artifacts/guard.yaml", "limit: 100", "limit: 101", "bound-raised"),
    ("artifacts/guard.yaml", "on_judge_error: violation", "on_judge_error: ignore", "guardrail-weakened"),
    ("artifacts/guard.yaml", "    - { check: max_chars, limit: 100 }\n", "", "guardrail-weakened"),
    ("llms/small.yaml", "model: gpt", "model: gpt-2", "model-changed"),
    ("llms/small.yaml", "max_tokens: 100", "max_tokens: 200", "bound-raised"),
    ("llms/small.yaml", "input_per_mtok: 1", "input_per_mtok: 3", "price-changed"),
    ("llms/small.yaml", "input_per_mtok: 1", "input_per_mtok: 0.9", "price-lowered"),
    ("llms/small.yaml", "output_per_mtok: 2", "output_per_mtok: 0", "price-lowered"),
    ("llms/small.yaml", "per_mtok: 2 }", "per_mtok: 2, cached_input_per_mtok: 0.1 }", "price-lowered"),
    (
        "llms/small.yaml",
        "input_per_mtok: 1, output_per_mtok: 2",
        "input_per_mtok: 9, output_per_mtok: 1",
        "price-lowered",
    ),
    ("llms/small.yaml", ", price: { input_per_mtok: 1, output_per_mtok: 2 }", "", "price-lowered"),
    ("llms/small.yaml", "${KEY}", "${OTHER}", "credential-changed"),
    ("llms/small.yaml", "model: gpt", "model: gpt, api_base: https://else.example", "provider-moved"),
    ("nodes/count.py", 'effects="read"', 'effects="write"', "write-added"),
    ("nodes/count.py", "return {}", "return {'x': 1}", "node-changed"),
    ("nodes/count.py", "return {}", "return {}  # nothing", "layout-changed"),
    ("tuvl.yaml", "[shop.example]", "[shop.example, x.example]", "policy-loosened"),
    ("tuvl.yaml", "max_tokens_per_run: 5000", "max_tokens_per_run: 6000", "policy-loosened"),
    ("tuvl.yaml", "effects: [write]", "effects: []", "policy-loosened"),
    ("tuvl.yaml", 'allow_models: [small, "openai/*"], ', "", "policy-loosened"),
    ("tuvl.yaml", "spec:", "spec:\n  checks: { severity: { TV702: ignore } }", "check-lowered"),
]


def compared(tmp_path: Path, old: dict[str, str], new: dict[str, str]) -> list[tuple[Change, tuple[str, ...]]]:
    states = [side(write(tmp_path / name, files)) for name, files in (("old", old), ("new", new))]
    roots = [
        [doc_of(state, document) for loaded in state.index.files() for document in loaded.documents] for state in states
    ]
    found = compare(*states, *roots, files=False)
    return list(zip(found.changes, found.used_by, strict=True))


def edited(file: str, text: str, other: str) -> dict[str, str]:
    assert text in FILES[file]
    return {**FILES, file: FILES[file].replace(text, other)}


@pytest.mark.parametrize(
    ("file", "text", "other", "code"), CASES, ids=[f"{case[3]}-{number}" for number, case in enumerate(CASES)]
)
def test_change_has_its_name_and_concerns_the_workflow(
    tmp_path: Path, file: str, text: str, other: str, code: str
) -> None:
    found = compared(tmp_path, FILES, edited(file, text, other))
    codes = [change.code for change, _ in found]
    assert code in codes
    assert all(change.cls is CODES[change.code].cls for change, _ in found)
    if code not in ("workflow-renamed", "layout-changed"):
        (concerned, *_) = [names for change, names in found if change.code == code]
        assert concerned == ("desk",)
    if CODES[code].cls not in GRAVE:
        assert not [change for change, _ in found if change.cls in GRAVE]


DIRECTED = [case for case in CASES if case[3] not in ("data-model-added", "outcome-renamed", "workflow-renamed")]
NO_DIRECTION = {"model-beyond-policy", "host-added", "provider-moved", "approval-weakened", "workflow-added"}
NO_DIRECTION |= {"operation-changed", "store-moved", "price-lowered"}


@pytest.mark.parametrize(
    ("file", "text", "other", "code"), DIRECTED, ids=[f"{case[3]}-{number}" for number, case in enumerate(DIRECTED)]
)
def test_widening_turned_round_is_no_widening(tmp_path: Path, file: str, text: str, other: str, code: str) -> None:
    found = compared(tmp_path, edited(file, text, other), FILES)
    assert found
    if CODES[code].cls is W and code not in NO_DIRECTION:
        assert not [change for change, _ in found if change.cls is W]


def test_project_is_the_same_as_itself(tmp_path: Path) -> None:
    assert compared(tmp_path, FILES, FILES) == []


def test_order_of_keys_and_layout_are_cosmetic(tmp_path: Path) -> None:
    class Backwards(yaml.SafeDumper):
        pass

    def turned(dumper: Any, data: dict[str, Any]) -> Any:
        return dumper.represent_mapping("tag:yaml.org,2002:map", reversed(list(data.items())))

    Backwards.add_representer(dict, turned)
    new = {
        name: yaml.dump(load_data(text.encode(), name=name), Dumper=Backwards, sort_keys=False)
        if name.endswith("yaml")
        else text
        for name, text in FILES.items()
    }
    found = compared(tmp_path, FILES, new)
    assert {change.cls for change, _ in found} == {C}
    assert {change.code for change, _ in found} == {"layout-changed"}


def test_new_tool_that_writes_is_told_once_with_what_it_can(tmp_path: Path) -> None:
    old = edited(DESK, "          - { ref: look, description: Looks up. }\n", "")
    (change,) = [change for change, _ in compared(tmp_path, old, FILES) if change.code == "tool-added"]
    assert change.message == "step 'agent': tool 'look' is new (APICall, nobody is asked)"
    assert (change.cls, change.step, change.line) == (W, "agent", 32)


def test_tools_in_another_order_are_what_a_model_reads(tmp_path: Path) -> None:
    look = "          - { ref: look, description: Looks up. }\n"
    new = WORKFLOW.replace(look, "").replace("        tools:\n", f"        tools:\n{look}")
    ((change, _),) = compared(tmp_path, FILES, {**FILES, DESK: new})
    assert (change.code, change.cls) == ("order-changed", V)


def test_tools_that_a_step_kept_back_are_offered_without_it(tmp_path: Path) -> None:
    old = edited(DESK, "max_iterations: 5", "max_iterations: 5\n        tool_surface: done")
    found = {change.code: change for change, _ in compared(tmp_path, old, FILES)}
    assert (found["tool-offered"].cls, found["tool-offered"].may) == (W, False)


def test_parameters_that_take_the_same_are_still_read_by_a_model(tmp_path: Path) -> None:
    cents = "cents: { type: integer, maximum: 100 }"
    new = edited(DESK, cents, "cents: { allOf: [{ type: integer }, { maximum: 100 }] }")
    ((change, _),) = compared(tmp_path, FILES, new)
    assert (change.code, change.cls) == ("parameters-described", V)


def test_input_that_takes_the_same_is_spelled_otherwise(tmp_path: Path) -> None:
    new = edited(DESK, "{ text: { type: string } }", "{ text: { anyOf: [{ type: string }] } }")
    ((change, _),) = compared(tmp_path, FILES, new)
    assert (change.code, change.cls) == ("spelled-otherwise", C)


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ('{ host: h, password: "${PW}" }', '{ host: h, password: "${PW2}" }', "credential-changed"),
        ('{ host: h, password: "${PW}" }', '{ host: i, password: "${PW}" }', "store-moved"),
        ('"postgresql://me:${PW}@h/d"', '"postgresql://me:${PW2}@h/d"', "credential-changed"),
        ('"postgresql://me:${PW}@h/d"', '"postgresql://me:${PW}@i/d"', "store-moved"),
    ],
)
def test_credential_of_a_store_is_no_other_store(tmp_path: Path, old: str, new: str, code: str) -> None:
    store = "kind: DataSource\nmetadata: {{ name: main }}\nspec: {{ type: postgresql, connection: {} }}\n"
    step = "    - { id: keep, kind: ModelOp, model: Order, operation: read, record_id: a }\n  output: said"
    files = {
        **edited(DESK, "  output: said", step),
        "models/order.yaml": FILES["models/order.yaml"].replace("orders,", "orders, datasource: main,"),
    }
    states = [{**files, "datasources/main.yaml": store.format(each)} for each in (old, new)]
    assert [change.code for change, _ in compared(tmp_path, *states)] == [code]


NODES = """\
from tuvl import node

LIMIT = 5


def helper(value):
    return value + LIMIT


@node("count", effects="read")
def count(ctx):
    return {"x": helper(1)}


@node("other", effects="read")
def other(ctx):
    return {}
"""


@pytest.mark.parametrize(
    ("text", "other", "codes"),
    [
        ("return {}", "return {'a': 1}", {"unused-changed"}),
        ("LIMIT = 5", "LIMIT = 6", {"node-changed"}),
        ("helper(1)", "helper(2)", {"node-changed"}),
        ("LIMIT = 5", "LIMIT = 5  # of all", {"layout-changed"}),
        ("LIMIT = 5", "LIMIT = 5\nprint(1)", {"node-changed"}),
        ('"count"', '"counted"', {"node-changed", "write-added"}),
    ],
)
def test_node_changes_with_its_own_code_and_what_that_uses(
    tmp_path: Path, text: str, other: str, codes: set[str]
) -> None:
    assert text in NODES
    states = [{**FILES, "nodes/count.py": each} for each in (NODES, NODES.replace(text, other))]
    assert codes <= {change.code for change, _ in compared(tmp_path, *states)}
    if "write-added" not in codes:
        assert codes == {change.code for change, _ in compared(tmp_path / "again", *states)}


def test_default_of_the_project_concerns_those_that_leave_it_to_the_project(tmp_path: Path) -> None:
    free = "kind: Workflow\nmetadata: { name: free }\nspec: { steps: [{ id: a, kind: Functional, runner: set }] }\n"
    states = [
        {**files, "tuvl.yaml": FILES["tuvl.yaml"].replace("spec:", f"spec:\n  limits: {{ max_steps: {most} }}")}
        for files, most in (({**FILES, "workflows/free.yaml": free}, 5), ({**FILES, "workflows/free.yaml": free}, 9))
    ]
    ((change, concerned),) = compared(tmp_path / "a", *states)
    assert (change.code, concerned) == ("bound-raised", ("free",))
    for state in states:
        del state["workflows/free.yaml"]
    ((change, concerned),) = compared(tmp_path / "b", *states)
    assert (change.code, change.cls, concerned) == ("unused-changed", C, ())
    ((change, concerned),) = compared(tmp_path / "c", FILES, edited("tuvl.yaml", "model: small", "model: other"))
    assert (change.code, concerned) == ("unused-changed", ())


def test_workflow_that_is_gone_is_no_workflow_that_is_called(tmp_path: Path) -> None:
    outer = "kind: Workflow\nmetadata: { name: outer }\nspec: { steps: [{ id: a, kind: Workflow, workflow: desk }] }\n"
    old = {**FILES, "workflows/outer.yaml": outer}
    new = {**edited(DESK, "metadata: {", "enabled: false\nmetadata: {"), "workflows/outer.yaml": outer}
    codes = {change.code for change, _ in compared(tmp_path, old, new)}
    assert "workflow-disabled" in codes
    assert "workflow-called" not in codes


def test_human_step_that_is_gone_widens(tmp_path: Path) -> None:
    text = WORKFLOW[WORKFLOW.index("    - id: ask") : WORKFLOW.index("    - { id: pay")]
    new = {**FILES, DESK: WORKFLOW.replace(text, "").replace("handed: ask", "handed: END")}
    found = {change.code: change for change, _ in compared(tmp_path, FILES, new)}
    assert found["human-step-removed"].old_side
    assert found["human-step-removed"].file.endswith("old/workflows/desk.yaml")


def test_renamed_step_is_neither_gone_nor_new(tmp_path: Path) -> None:
    found = compared(tmp_path, FILES, edited(DESK, "done", "finished"))
    assert [(change.code, change.before, change.after) for change, _ in found] == [("step-renamed", "done", "finished")]


def test_renamed_tool_is_behaviour_since_the_model_reads_its_name(tmp_path: Path) -> None:
    new = {**FILES, DESK: WORKFLOW.replace("ref: look", "ref: find").replace("id: look", "id: find")}
    codes = {change.code: change.cls for change, _ in compared(tmp_path, FILES, new)}
    assert codes == {"tool-renamed": V, "step-renamed": C}


def test_other_version_of_the_same_text_is_cosmetic(tmp_path: Path) -> None:
    twin = FILES["artifacts/tone.md"].replace("type:", "version: 2\ntype:")
    new = {**edited(DESK, "tone@1", "tone@2"), "artifacts/tone2.md": twin}
    found = compared(tmp_path, FILES, new)
    assert {change.cls for change, _ in found} == {C}
    told = compared(tmp_path / "other", FILES, {**new, "artifacts/tone2.md": twin.replace("kind", "curt")})
    assert "steering-changed" in {change.code for change, _ in told}


def test_what_no_workflow_uses_is_cosmetic(tmp_path: Path) -> None:
    spare = {"llms/spare.yaml": FILES["llms/small.yaml"].replace("small", "spare")}
    old, new = {**FILES, **spare}, {**FILES, "llms/spare.yaml": spare["llms/spare.yaml"].replace("100", "900")}
    ((change, concerned),) = compared(tmp_path, old, new)
    assert (change.code, change.cls, concerned) == ("unused-changed", C, ())


def test_workflow_that_is_gone_breaks_and_a_new_one_with_tools_widens(tmp_path: Path) -> None:
    without = {name: text for name, text in FILES.items() if name != DESK}
    gone = {change.code: change for change, _ in compared(tmp_path / "a", FILES, without)}
    assert gone["workflow-removed"].cls is B
    come = {change.code: change for change, _ in compared(tmp_path / "b", without, FILES)}
    assert come["workflow-added"].cls is W


def test_change_of_a_workflow_concerns_those_that_run_it(tmp_path: Path) -> None:
    outer = "kind: Workflow\nmetadata: { name: outer }\nspec: { steps: [{ id: a, kind: Workflow, workflow: desk }] }\n"
    old = {**FILES, "workflows/outer.yaml": outer}
    new = {**edited(DESK, "max_iterations: 5", "max_iterations: 9"), "workflows/outer.yaml": outer}
    ((change, concerned),) = compared(tmp_path, old, new)
    assert (change.code, change.workflow, concerned) == ("bound-raised", "desk", ("desk", "outer"))


SECRETS = [
    ("llms/small.yaml", '"${KEY}"', "sk-abcdefghijklmnopqrstuvwxyz0123"),
    ("llms/small.yaml", '"${KEY}"', '"${KEY:s3cretDefaultValue9}"'),
    (DESK, '/look" }', '/look", headers: { X-Api-Key: qW3rTy9zUiOp1 } }'),
    (DESK, '/look" }', '/look", auth: { basic: { username: me, password: hunter2 } } }'),
    (DESK, '/look" }', '/look?api_key=hunter2hunter2" }'),
    (DESK, "https://shop.example/look", "https://me:hunter22@shop.example/look"),
    (DESK, "params: { x: 1 }", "params: { x: 1, password: hunter2hunter2 }"),
    (DESK, "steering: artifact://tone@1", "steering: Use ghp_abcdefghijklmnopqrstuvwxyz0123456789 for it."),
]
WORDS = ("hunter2", "sk-abcd", "s3cret", "qW3rTy9", "ghp_abc")


@pytest.mark.parametrize(("file", "text", "other"), SECRETS)
def test_secret_is_never_shown(tmp_path: Path, file: str, text: str, other: str) -> None:
    for number, pair in enumerate([(FILES, edited(file, text, other)), (edited(file, text, other), FILES)]):
        found = compared(tmp_path / str(number), *pair)
        assert found
        shown = " ".join(str((change.message, change.before, change.after)) for change, _ in found)
        assert not [word for word in WORDS if word in shown], shown
