"""Checks look at files in any state: whatever stands where, they speak or are silent, and never fail themselves."""

import json
import random
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.check.golden import CASES
from tuvl.check.runner import check_document
from tuvl.project.index import ProjectIndex
from tuvl.source.document import parse_text

JUNK: tuple[Any, ...] = (
    *(None, True, 5, -1, 2.5, "", "x", "END", "default", "artifact://x@1", "{{ a }}", "{{ a", "${X}"),
    *([], {}, [1], ["a"], {"a": 1}, [[]], [{}], {"default": "END"}),
    *("Agent", "Router", "HumanInTheLoop", "ForEach", "Workflow", "APICall", "autonomous", "completion"),
)
FIELDS = (
    "routes",
    "hooks",
    "timeout_s",
    "mode",
    "match",
    "when",
    "signal_from",
    "guardrails",
    "trim",
    "outcome",
    "runner",
)


@cache
def workflows() -> tuple[Any, ...]:
    """The workflows of all good examples, as data."""
    files = sorted(path for path in CASES.rglob("*.yaml") if "good" in path.as_posix().removeprefix(CASES.as_posix()))
    documents = [document for file in files for document in parse_text(file.read_bytes(), file=file.name).documents]
    return tuple(document.data for document in documents if document.kind == "Workflow")


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of everything below the top of a document."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in entries:
        if path:
            yield (*path, key)
        yield from places(item, (*path, key))


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def spoilt(data: Any, chance: random.Random) -> Any:
    """A copy with one to three things replaced, removed, moved or added."""
    data = deepcopy(data)
    for _ in range(chance.randint(1, 3)):
        paths = list(places(data))
        if not paths:
            break
        *above, key = chance.choice(paths)
        parent = at(data, tuple(above))
        match chance.randint(0, 3):
            case 0:
                parent[key] = deepcopy(chance.choice(JUNK))
            case 1:
                del parent[key]
            case 2:
                parent[key] = deepcopy(at(data, chance.choice(paths)))
            case _ if isinstance(parent, dict):
                parent[chance.choice(FIELDS)] = deepcopy(chance.choice(JUNK))
            case _:
                parent.append(deepcopy(chance.choice(JUNK)))
    return data


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> ProjectIndex:
    return ProjectIndex(tmp_path_factory.mktemp("empty"))


@given(chance=st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_no_check_fails_on_a_spoilt_workflow(project: ProjectIndex, chance: random.Random) -> None:
    data = spoilt(chance.choice(workflows()), chance)
    for document in parse_text(json.dumps(data).encode(), file=str(Path("w.yaml"))).documents:
        crashed = [finding.message for finding in check_document(document, project) if finding.code == "TV999"]
        assert crashed == []
