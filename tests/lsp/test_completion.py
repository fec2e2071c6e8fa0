"""Completion: what may stand where someone types, on lines that are no YAML yet too."""

from pathlib import Path

import pytest

from tests.support.editor import Editor, applied, position

BEFORE = "      routes: { default: assess, error: because_order_unreadable }\n"


@pytest.mark.parametrize(
    ("old", "new", "wanted", "unwanted"),
    [
        ("      runner: assess_order\n", "      run", {"runner", "params", "effects"}, {"kind", "id", "http"}),
        (BEFORE, "      routes:\n        ", {"default", "error", "aborted"}, {"resolved", "id"}),
        (BEFORE, "      routes: { err", {"error", "default"}, {"resolved"}),
        (BEFORE, "      routes: { default: ", {"assess", "triage", "END"}, set()),
        (BEFORE, "      routes:\n        default: a", {"assess", "END"}, set()),
        ("        resolved: write_reply\n", "        ", {"resolved"}, {"escalated", "parse_error"}),
        ("          - ref: lookup_order\n", "          - ref: ", {"lookup_order", "search_policy"}, {"triage", "END"}),
        ("          - ref: lookup_order\n", "          - ", {"ref", "timeout_s"}, {"id"}),
        (
            "        steering: artifact://triage-steering@1\n",
            "        steering: artifact://",
            {"artifact://triage-steering@1"},
            {"artifact://refund-rules@2"},
        ),
        (
            "        steering: artifact://triage-steering@1\n",
            "        steering: ",
            {"artifact://triage-steering@1"},
            set(),
        ),
        (
            "        skills: [artifact://refund-rules@2, artifact://note-taking@1]\n",
            "        skills: [artifact://refund-rules@2, ",
            {"artifact://note-taking@1"},
            {"artifact://no-orders@1"},
        ),
        (
            "          input: [artifact://no-orders@1]\n",
            "          input: [",
            {"artifact://no-orders@1"},
            {"artifact://note-taking@1"},
        ),
        ("        model: default\n", "        model: ", {"default"}, set()),
        ("      runner: assess_order\n", "      runner: ", {"assess_order", "add_note", "set", "log"}, set()),
        ("      mode: autonomous\n", "      mode: ", {"autonomous", "completion"}, set()),
        ("      kind: Functional\n", "      kind: ", {"Agent", "Router", "ForEach"}, {"Workflow test"}),
        ("        method: POST\n", "        method: P", {"POST", "PUT", "PATCH"}, set()),
        ("        dedup_within_turn: true\n", "        dedup_within_turn: ", {"true", "false"}, set()),
        (
            "        retry: { attempts: 3, on: [timeout, error], backoff: 1 }\n",
            "        retry: { attempts: 3, on: [",
            {"timeout", "error"},
            set(),
        ),
        (
            "        retry: { attempts: 3, on: [timeout, error], backoff: 1 }\n",
            "        retry: { attempts: 3, ",
            {"backoff", "on", "max_backoff_s"},
            {"attempts"},
        ),
        ("        token_budget: 12000\n", "        to", {"token_budget", "tool_concurrency"}, {"id", "tools"}),
        (
            '        - { if: "{{ assessment.on_hold }}", signal: held }\n',
            '        - { if: "{{ ',
            {"assessment", "order", "ticket_id"},
            {"reason", "resolution"},
        ),
        (
            '      values: { reason: "{{ resolution.summary }}" }\n',
            '      values: { reason: "{{ resolution.',
            {"resolution.summary", "resolution.refunded_cents"},
            set(),
        ),
        (
            '      params: { query: "{{ args.query }}" }\n',
            '      params: { query: "{{ args.',
            {"args.query"},
            {"args.number"},
        ),
        (
            "        context_injection: [text]\n",
            "        context_injection: [",
            {"text", "order", "assessment"},
            {"resolution"},
        ),
    ],
)
def test_what_may_stand_there_is_offered(
    editor: Editor, project: Path, old: str, new: str, wanted: set[str], unwanted: set[str]
) -> None:
    path = project / "workflows" / "triage_ticket.yaml"
    text = path.read_text()
    assert old in text
    editor.open(path, text.replace(old, new + "\n", 1))
    line = new.rsplit("\n", 1)[-1]
    offered = editor.complete(path, new if "\n" in new else text[text.index(old) - 40 : text.index(old)] + line)
    assert wanted <= offered.keys()
    assert not unwanted & offered.keys()


def test_key_that_is_not_there_on_every_way_says_so(server: Editor, desk: Path) -> None:
    offered = server.complete(desk, 'json: { ticket_id: "{{ ')
    assert offered["ticket_id"].get("detail") is None
    assert offered["resolution"]["detail"] == "not on every way"


