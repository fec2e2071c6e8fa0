"""What has changed since a project was locked is told in words, with its place."""

import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.locking.lock_project import FILES, TIME, TOOLS, changed, drifts, lock_of, project, words
from tuvl.locking.differences import MOST_LINES, differences
from tuvl.locking.drift import MOST_OF_ONE, drift
from tuvl.locking.lock import Section, digest_of
from tuvl.locking.take import take_lock
from tuvl.locking.tools import ToolSchema
from tuvl.project.index import ProjectIndex
from tuvl.source.document import parse_lines
from tuvl.source.yaml_text import to_yaml
from tuvl.values import JsonValue, canonical

CHANGES = [
    (
        "llms/main.yaml",
        "gpt-4.1-2025-04-14",
        "o3-2025-04-16",
        "preset `main`: model gpt-4.1-2025-04-14 → o3-2025-04-16",
    ),
    ("llms/main.yaml", ", temperature: 0.2", "", "preset `main`: temperature is gone, it was 0.2"),
    ("llms/main.yaml", "0.2", "'0.2'", 'preset `main`: temperature 0.2 → "0.2"'),
    ("llms/main.yaml", "0.2", "0.20001", "preset `main`: temperature 0.2 → 0.20001"),
    ("artifacts/voice.md", "Be brief.\nSign it.", "Be long.\nSign.", "prompt `voice@2` changed: 2 lines differ"),
    ("artifacts/voice.md", "type: prompt", "type: steering", "steering `voice@2`: type prompt → steering"),
    ("artifacts/clock.yaml", "clock-server", "sundial", "MCP server `clock@1`: command clock-server → sundial"),
    (
        "workflows/triage.yaml",
        "runner: price_order",
        "runner: log",
        "workflow `triage`: step `price`, runner price_order → log",
    ),
    ("workflows/triage.yaml", "kindly", "curtly", "workflow `triage`: step `answer`, agent.prompt 1 line differs"),
    ("nodes/prices.py", '"total": 1', '"total": 2', "node file `nodes/prices.py` changed"),
    ("llms/replies/all.yaml", "Hello.", "Hi.", "script `llms/replies/all.yaml`: replies Hello. → Hi."),
    ("models/order.yaml", "type: integer", "type: uuid", "data model `Order`: fields.id.type integer → uuid"),
    (
        "datasources/main.yaml",
        "shop.db",
        "other.db",
        "data source `main`: connection sqlite:///shop.db → sqlite:///other.db",
    ),
    ("tuvl.yaml", "true", "false", "the project's configuration: policy.require_pins true → false"),
]


@pytest.mark.parametrize(("file", "old", "new", "said"), CHANGES, ids=[said for *_, said in CHANGES])
def test_change_of_a_document_is_told_in_words(file: str, old: str, new: str, said: str, tmp_path: Path) -> None:
    project(tmp_path)
    lock = lock_of(tmp_path)
    changed(tmp_path, file, old, new)
    found = drifts(tmp_path, lock)
    assert words(found)[0] == said
    assert Path(found[0].file) == tmp_path / file


def test_each_locked_document_is_one_that_a_change_is_told_of() -> None:
    assert {file for file, *_ in CHANGES} == FILES.keys() - {"llms/scripted.yaml"}


def test_untouched_project_has_not_drifted(tmp_path: Path) -> None:
    project(tmp_path)
    assert drifts(tmp_path, lock_of(tmp_path)) == ()


def test_what_comes_and_goes_is_told_with_its_file(tmp_path: Path) -> None:
    project(tmp_path)
    lock = lock_of(tmp_path)
    (tmp_path / "artifacts/voice.md").rename(tmp_path / "artifacts/tone.md")
    changed(tmp_path, "artifacts/tone.md", "name: voice", "name: tone")
    gone, new = sorted(drifts(tmp_path, lock), key=lambda each: each.kind)
    assert (gone.kind, gone.words, Path(gone.file)) == ("gone", "prompt `voice@2` is gone", tmp_path / "tuvl.lock")
    assert (new.kind, new.words, Path(new.file)) == ("new", "prompt `tone@2` is new", tmp_path / "artifacts/tone.md")


