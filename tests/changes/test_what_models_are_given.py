"""What reaches a model is followed wherever it comes in: templates, skills, judges, and presets that nobody names."""

from pathlib import Path

import pytest

from tests.changes.test_change_classes import DESK, FILES, V, W, compared
from tuvl.changes.change import Change

CALL = """\
kind: Workflow
metadata: { name: say, description: Says. }
spec:
  input: { type: object, required: [n, q], properties: { n: { type: integer }, q: { type: object } } }
  steps:
    - id: say
      kind: Agent
      mode: completion
      agent:
        prompt: Say {{ n }}
        system: Be kind.
        skills: [artifact://skill@1]
        guardrails: { input: [artifact://guard@1] }
        outcome: { write: said }
      routes: { error: END, guardrail_violation: END, timeout: END }
"""
SAY = "workflows/say.yaml"
GUARD = """\
kind: Artifact
metadata: { name: guard }
spec:
  type: guardrail
  checks:
    - { check: pii_mask, fields: [card] }
    - { check: regex_deny, patterns: [secret] }
    - { check: llm_judge, model: small, criteria: artifact://fair@1, on_judge_error: violation }
"""
BASE = {
    "tuvl.yaml": "kind: ProjectConfig\nspec: { default_model: small }\n",
    SAY: CALL,
    "artifacts/guard.yaml": GUARD,
    "artifacts/skill.md": "---\nname: skill\ntype: skill\n---\nMind {{ q }}.\n",
    "artifacts/fair.md": "---\nname: fair\ntype: steering\ntemplate: true\n---\nIs {{ n }} fair?\n",
    "llms/small.yaml": FILES["llms/small.yaml"],
}
MASK = "    - { check: pii_mask, fields: [card] }\n"


def told(tmp_path: Path, old: dict[str, str], new: dict[str, str]) -> list[Change]:
    return [change for change, _ in compared(tmp_path, old, new)]


def edited(file: str, text: str, other: str) -> dict[str, str]:
    assert text in BASE[file]
    return {**BASE, file: BASE[file].replace(text, other)}


GIVEN = [
    (SAY, "Say {{ n }}", "Say {{ n }} {{ q.card }}", "q.card"),
    (SAY, "Be kind.", "Be kind to {{ q }}.", "q"),
    (SAY, "outcome:", "context_injection: [q]\n        outcome:", "q"),
    ("artifacts/skill.md", "type: skill", "type: skill\ntemplate: true", "q"),
    ("artifacts/fair.md", "Is {{ n }} fair?", "Is {{ n }} {{ q.card }} fair?", "q.card"),
]


@pytest.mark.parametrize(("file", "text", "other", "key"), GIVEN, ids=[f"{each[0]}-{each[3]}" for each in GIVEN])
def test_key_that_comes_to_a_model_by_any_way_is_told_as_given(
    tmp_path: Path, file: str, text: str, other: str, key: str
) -> None:
    new = edited(file, text, other)
    found = [change for change in told(tmp_path / "there", BASE, new) if change.code == "context-injected"]
    assert len(found) == 1
    assert repr(key) in found[0].message
    assert "context-injected" not in {change.code for change in told(tmp_path / "back", new, BASE)}


def test_part_of_what_was_given_is_nothing_new(tmp_path: Path) -> None:
    whole = edited(SAY, "Say {{ n }}", "Say {{ n }} {{ q }}")
    part = edited(SAY, "Say {{ n }}", "Say {{ n }} {{ q.card }}")
    assert "context-injected" not in {change.code for change in told(tmp_path, whole, part)}


def test_new_agent_tells_of_what_its_templates_give_it(tmp_path: Path) -> None:
    second = "    - { id: two, kind: Agent, mode: completion, agent: { prompt: 'Say {{ q.card }}' } }\n"
    found = [change for change in told(tmp_path, BASE, {**BASE, SAY: CALL + second}) if change.step == "two"]
    assert {change.code for change in found} >= {"step-added", "context-injected"}


