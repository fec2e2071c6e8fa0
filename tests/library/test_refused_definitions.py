"""What cannot be meant is refused where it is written in Python, by a `UsageError` that names the field."""

import math
from dataclasses import replace

import pytest

from tuvl import (
    AgentLoop,
    Compaction,
    Conclude,
    ContextLimits,
    Limits,
    LiteLLM,
    OpenAICompatible,
    Price,
    Retry,
    Tool,
    Toolbox,
    ToolPolicy,
    UsageError,
    tool,
)
from tuvl.testing import ScriptedModel, reply


def look(q: str) -> str:
    """Look."""
    return q


def loop(**fields: object) -> AgentLoop:
    return AgentLoop(**{"model": ScriptedModel([reply("done")]), "tools": [look], **fields})


NO_NUMBER = [math.nan, math.inf, -5, "1", True, [1], 10**400]


@pytest.mark.parametrize("bad", [*NO_NUMBER, None], ids=lambda each: repr(each)[:8])
@pytest.mark.parametrize("field", ["input_per_mtok", "output_per_mtok", "cached_input_per_mtok"])
def test_a_price_that_is_none_is_refused_and_switches_no_bound_off(field: str, bad: object) -> None:
    prices = {"input_per_mtok": 1.0, "output_per_mtok": 2.0, "cached_input_per_mtok": 0.0}
    if bad is None and field == "cached_input_per_mtok":
        assert Price(**{**prices, field: bad}).cached_input_per_mtok is None
        return
    with pytest.raises(UsageError, match=f"Price: {field} is "):
        Price(**{**prices, field: bad})


def test_what_costs_nothing_has_a_price() -> None:
    assert Price(input_per_mtok=0, output_per_mtok=0).cached_input_per_mtok is None


FIELDS = {
    "limits": [None, {"max_iterations": 3}, 5],
    "instructions": [None, 5],
    "retry": [None, 3],
    "policy": [None, "fail"],
    "stream": ["yes", 1, None],
    "conclude": [{}, True],
    "compaction": [{}, 5],
    "context_limits": [{}, 5],
    "gates": [5, object()],
    "approvals": [5, len],
    "surface": [5, object()],
    "trim": [5, len],
    "reservation": [5],
    "tool_reservation": [5],
    "observer": [5],
    "continuation": [5],
    "audit": [5],
    "conversation": [5],
    "clock": [None, 5],
    "timeout_s": ["5", 0, math.nan, 10**400],
    "temperature": ["x", -1, math.nan],
    "max_output_tokens": [1.5, 0],
    "max_continuations": [0, None],
    "heartbeat_s": [0, "1"],
    "steer_mode": ["now", None, []],
    "name": ["", None],
    "skills": ["a text", None, [5]],
    "outcomes": ["abc", None, [1], [[]]],
    "tools": [5, None, [5]],
    "model": [5, None, object(), ScriptedModel],
}


@pytest.mark.parametrize(
    ("field", "index"), [(field, index) for field in FIELDS for index in range(len(FIELDS[field]))]
)
def test_a_field_of_an_agent_that_cannot_be_meant_is_refused_by_name(field: str, index: int) -> None:
    bad = FIELDS[field][index]
    with pytest.raises(UsageError, match="tool" if field == "tools" else field):
        loop(**{field: bad})
    with pytest.raises(UsageError):
        replace(loop(), **{field: bad})


