"""Hover, definitions, references, symbols and renaming: what stands at a place, where it is made, who names it."""

from pathlib import Path

import pytest

from tests.support.editor import Editor, RequestFailed, applied, path_of, position, uri_of


@pytest.mark.parametrize(
    ("needle", "at", "wanted"),
    [
        ("max_iterations: 6", 1, ["**max_iterations** · integer · default `8`", "Most model calls of the loop"]),
        ("kind: Agent", 1, ["**kind**", "A step that a language model decides"]),
        ("attempts: 2, backoff", 1, ["**attempts**", "default `1`"]),
        ("method: POST", 9, ["**method**", "`GET` or `HEAD`"]),
        ("default: assess,", 10, ["**assess** · Functional · read", "`default` → `held_or_not`", "`error`: no route"]),
        ("ref: issue_refund", 6, ["**issue_refund** · APICall · write", "off the spine", "Called by: `triage`"]),
        (
            "- id: triage",
            7,
            ["Agent, autonomous", "`resolved` → `write_reply`", "Tools: `lookup_order`, `search_policy`"],
        ),
        ("resolved: write_reply", 1, ["Signal **resolved** of `triage` leads to `write_reply`", "can return it"]),
        ("artifact://triage-steering@1", 12, ["**artifact://triage-steering@1** · steering", "You handle one support"]),
        ("artifact://no-orders@1", 12, ["guardrail", "Checks: `regex_deny`"]),
        ("model: default", 8, ["**default** · scripted", "Price: $2 a million input tokens"]),
        (
            "runner: assess_order",
            10,
            ["`nodes/orders.py:9`", "reads: `order`", "writes: `assessment`", "effects: read"],
        ),
        ("{{ assessment.on_hold", 5, ["Context key **assessment**", "- step `assess` (Functional)"]),
        ('reason: "{{ reason }}"', 13, ["Context key **reason**", "- step `because_escalated` (Functional)"]),
        ("context_injection: [text]", 21, ["Context key **text**", "- the run's input: What the customer wrote."]),
        ("args.number", 1, ["Context key **args**", "the arguments that the caller gives"]),
    ],
)
def test_hover_says_what_stands_there(server: Editor, desk: Path, needle: str, at: int, wanted: list[str]) -> None:
    shown = server.hover(desk, needle, at=at)
    assert [part for part in wanted if part not in shown] == [], shown


def test_hover_over_a_code_is_the_page_of_the_check(editor: Editor, project: Path) -> None:
    path = project / "workflows" / "triage_ticket.yaml"
    editor.open(path, path.read_text() + "# tuvl: ignore[TV203] for now\n")
    assert "**TV203 outcome-unrouted**" in editor.hover(path, "TV203")


def test_hover_over_plain_text_says_nothing_wrong(server: Editor, desk: Path) -> None:
    assert server.hover(desk, "# ---- Facts first", at=8) == ""


@pytest.mark.parametrize(
    ("needle", "at", "file", "line"),
    [
        ("held: because_order_held", 8, "workflows/triage_ticket.yaml", "- id: because_order_held"),
        ("ref: search_policy", 6, "workflows/triage_ticket.yaml", "- id: search_policy"),
        ("artifact://refund-rules@2", 14, "artifacts/skills/refund-rules.md", "name: refund-rules"),
        ("artifact://no-orders@1", 14, "artifacts/guardrails/no-orders.yaml", "name: no-orders"),
        ("model: default", 8, "llms/default.yaml", "name: default"),
        ("runner: search_policy", 10, "nodes/policy.py", '@node("search_policy"'),
        ("{{ resolution.summary", 5, "workflows/triage_ticket.yaml", "write: resolution"),
        ("{{ order_id }}", 5, "workflows/triage_ticket.yaml", "order_id: { type: string"),
        ("escalated: because_escalated", 1, "workflows/triage_ticket.yaml", "enum: [resolved, escalated]"),
    ],
)
def test_definition_leads_to_where_a_thing_is_made(
    server: Editor, desk: Path, needle: str, at: int, file: str, line: str
) -> None:
    (found,) = server.definition(desk, needle, at=at)
    assert found[0] == server.root / file
    assert line in found[0].read_text().splitlines()[found[1] - 1]


