"""The shape check and the contracts say the same of any document, but for what is left to other rules."""

import copy
import os
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.spec.documents import DOCUMENTS, FRONT_MATTER
from tuvl.spec.json_schema import DOCUMENTS as CONTRACTS
from tuvl.spec.json_schema import contracts
from tuvl.spec.left_open import OTHER_MODE
from tuvl.spec.schema_files import KINDS, PROSE
from tuvl.spec.shape import shape_problems
from tuvl.spec.signals import RESERVED_EXITS
from tuvl.values import JsonObject, JsonValue

BY_KIND = {contract.__name__: contract for contract in CONTRACTS}
SAMPLES: list[tuple[str, JsonObject]] = [(str(document["kind"]), document) for document in DOCUMENTS]
SAMPLES.append((PROSE, FRONT_MATTER))
# The workflow holds most of the language, so it is tried more often.
SAMPLE = st.sampled_from([SAMPLES[0]] * len(SAMPLES) + SAMPLES)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
CHANCE = st.integers(0, 2**32).map(random.Random)
TELLING: list[JsonValue] = [
    None, True, False, 0, -1, 1, 3, 1.0, 1.5, 0.0, float("inf"), float("nan"), 10**400, 2**53, 600, 99,
    "", "a", "1", "1:30", "1e3", "true", "a b", "_x", "a\n", "{{ x }}", "${V}", "END", "5xx", "never", "x" * 70, "é",
    [], {}, [1], ["a"], [None], {"a": 1}, {"": "x"},
]  # fmt: skip


def places(value: JsonValue, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from places(item, (*path, index))


def at(value: JsonValue, path: tuple[str | int, ...]) -> JsonValue:
    for part in path:
        value = value[part]  # type: ignore[index,call-overload]
    return value


def mutate(document: JsonObject, chance: random.Random, value: JsonValue) -> JsonObject:
    """Change one place: remove it, put another value there, or add a field that some definition knows."""
    changed: JsonObject = copy.deepcopy(document)
    *above, last = chance.choice([path for path in places(changed) if path and path != ("kind",)] or [("spec",)])
    parent: Any = at(changed, tuple(above))
    match chance.choice(["remove", "replace", "move", "add"]):
        case "remove" if last in parent or isinstance(parent, list):
            del parent[last]
        case "move":
            parent[last] = copy.deepcopy(at(changed, chance.choice(list(places(changed)))))
        case "add" if isinstance(parent, dict):
            name = chance.choice(sorted(contracts()))
            parent[chance.choice([*contracts()[name].model_fields, "unknown"])] = value
        case _:
            parent[last] = value
    return changed


def left_to_other_rules(document: JsonObject) -> bool:
    """Whether a rule of another family has to speak: TV401, TV402, TV403, TV406 or TV407."""
    spec = document.get("spec")
    steps = spec.get("steps") if isinstance(spec, dict) else None
    return any(
        left_step(step)
        for step in (steps if isinstance(steps, list) else [])
        if isinstance(step, dict) and step.get("kind") == "Agent"
    )


def left_step(step: JsonObject) -> bool:
    mode, agent = step.get("mode"), step.get("agent")
    if mode not in ("completion", "autonomous"):
        return True
    if not isinstance(agent, dict):
        return False
    own = {"completion": "CompletionAgent", "autonomous": "AutonomousAgent"}[str(mode)]
    fields = [contracts()[name].model_fields for name in (own, OTHER_MODE[own])]
    if agent.keys() & (fields[1].keys() - fields[0].keys()):
        return True
    if mode == "autonomous" and not agent.get("tools"):
        return True
    outcome, guardrails = agent.get("outcome"), agent.get("guardrails")
    enum = outcome.get("enum") if isinstance(outcome, dict) else None
    if isinstance(enum, list) and not all(isinstance(value, str) and value for value in enum):
        return True
    if isinstance(enum, list) and (RESERVED_EXITS.intersection(map(str, enum)) or len(set(map(str, enum))) < len(enum)):
        return True
    if not isinstance(guardrails, dict):
        return False
    entries = [entry for site in guardrails.values() if isinstance(site, list) for entry in site]
    unknown = guardrails.keys() - {"input", "tools", "output"}
    return bool(unknown) or not all(isinstance(entry, str) and entry for entry in entries)


def builds(kind: str, document: JsonValue) -> bool:
    try:
        BY_KIND[kind].model_validate(document)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize(("kind", "document"), SAMPLES, ids=lambda value: value if isinstance(value, str) else "")
def test_shape_is_silent_on_a_valid_document(kind: str, document: JsonObject) -> None:
    assert shape_problems(document, kind=kind) == []


@settings(max_examples=2500 if os.environ.get("TUVL_SOAK") else 800, deadline=None)
@given(sample=SAMPLE, chance=CHANCE, value=st.sampled_from(TELLING) | JSON, times=st.integers(1, 2))
def test_shape_is_silent_exactly_when_the_contract_builds(
    sample: tuple[str, JsonObject], chance: random.Random, value: JsonValue, times: int
) -> None:
    kind, document = sample
    for _ in range(times):
        document = mutate(document, chance, value)
    problems = shape_problems(document, kind=kind, project_default_model=True)
    if builds(kind, document):
        assert problems == []
    else:
        assert problems or left_to_other_rules(document)


@settings(max_examples=300, deadline=None)
@given(kind=st.sampled_from([*KINDS, PROSE, "Other", None]), data=JSON)
def test_shape_takes_any_json_value_without_raising(kind: str | None, data: JsonValue) -> None:
    for problem in shape_problems(data, kind=kind):
        assert problem.code in {"TV101", "TV102", "TV103", "TV104", "TV105", "TV106", "TV108"}
        assert problem.message


@settings(max_examples=300, deadline=None)
@given(sample=SAMPLE, chance=CHANCE, value=st.sampled_from(TELLING) | JSON)
def test_every_problem_names_a_place_whose_parent_is_there(
    sample: tuple[str, JsonObject], chance: random.Random, value: JsonValue
) -> None:
    kind, document = sample
    document = mutate(document, chance, value)
    for problem in shape_problems(document, kind=kind):
        at(document, problem.path)
