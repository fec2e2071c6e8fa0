"""The context: isolation, JSON forms, reserved keys, and its size."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.run_support import Project
from tuvl.engine.context import RunContext, normalised
from tuvl.errors import StepError
from tuvl.values import json_size

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(st.sampled_from(["a", "b", "é", 'q"', ""]), JSON, max_size=4), max_size=6))
def test_size_is_kept_along_and_always_that_of_the_whole(deltas):
    context = RunContext({}, max_bytes=1_000_000)
    for delta in deltas:
        context.apply(context.admit(normalised(delta)))
        assert context.size == json_size(dict(context.public))


def test_a_delta_that_does_not_fit_changes_nothing_and_names_the_largest_key():
    context = RunContext({"kept": 1}, max_bytes=30)
    with pytest.raises(StepError, match="'big'") as refused:
        context.admit({"small": 1, "big": "x" * 50})
    assert refused.value.type == "context_too_large"
    assert dict(context.public) == {"kept": 1}


def test_a_delta_that_fits_exactly_is_taken():
    context = RunContext({}, max_bytes=json_size({"a": "xy"}))
    context.apply(context.admit({"a": "xy"}))
    assert context.public == {"a": "xy"}


def test_a_snapshot_keeps_seeing_what_it_saw():
    context = RunContext({"n": 1}, max_bytes=1000)
    before = context.values
    context.apply(context.admit({"n": 2}))
    context.set_engine_keys({"_last_error": "x"})
    assert before == {"n": 1}
    assert context.values == {"n": 2, "_last_error": "x"}


NODE = """
    from dataclasses import dataclass
    from datetime import date, datetime, timezone
    from decimal import Decimal
    from enum import Enum
    from uuid import UUID

    from tuvl import node


    class Colour(Enum):
        RED = "red"


    @dataclass
    class Line:
        sku: str


    @node("load")
    async def load(ctx):
        return {
            "when": datetime(2030, 1, 2, 3, 4, tzinfo=timezone.utc),
            "day": date(2030, 1, 2),
            "price": Decimal("9.90"),
            "id": UUID(int=7),
            "raw": b"caf\\xc3\\xa9",
            "set": {2, 1},
            "colour": Colour.RED,
            "lines": (Line("T-1"),),
        }


    @node("cycle")
    async def cycle(ctx):
        loop = {}
        loop["me"] = loop
        return {"loop": loop}


    @node("reserved")
    async def reserved(ctx):
        return {"_last_error": "mine"}


    @node("surrogate")
    async def surrogate(ctx):
        return {"text": "\\ud800"}


    @node("nan")
    async def nan(ctx):
        return {"x": float("nan")}


    @node("handle")
    async def handle(ctx):
        return {"x": object()}


    @node("spoil")
    async def spoil(ctx):
        ctx["order"]["lines"].append("spoilt")
        ctx["order"]["deep"]["er"] = "spoilt"
        ctx.params["given"]["lines"].append("spoilt")
        return {"saw": ctx["order"]["lines"]}
"""


def project(tmp_path, runner, **extra):
    step = {"id": "a", "kind": "Functional", "runner": runner, **extra}
    return Project(tmp_path, f"- {json.dumps(step)}").node(NODE)


async def test_values_that_python_has_and_json_has_not_get_one_form_each(tmp_path):
    """H01 result.serialise."""
    result = await project(tmp_path, "load").run()
    assert result.context == {
        "when": "2030-01-02T03:04:00+00:00",
        "day": "2030-01-02",
        "price": "9.90",
        "id": "00000000-0000-0000-0000-000000000007",
        "raw": "café",
        "set": [1, 2],
        "colour": "red",
        "lines": [{"sku": "T-1"}],
    }
    json.dumps(result.to_json(), allow_nan=False)


@pytest.mark.parametrize(
    ("runner", "type", "key"),
    [
        ("cycle", "bad_result", "loop"),
        ("reserved", "reserved_key", "_last_error"),
        ("surrogate", "bad_result", "text"),
        ("nan", "bad_result", "x"),
        ("handle", "bad_result", "x"),
    ],
)
async def test_what_has_no_json_form_or_belongs_to_the_engine_is_a_step_error(tmp_path, runner, type, key):
    """H01 result.serialise."""
    result = await project(tmp_path, runner).run()
    assert result.status == "failed"
    assert result.error is not None
    assert (result.error.type, result.error.step) == (type, "a")
    assert key in result.error.message
    assert result.context == {}


async def test_a_node_that_changes_its_copy_at_any_depth_changes_nothing_else(tmp_path):
    before = {"order": {"lines": ["tea"], "deep": {"er": 1}}}
    result = await project(tmp_path, "spoil", params={"given": "{{ order }}"}).run(json.loads(json.dumps(before)))
    assert result.status == "completed", result.error
    assert result.context == {**before, "saw": ["tea", "spoilt"]}


async def test_a_step_that_would_outgrow_the_context_fails_and_leaves_it_as_it_was(tmp_path):
    """E11 config.unenforced: limits.max_context_bytes."""
    result = await Project(
        tmp_path,
        """
        - { id: a, kind: Functional, runner: set, values: { text: "{{ text ~ text }}" }, routes: { error: b } }
        - { id: b, kind: Functional, runner: set, values: { ok: true } }
        """,
        limits={"max_context_bytes": 100},
    ).run({"text": "x" * 60})
    assert (result.status, result.context) == ("completed", {"text": "x" * 60, "ok": True})
    assert result.error is not None
    assert (result.error.type, result.error.detail["bound"]) == ("context_too_large", 100)
