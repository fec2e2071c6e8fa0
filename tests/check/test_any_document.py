"""Whatever a document holds, checking it gives findings: never an exception, never a crash of a check."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.check.generated_workflows import places
from tests.check.golden import CASES
from tests.check.project_files import write
from tuvl.check.one_file import document_findings
from tuvl.project.index import ProjectIndex
from tuvl.project.loading import parse_yaml
from tuvl.values import JsonValue, copy_json, dump_json

ODD: tuple[JsonValue, ...] = (
    None, True, 0, -1, 1.5, "", "x", "END", "{{ x", "{{ a.b | c }}", "artifact://x@1", "artifact://",
    [], [None], [[]], {}, {"x": None}, {"kind": "Agent"}, {"": ""}, [{"id": 1}], 10**400, "a" * 2000,
)  # fmt: skip
"""What is put in the place of an honest value."""


def documents() -> Iterator[JsonValue]:
    for path in sorted(CASES.rglob("*.yaml")):
        loaded = parse_yaml(path, path.read_bytes())
        yield from (document.data for document in loaded.documents if document.kind is not None)


HONEST = [data for data in documents() if isinstance(data, dict)]


def put(data: Any, path: tuple[str | int, ...], value: JsonValue) -> None:
    for part in path[:-1]:
        data = data[part]
    data[path[-1]] = value


@st.composite
def damaged(draw: st.DrawFn) -> dict[str, JsonValue]:
    data = copy_json(draw(st.sampled_from(HONEST)))
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from([path for path in places(data) if path and path != ("kind",)]))
        put(data, path, copy_json(draw(st.sampled_from(ODD))))
    assert isinstance(data, dict)
    return data


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("any"), {"tuvl.yaml": "kind: ProjectConfig\n"})


@given(data=damaged())
@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damaged_document_gives_findings(folder: Path, data: dict[str, JsonValue]) -> None:
    loaded = parse_yaml(folder / "x.yaml", dump_json(data).encode())
    for document in loaded.documents:
        found = document_findings(document, ProjectIndex(folder), loaded=loaded, has_default_model=False)
        assert [finding.message for finding in found if finding.code == "TV999"] == []
