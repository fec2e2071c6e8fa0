"""The shipped JSON Schemas: fresh, valid, loaded without heavy libraries, and of one mind with the contracts."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.spec.test_shape_property import CHANCE, SAMPLE, SAMPLES, builds, mutate
from tuvl.cli.schema import schema_text
from tuvl.errors import UsageError
from tuvl.spec.generate import stale
from tuvl.spec.reference import all_definitions
from tuvl.spec.removed import REMOVED, REMOVED_KINDS
from tuvl.spec.schema_files import KINDS, PROSE, load_schema, schema_path
from tuvl.values import JsonObject, JsonValue

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "language.md"

# Whole numbers and texts only: JSON Schema takes 3.0 for an integer, the language does not.
PLAIN: list[JsonValue] = [None, True, 0, -1, 3, 1.5, "", "a", "1:30", "a b", "{{ x }}", "${V}", [], {}, ["a"], {"a": 1}]


def test_schemas_and_field_tables_say_what_the_contracts_say() -> None:
    """When this fails: `python -m tuvl.spec.generate --reference docs/language.md`."""
    assert stale(REFERENCE) == []


def test_language_reference_has_a_table_of_every_definition() -> None:
    shown = set(re.findall(r"^<!-- fields: (\w+) -->$", REFERENCE.read_text(encoding="utf-8"), re.MULTILINE))
    wrappers = {*KINDS, "ArtifactMetadata", "ProjectMetadata", "ModelRefs"}
    named = {name for name, definition in all_definitions().items() if "x-choice" not in definition}
    assert named - wrappers == shown - {"BaseStep", "Agent", "Envelope"}


def test_language_reference_names_every_removed_field() -> None:
    text = REFERENCE.read_text(encoding="utf-8")
    older = text[text.index("## What an older file may still say") :]
    assert all(entry.field in older for entry in REMOVED)
    assert all(f"`kind: {kind}`" in older for kind in REMOVED_KINDS)


@pytest.mark.parametrize("kind", [*KINDS, PROSE])
def test_schema_is_a_valid_schema_of_its_dialect(kind: str) -> None:
    schema = load_schema(kind)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema_rs.meta.validate(schema)


@pytest.mark.parametrize("kind", [*KINDS, PROSE])
def test_every_property_has_a_description(kind: str) -> None:
    schema = load_schema(kind)
    for definition in (schema, *schema["$defs"].values()):
        if "x-choice" not in definition:
            assert all(value.get("description") for value in definition["properties"].values())
            assert definition["additionalProperties"] is False


def test_schemas_are_in_the_package() -> None:
    assert {path.stem for path in schema_path("x").parent.glob("*.json")} == {*KINDS, PROSE}


@settings(max_examples=400, deadline=None)
@given(sample=SAMPLE, chance=CHANCE, value=st.sampled_from(PLAIN))
def test_editors_are_told_the_same_as_the_contracts_say(
    sample: tuple[str, JsonObject], chance: Any, value: JsonValue
) -> None:
    kind, document = sample
    document = mutate(document, chance, value)
    assert jsonschema_rs.Draft202012Validator(load_schema(kind)).is_valid(document) == builds(kind, document)


def test_shape_check_imports_no_heavy_library() -> None:
    code = (
        "import sys; from tuvl.spec.shape import shape_problems\n"
        "shape_problems({'kind': 'Workflow', 'spec': {'steps': [{'id': 'a b', 'kind': 'x'}]}}, kind='Workflow')\n"
        "print(sorted({name.split('.')[0] for name in sys.modules}))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(answer.stdout.replace("'", '"')))
    assert not loaded & {"pydantic", "pydantic_core", "jsonschema_rs", "yaml", "jinja2", "difflib", "httpx", "typer"}


def test_schema_of_all_kinds_dispatches_on_kind() -> None:
    schema = json.loads(schema_text(None))
    jsonschema_rs.meta.validate(schema)
    validator = jsonschema_rs.Draft202012Validator(schema)
    for kind, document in SAMPLES:
        if kind != PROSE:
            assert validator.is_valid(document)
            assert not validator.is_valid({**document, "unknown": 1})
    assert not validator.is_valid({"kind": "Other"})


def test_definitions_of_different_kinds_never_share_a_name() -> None:
    seen: dict[str, object] = {}
    for kind in KINDS:
        for name, definition in load_schema(kind)["$defs"].items():
            assert seen.setdefault(name, definition) == definition
    assert not seen.keys() & set(KINDS)


def test_schema_of_one_kind_stands_alone_and_is_standard() -> None:
    for kind in (*KINDS, PROSE):
        text = schema_text(kind)
        assert '"x-' not in text
        jsonschema_rs.Draft202012Validator(json.loads(text))


def test_schema_of_an_unknown_kind_is_guessed() -> None:
    with pytest.raises(UsageError, match="no document is of kind 'workflow'; did you mean 'Workflow'"):
        schema_text("workflow")
    with pytest.raises(UsageError, match="choose one of Workflow, AgentModel"):
        schema_text("Deployment")