def test_text_of_an_artifact_is_shown_with_the_line_that_differs(tmp_path: Path) -> None:
    project(tmp_path)
    lock = lock_of(tmp_path)
    changed(tmp_path, "artifacts/voice.md", "Be brief.", "Talk.")
    (found,) = drifts(tmp_path, lock)
    assert (found.line, found.diff) == (2, (" Be kind.", "-Be brief.", "+Talk.", " Sign it."))


def test_file_that_moved_is_no_drift(tmp_path: Path) -> None:
    project(tmp_path)
    lock = lock_of(tmp_path)
    (tmp_path / "artifacts/voice.md").rename(tmp_path / "artifacts/elsewhere.md")
    assert drifts(tmp_path, lock) == ()


def test_comments_order_of_keys_and_formatting_are_no_drift(tmp_path: Path) -> None:
    project(tmp_path)
    lock = lock_of(tmp_path)
    (tmp_path / "llms/main.yaml").write_text(
        "# Ours.\nspec:\n    temperature:   2.0e-1 # low\n    'api_key': '${OPENAI_API_KEY}'\n"
        '    provider: "openai"\n'
        "    model: gpt-4.1-2025-04-14\nmetadata:\n  name: main\nkind: AgentModel\n",
        encoding="utf-8",
    )
    assert drifts(tmp_path, lock) == ()


def test_steps_in_another_order_are_told(tmp_path: Path) -> None:
    project(tmp_path)
    lock = lock_of(tmp_path)
    text = FILES["workflows/triage.yaml"]
    step = text[text.index("    - id: price") : text.index("    - id: answer")]
    moved = text.replace(step, "").replace("    - id: now", f"{step}    - id: now")
    project(tmp_path, **{"workflows/triage.yaml": moved})
    assert words(drifts(tmp_path, lock)) == ["workflow `triage`: steps is in another order: price, now, answer"]


def test_step_that_comes_before_others_is_told_alone(tmp_path: Path) -> None:
    project(tmp_path)
    lock = lock_of(tmp_path)
    changed(tmp_path, "workflows/triage.yaml", "    - id: now", "    - { id: zero, kind: Router }\n    - id: now")
    (found,) = drifts(tmp_path, lock)
    assert found.words.startswith("workflow `triage`: step `zero` is new: ")
    assert found.path == ("spec", "steps", 0)


def test_many_differences_of_one_document_are_summed_up(tmp_path: Path) -> None:
    fields = ", ".join(f"{{ name: f{index}, type: text }}" for index in range(20))
    model = FILES["models/order.yaml"].replace("fields: [", f"fields: [{fields}, ")
    project(tmp_path, **{"models/order.yaml": model})
    lock = lock_of(tmp_path)
    project(tmp_path, **{"models/order.yaml": model.replace("type: text", "type: string")})
    found = words(drifts(tmp_path, lock))
    assert len(found) == MOST_OF_ONE + 1
    assert found[-1] == f"data model `Order`: and {20 - MOST_OF_ONE} differences more"


def _tool(**changes: object) -> dict[str, dict[str, ToolSchema]]:
    taken: dict = {"type": "object", "properties": {"tz": {"type": "string"}}, "required": [], **changes}
    return {"clock@1": {"get_time": ToolSchema(description=TIME.description, input_schema=taken)}}


TOOL_CHANGES = [
    (_tool(required=["tz"]), ["parameter `tz` is now required"]),
    (_tool(properties={"tz": {"type": "integer"}}), ["parameter `tz` type string → integer"]),
    (_tool(properties={}), ["parameter `tz` is gone"]),
    (
        _tool(properties={"tz": {"type": "string"}, "at": {}}, required=["at"]),
        ["parameter `at` is new", "parameter `at` is now required"],
    ),
    (_tool(additionalProperties=False), ["input_schema.additionalProperties is new: false"]),
    (
        {"clock@1": {"get_time": ToolSchema(description="Sends mail.", input_schema=TIME.input_schema)}},
        ["description The time somewhere. → Sends mail."],
    ),
]