def test_key_that_several_steps_set_leads_to_all_of_them(server: Editor, desk: Path) -> None:
    found = server.definition(desk, 'reason: "{{ reason }}"', at=13)
    assert len(found) == 6
    assert all("reason:" in desk.read_text(encoding="utf-8").splitlines()[line - 1] for _, line in found)


INNER = """kind: Workflow
metadata: { name: outer }
spec:
  context: [Order]
  steps:
    - { id: each, kind: ForEach, items: "{{ orders }}", step: one, max_items: 3 }
    - { id: one, kind: Workflow, workflow: triage_ticket, input: { text: "{{ item }}" } }
    - { id: save, kind: ModelOp, model: Order, operation: list }
"""

ORDER = """kind: ModelDefinition
metadata: { name: Order }
spec:
  tablename: orders
  fields: [{ name: id, type: integer, primary_key: true }]
"""


@pytest.mark.parametrize(
    ("needle", "at", "file", "line"),
    [
        ("step: one", 7, "workflows/outer.yaml", "id: one"),
        ("workflow: triage_ticket", 12, "workflows/triage_ticket.yaml", "name: triage_ticket"),
        ("model: Order", 8, "models/order.yaml", "name: Order"),
        ("context: [Order]", 11, "models/order.yaml", "name: Order"),
        ("{{ item }}", 4, "workflows/outer.yaml", "step: one"),
    ],
)
def test_definition_of_bodies_workflows_and_data_models(
    editor: Editor, project: Path, needle: str, at: int, file: str, line: str
) -> None:
    (project / "models").mkdir()
    (project / "models" / "order.yaml").write_text(ORDER)
    path = project / "workflows" / "outer.yaml"
    path.write_text(INNER)
    editor.open(path)
    (found,) = editor.definition(path, needle, at=at)
    assert found[0] == project / file
    assert line in found[0].read_text().splitlines()[found[1] - 1]
    assert "`id`: integer" in editor.hover(path, "model: Order", at=8)


def test_references_are_found_in_all_files(server: Editor, desk: Path) -> None:
    params = {
        **server.at(desk, position(desk.read_text(encoding="utf-8"), "name: triage_ticket", at=8)),
        "context": {"includeDeclaration": True},
    }
    found = {path_of(one["uri"]) for one in server.request("textDocument/references", params)}
    assert desk in found
    assert {path for path in found if path.parent.name == "scenarios"}


def marked(editor: Editor, path: Path, needle: str, at: int, *, declaration: bool = True) -> list[str]:
    """The lines that refer to what some text of an open file names, from there on, and whose words are marked."""
    place = editor.at(path, position(editor.texts[path], needle, at=at))
    params = {**place, "context": {"includeDeclaration": declaration}}
    found = []
    for one in editor.request("textDocument/references", params):
        lines = path_of(one["uri"]).read_text(encoding="utf-8").splitlines()
        start = one["range"]["start"]
        assert one["range"]["end"]["line"] == start["line"]
        found.append(lines[start["line"]][start["character"] : one["range"]["end"]["character"]])
    return found


@pytest.mark.parametrize(
    ("key", "places"),
    [
        ("order_id", [("order_id: { type", 2), ("{{ order_id }}", 4)]),
        ("assessment", [("{{ assessment.on_hold", 5)]),
        ("order", [("output_key: order", 13)]),
        ("resolution", [("write: resolution", 9), ("{{ resolution.summary", 5)]),
        ("text", [("context_injection: [text]", 21), ("text: { type: string, maxLength: 8000", 1)]),
    ],
)
def test_references_of_a_context_key_are_the_same_from_every_place_of_it(
    server: Editor, desk: Path, key: str, places: list[tuple[str, int]]
) -> None:
    found = [marked(server, desk, needle, at) for needle, at in places]
    assert all(one == found[0] for one in found)
    assert found[0].count(key) >= 1
    made = [marked(server, desk, needle, at, declaration=False) for needle, at in places]
    assert all(len(one) < len(found[0]) for one in made)


