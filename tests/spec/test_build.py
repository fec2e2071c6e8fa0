"""Documents become typed; what no check has passed is a clear error instead."""

import pytest

from tests.spec.documents import DOCUMENTS
from tuvl.errors import ConfigError
from tuvl.source.document import Document, parse_text
from tuvl.spec.build import build, build_as, from_data
from tuvl.spec.workflow import Workflow
from tuvl.values import JsonObject, dump_json


def document(text: str) -> Document:
    (found,) = parse_text(text.encode(), file="flows/w.yaml").documents
    return found


@pytest.mark.parametrize("data", DOCUMENTS, ids=lambda data: data["kind"])
def test_document_becomes_the_class_of_its_kind(data: JsonObject) -> None:
    built = build(document(dump_json(data)))
    assert type(built).__name__ == data["kind"]


def test_caller_who_knows_the_kind_gets_its_type() -> None:
    text = "kind: Workflow\nmetadata: {name: w}\nspec: {steps: [{id: a, kind: Functional, runner: r}]}"
    workflow: Workflow = build_as(document(text), Workflow)
    assert workflow.spec.steps[0].id == "a"


def test_error_names_file_and_key_path_without_the_value() -> None:
    text = """
kind: Workflow
metadata: {name: w}
spec:
  steps:
    - {id: a, kind: Agent, mode: autonomous, agent: {model: m, tools: [{ref: x, timeout_s: sesame}]}}
"""
    with pytest.raises(ConfigError) as caught:
        build(document(text))
    message = str(caught.value)
    assert message.startswith("flows/w.yaml: spec.steps[0].agent.tools[0].timeout_s: ")
    assert "tuvl validate" in message
    assert "sesame" not in message


def test_missing_field_is_named_in_the_path() -> None:
    with pytest.raises(ConfigError, match=r"flows/w\.yaml: spec\.steps: this field is required"):
        build(document("kind: Workflow\nmetadata: {name: w}\nspec: {}"))


@pytest.mark.parametrize("text", ["kind: Other", "a: 1", "[]"])
def test_document_of_no_known_kind_is_an_error(text: str) -> None:
    with pytest.raises(ConfigError, match="is no document kind"):
        build(document(text))


def test_data_that_is_no_mapping_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"^expanded model: "):
        from_data([], Workflow, where="expanded model")