def test_what_is_chosen_replaces_what_was_typed(editor: Editor, project: Path) -> None:
    path = project / "workflows" / "triage_ticket.yaml"
    text = path.read_text().replace("steering: artifact://triage-steering@1", "steering: artifact://tri")
    editor.open(path, text)
    chosen = editor.complete(path, "steering: artifact://tri")["artifact://triage-steering@1"]
    assert applied(text, [chosen["textEdit"]]) == path.read_text()
    assert "You handle one support ticket" in chosen["documentation"]["value"]


def test_field_that_is_chosen_comes_with_its_colon(editor: Editor, project: Path) -> None:
    path = project / "workflows" / "triage_ticket.yaml"
    text = path.read_text().replace("        token_budget: 12000\n", "        token_b\n")
    editor.open(path, text)
    chosen = editor.complete(path, "        token_b")["token_budget"]
    assert "        token_budget: \n" in applied(text, [chosen["textEdit"]])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", {"kind"}),
        ("ki", {"kind"}),
        ("kind: ", {"Workflow", "Artifact", "AgentModel"}),
        ("kind: Workflow\nmetadata:\n  ", {"name", "description"}),
        ("kind: AgentModel\nmetadata: { name: m }\nspec:\n  pro", {"provider", "price"}),
        ("kind: Artifact\nmetadata: { name: g }\nspec:\n  type: ", {"guardrail", "hook", "mcp"}),
        ("kind: ModelDefinition\nmetadata: { name: M }\nspec:\n  fields:\n    - { name: a, type: ", {"uuid", "jsonb"}),
        ("kind: WorkflowTest\nmetadata: { name: t }\nspec:\n  workflow: ", {"triage_ticket"}),
        (
            "kind: WorkflowTest\nmetadata: { name: t }\nspec:\n  workflow: triage_ticket\n  expect: { steps: [",
            {"assess"},
        ),
        (
            'kind: Workflow\nmetadata: { name: "open }\nspec:\n  steps:\n    - id: a\n      kind: Router\n      wh',
            {"when"},
        ),
    ],
)
def test_new_file_is_helped_along(editor: Editor, project: Path, text: str, wanted: set[str]) -> None:
    path = project / "new.yaml"
    editor.open(path, text)
    end = {"line": text.count("\n"), "character": len(text) - text.rfind("\n") - 1}
    items = editor.request("textDocument/completion", editor.at(path, end))["items"]
    assert wanted <= {item["label"] for item in items}


def test_columns_behind_characters_of_two_units_are_right(editor: Editor, project: Path) -> None:
    path = project / "workflows" / "triage_ticket.yaml"
    text = path.read_text().replace("values: { handled_by: assistant }", 'values: { "🚀": "𝒳 {{ tick')
    editor.open(path, text)
    chosen = editor.complete(path, "𝒳 {{ tick")["ticket_id"]
    assert "𝒳 {{ ticket_id" in applied(text, [chosen["textEdit"]])
    assert position(text, "tick", at=0)["line"] < chosen["textEdit"]["range"]["start"]["line"]


def test_front_matter_of_prose_is_completed(editor: Editor, project: Path) -> None:
    path = project / "artifacts" / "steering" / "new.md"
    editor.open(path, "---\nname: new\nty\n---\nBe kind.\n")
    assert "type" in editor.complete(path, "\nty")
    editor.write(path, "---\nname: new\ntype: \n---\nBe kind.\n")
    assert {"prompt", "steering", "skill"} <= editor.complete(path, "type: ").keys()


CALLS = """\
kind: Workflow
metadata: { name: calls }
spec:
  input: { type: object, required: [greeting], properties: { greeting: { type: string } } }
  steps:
    - { id: run, kind: Workflow, workflow: called, input: { who: "{{ greeting }}", } }
    - { id: out, kind: Response, mapping: { text: greeting } }
"""
CALLED = """\
kind: Workflow
metadata: { name: called }
spec:
  input:
    type: object
    required: [who, when]
    properties:
      who: { type: string }
      when: { type: string, description: The day. }
      how: { type: string }
  steps:
    - { id: only, kind: Functional, runner: set, values: { x: 1 } }
"""


def test_inputs_of_the_called_workflow_and_keys_of_a_response_are_offered(editor: Editor, project: Path) -> None:
    (project / "workflows" / "called.yaml").write_text(CALLED, encoding="utf-8")
    path = project / "workflows" / "calls.yaml"
    path.write_text(CALLS, encoding="utf-8")
    editor.open(path)
    offered = editor.complete(path, '"{{ greeting }}", ')
    assert set(offered) == {"when", "how"}
    assert offered["when"]["textEdit"]["newText"] == "when: "
    assert offered["when"]["documentation"]["value"] == "The day."
    editor.type(path, "text: greeting", "text: gr")
    assert {"greeting", "run_result"} <= set(editor.complete(path, "text: gr"))