KEYS = """\
kind: Workflow
metadata: { name: keys }
spec:
  input: { type: object, required: [name], properties: { name: { type: string } } }
  steps:
    - id: greet
      kind: Functional
      runner: set
      values:
        said: "name {{ name }} and {{ other.name ~ name | default('name') }}"
        more: |
          Dear {{ name }},
          {% if name %}you{% endif %}
    - { id: which, kind: Router, condition: { field: name, operator: eq, value: name }, routes: { "true": END } }
    - { id: ask, kind: Agent, mode: completion, agent: { model: default, prompt: artifact://asking@1 } }
    - { id: out, kind: Response, mapping: { a: name, b: greet } }
  output: name.first
"""
ASKING = "---\nname: asking\ntype: prompt\nversion: 1\ntemplate: true\n---\nHello {{ name }}, name.\n"


def test_references_of_a_context_key_reach_templates_fields_artifacts_and_the_output(
    editor: Editor, project: Path
) -> None:
    (project / "artifacts" / "asking.md").write_text(ASKING, encoding="utf-8")
    path = project / "workflows" / "keys.yaml"
    path.write_text(KEYS, encoding="utf-8")
    editor.open(path)
    found = marked(editor, path, "{{ name }}", 4)
    # Three in `values`, two tags of the block, a field, a mapping, the output, the artifact, and where it is declared.
    assert sorted(found) == ["name"] * 8 + ["name.first"]
    assert len(marked(editor, path, "{{ name }}", 4, declaration=False)) == 8
    assert editor.definition(path, "a: name", at=4) == [(path, 4)]


def test_symbols_are_the_steps_of_the_workflow(server: Editor, desk: Path) -> None:
    (document,) = server.request("textDocument/documentSymbol", {"textDocument": {"uri": uri_of(desk)}})
    assert (document["name"], document["detail"]) == ("triage_ticket", "Workflow")
    steps = {child["name"]: child["detail"] for child in document["children"]}
    assert list(steps)[:4] == ["load_order", "assess", "held_or_not", "triage"]
    assert steps["triage"] == "Agent, autonomous"


def test_step_is_renamed_in_its_workflow_and_in_its_scenarios(editor: Editor, project: Path) -> None:
    path = project / "workflows" / "triage_ticket.yaml"
    text = editor.open(path)
    at = position(text, "- id: queue_for_person", at=8)
    place = editor.request("textDocument/prepareRename", editor.at(path, at))
    assert place["start"]["character"] == 10
    answer = editor.request("textDocument/rename", {**editor.at(path, at), "newName": "ask_a_person"})
    changed = {}
    for change in answer["documentChanges"]:
        file = path_of(change["textDocument"]["uri"])
        changed[file] = applied(file.read_text(), change["edits"])
        assert (change["textDocument"]["version"] == 1) == (file == path)
        file.write_text(changed[file])
    assert "queue_for_person" not in changed[path]
    assert changed[path].count("ask_a_person") == text.count("queue_for_person")
    assert {file.parent.name for file in changed} == {"workflows", "scenarios"}
    editor.write(path, changed[path])
    for file in changed:
        editor.changed_on_disk(file)
    assert editor.diagnostics(path, lambda found: found == []) == []


@pytest.mark.parametrize(("new", "why"), [("assess", "already"), ("9lives", "no step id"), ("END", "no step id")])
def test_step_gets_no_name_that_it_cannot_have(editor: Editor, project: Path, new: str, why: str) -> None:
    path = project / "workflows" / "triage_ticket.yaml"
    text = editor.open(path)
    params = {**editor.at(path, position(text, "- id: queue_for_person", at=8)), "newName": new}
    with pytest.raises(RequestFailed, match=why):
        editor.request("textDocument/rename", params)


def test_nothing_but_steps_can_be_renamed(server: Editor, desk: Path) -> None:
    place = position(desk.read_text(encoding="utf-8"), "kind: Agent")
    assert server.request("textDocument/prepareRename", server.at(desk, place)) is None


def test_answers_do_not_need_a_text_that_can_be_read(editor: Editor, project: Path) -> None:
    path = project / "workflows" / "triage_ticket.yaml"
    editor.open(path, path.read_text().replace("description: Read another order", 'description: "Read another order'))
    assert "**assess** · Functional" in editor.hover(path, "default: assess,", at=10)
    assert "**lookup_order**" in editor.hover(path, "ref: lookup_order", at=6)