@pytest.mark.parametrize(("tools", "said"), TOOL_CHANGES, ids=[said[0] for _, said in TOOL_CHANGES])
def test_change_of_a_tool_is_told_as_its_callers_see_it(tools, said: list[str], tmp_path: Path) -> None:
    project(tmp_path)
    found = drift(ProjectIndex(tmp_path), lock_of(tmp_path), mcp_tools=tools)
    assert words(found) == [f"tool `get_time` of server `clock@1`: {each}" for each in said]


def test_tool_that_was_required_and_whose_list_only_turned_around_is_told_all_the_same(tmp_path: Path) -> None:
    project(tmp_path)
    two = {"a": {}, "b": {}}
    before = drift(ProjectIndex(tmp_path), lock_of(tmp_path), mcp_tools=_tool(properties=two, required=["a", "b"]))
    assert before
    project(tmp_path)
    lock = take_lock(ProjectIndex(tmp_path), mcp_tools=_tool(properties=two, required=["a", "b"]))
    found = drift(ProjectIndex(tmp_path), lock, mcp_tools=_tool(properties=two, required=["b", "a"]))
    assert words(found) == ["tool `get_time` of server `clock@1` is written in another way"]


def test_without_asking_servers_tools_that_were_never_locked_are_told(tmp_path: Path) -> None:
    index = project(tmp_path)
    assert drift(index, take_lock(index, mcp_tools=TOOLS)) == ()
    (found,) = drift(index, take_lock(index, mcp_tools={}))
    assert found.section is Section.TOOLS
    assert found.words == "tool `get_time` of server `clock@1` is called, and was never locked"
    assert found.path == ("spec", "steps", 0, "mcp", "tool")


def test_long_texts_are_compared_in_bounded_time() -> None:
    old = "\n".join(f"line {number}" for number in range(MOST_LINES))
    (found,) = differences({"a": old}, {"a": old.replace("line 7\n", "line x\n")})
    assert (found.said, found.line) == ("differs from line 8 on", 8)


_SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.floats(-9, 9), st.text(max_size=5))
_TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=6)
_VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    st.one_of(_SCALARS, _TEXTS, st.lists(_TEXTS, min_size=2, max_size=4).map("\n".join)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(_TEXTS, inner, max_size=3),
        st.lists(st.fixed_dictionaries({"id": _TEXTS, "value": inner}), max_size=3),
    ),
    max_leaves=10,
)


@given(old=_VALUES, new=_VALUES)
@example(old=[1], new=["1"])
@example(old=["a", "a"], new=["a"])
@example(old=["a", "b"], new=["b", "a"])
@example(old=[1], new=[True])
@example(old=[{"id": "a"}, {"id": "a"}], new=[{"id": "a"}])
@example(old=[{"id": "a"}, [1]], new=[[1], {"id": "a"}])
@example(old={"a": 1}, new={"a": 1.0})
@example(old="", new=" ")
@example(old="a\nb", new="a\n b")
def test_values_differ_in_words_just_when_they_differ(old: JsonValue, new: JsonValue) -> None:
    """Any single edit of what is locked drifts, and nothing else does."""
    found = list(differences(old, new))
    assert bool(found) == (canonical(old) != canonical(new))
    assert bool(found) == (digest_of(old) != digest_of(new))
    assert all(re.search(r"\S", each.said) for each in found)


@given(value=_VALUES, indent=st.booleans())
def test_value_written_in_another_way_has_the_same_digest(value: JsonValue, indent: bool) -> None:
    text = "# a comment\n" + to_yaml({"value": value}, prose=indent)
    assert digest_of(parse_lines(text, file="x").documents[0].data) == digest_of({"value": value})