def test_judge_that_sees_what_was_masked_before_it_is_shown_more(tmp_path: Path) -> None:
    after = GUARD.replace(MASK, "") + MASK
    (change,) = [each for each in told(tmp_path, BASE, {**BASE, "artifacts/guard.yaml": after}) if each.cls is W]
    assert (change.code, change.may, change.step) == ("guardrail-weakened", False, "say")
    assert "card" in change.message


def test_new_judge_before_the_mask_is_shown_what_the_agent_is_not(tmp_path: Path) -> None:
    judge = "    - { check: llm_judge, model: small, criteria: Ok?, on_judge_error: violation }\n"
    for number, (place, shown) in enumerate([(judge + MASK, True), (MASK + judge, False)]):
        new = {**BASE, "artifacts/guard.yaml": GUARD.replace(MASK, place)}
        codes = {change.code for change in told(tmp_path / str(number), BASE, new)}
        assert ("guardrail-weakened" in codes) == shown


def test_check_that_looks_only_at_what_was_masked_may_let_more_pass(tmp_path: Path) -> None:
    late = GUARD.replace(MASK, "").replace("    - { check: llm_judge", f"{MASK}    - {{ check: llm_judge")
    found = told(tmp_path, {**BASE, "artifacts/guard.yaml": late}, BASE)
    assert [(change.code, change.may) for change in found if change.cls is W] == [("guardrail-weakened", True)]


PRESET = [
    ("model: gpt", "model: gpt, api_base: https://else.example", "provider-moved"),
    ("output_per_mtok: 2", "output_per_mtok: 0", "price-lowered"),
    ("max_tokens: 100", "max_tokens: 200", "bound-raised"),
]


@pytest.mark.parametrize(("text", "other", "code"), PRESET, ids=[case[2] for case in PRESET])
def test_preset_that_the_project_names_is_that_of_who_names_none(
    tmp_path: Path, text: str, other: str, code: str
) -> None:
    found = compared(tmp_path, BASE, edited("llms/small.yaml", text, other))
    assert (code, ("say",)) in [(change.code, names) for change, names in found if change.cls is W]


def test_preset_called_default_is_that_of_who_names_none(tmp_path: Path) -> None:
    small = BASE["llms/small.yaml"].replace("name: small", "name: default")
    old = {**{name: text for name, text in BASE.items() if name != "tuvl.yaml"}, "llms/default.yaml": small}
    new = {**old, "llms/default.yaml": small.replace("max_tokens: 100", "max_tokens: 200")}
    assert "bound-raised" in {change.code for change in told(tmp_path, old, new)}


NODE = (
    'from tuvl import node\n\nfrom helper import k\n\n\n@node("count", effects="read")\ndef count(ctx):\n    return k\n'
)


def test_code_that_a_node_imports_is_code_of_the_node(tmp_path: Path) -> None:
    old = {**FILES, "nodes/count.py": NODE, "nodes/helper.py": "from far import k\n", "nodes/far.py": "k = {}\n"}
    for number, (file, text, codes) in enumerate(
        [
            ("nodes/far.py", "k = {'x': 1}\n", {"node-changed"}),
            ("nodes/helper.py", "k = {}\n", {"node-changed"}),
            ("nodes/helper.py", "from far import k  # of far\n", set()),
            ("nodes/alone.py", "k = 1\n", set()),
        ]
    ):
        found = compared(tmp_path / str(number), old, {**old, file: text})
        assert {change.code for change, _ in found} == codes
        assert all(change.cls is V and names == ("desk",) for change, names in found)


HEADERS = [("Host", "host-added"), ("transfer-encoding", "host-added"), ("X-HTTP-Method-Override", "operation-changed")]


@pytest.mark.parametrize(("name", "code"), HEADERS, ids=[name for name, _ in HEADERS])
def test_header_that_makes_another_call_of_it_is_told_as_that(tmp_path: Path, name: str, code: str) -> None:
    plain = '{ url: "https://shop.example/look" }'
    assert plain in FILES[DESK]
    new = {**FILES, DESK: FILES[DESK].replace(plain, plain.replace(" }", f", headers: {{ {name}: x }} }}"))}
    assert code in {change.code for change, _ in compared(tmp_path / "there", FILES, new) if change.cls is W}
    assert not [change for change, _ in compared(tmp_path / "back", new, FILES) if change.cls is W]