MADE = {
    "Compaction": (
        lambda **fields: Compaction(**{"max_tokens": 100, **fields}),
        {
            "max_tokens": ["5", 0],
            "trigger_percent": [500, 0, "80"],
            "target_percent": [80, 101, 0],
            "preserve": ["look", [5]],
            "model": [5, "openai/x"],
            "calibrate": ["no"],
            "recent_tail": [0],
        },
    ),
    "ToolPolicy": (
        ToolPolicy,
        {
            "on_error": ["stop", []],
            "arg_validation": ["some"],
            "dedup_within_turn": ["no", 1],
            "default_timeout_s": [0, "5"],
            "concurrency": [0, 1.5],
            "heartbeat_s": [0],
        },
    ),
    "Limits": (Limits, {"token_budget": [0, "5", 10**400], "budget_check": ["never", []]}),
    "Retry": (Retry, {"on": ["timeout", None, ["often"], [[]]], "attempts": [0], "backoff_s": [-1]}),
    "Conclude": (Conclude, {"offer_tools": ["no"], "margin": [-1], "notice": ["", None]}),
    "ContextLimits": (ContextLimits, {"max_bytes": ["5", 0], "max_messages": [0, True]}),
    "LiteLLM": (
        lambda **fields: LiteLLM(**{"model": "a/b", **fields}),
        {"price": [5], "extra": [[1], None], "name": [5], "api_key": [b"sk-secret-0123456789"], "temperature": ["x"]},
    ),
    "OpenAICompatible": (
        lambda **fields: OpenAICompatible(**{"model": "m", "api_base": "http://x/v1", **fields}),
        {"price": [{"input_per_mtok": 1}], "api_base": ["", None]},
    ),
    "Tool": (
        lambda **fields: Tool(
            **{"name": "t", "description": "d", "parameters": {"type": "object"}, "run": look, **fields}
        ),
        {"parameters": [5], "run": [5], "name": ["", 5, "a b"], "effects": [["read"]], "description": [" "]},
    ),
    "tool": (tool, {"name": ["", 5, "a b"], "description": [" ", 5], "max_calls": [0], "effects": [["read"], "no"]}),
    "Toolbox": (lambda **fields: Toolbox(**fields), {"tools": [5, [5], "look"]}),
}


@pytest.mark.parametrize(
    ("kind", "field", "index"),
    [
        (kind, field, index)
        for kind, (_, fields) in MADE.items()
        for field in fields
        for index in range(len(fields[field]))
    ],
)
def test_a_value_that_cannot_be_meant_is_refused_where_it_is_written(kind: str, field: str, index: int) -> None:
    make, fields = MADE[kind]
    bad = fields[field][index]
    with pytest.raises(UsageError) as refused:
        make(**{field: bad})
    said = str(refused.value)
    assert field in said or kind in {"Tool", "tool"} or "name" in said
    assert "sk-secret" not in said


@pytest.mark.parametrize("field", ["control", "principal", "audit", "conversation", "on_event"])
async def test_an_argument_of_a_run_that_cannot_be_meant_is_refused_before_the_model_is_called(field: str) -> None:
    model = ScriptedModel([reply("done")])
    with pytest.raises(UsageError, match=f"AgentLoop.run: {field} is 5"):
        await AgentLoop(model=model, tools=[look]).run("Look.", **{field: 5})
    assert (await AgentLoop(model=model, tools=[look]).run("Look.")).output == "done"


class Priced:
    """A model of somebody else's making."""

    name = "theirs"
    price: object = "cheap"

    async def complete(self, request):
        return await ScriptedModel([reply("done", tokens=1000)]).complete(request)

    async def aclose(self) -> None:
        pass


def test_a_model_whose_price_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="price is 'cheap'; give a Price"):
        loop(model=Priced())


async def test_a_model_made_for_one_run_whose_price_is_none_has_an_unknown_price() -> None:
    result = await loop(model=lambda: Priced()).run("Look.")
    assert (result.signal, result.usage.cost_usd) == ("default", None)
    bounded = await loop(model=lambda: Priced(), limits=Limits(cost_budget_usd=1)).run("Look.")
    assert bounded.error is not None
    assert bounded.error.type == "unpriced_model"


async def test_a_function_that_makes_no_model_is_told_of() -> None:
    with pytest.raises(UsageError, match="returned a 'int', not a ChatModel"):
        await loop(model=lambda: 5).run("Look.")
