"""Replies that no honest model gives, made by hypothesis: odd ids, names, arguments, reasons, usage and texts."""

import math

from hypothesis import strategies as st

from tuvl.errors import ModelError
from tuvl.llm.messages import Message, ModelReply, ToolCall, Usage

TEXT = st.text(st.characters(codec=None), max_size=40)
"""Any text, lone surrogates and control characters included."""

ODD_TEXT = TEXT | st.sampled_from(
    ["", " ", "\ud800", "\x00", "\u2028", "{}", "null", "[]", '{"outcome":', "```json\n{}\n```", "done", "a" * 9000]
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)

ARGUMENTS = (
    JSON
    | ODD_TEXT
    | st.sampled_from(
        [
            "{",
            '{"n": 1}',
            '"{}"',
            '{"n": NaN}',
            '{"n": 1, "n": 2}',
            '{"n": "\\ud800"}',
            '{"_n": 1}',
            "[" * 5000,
            '{"n": ' * 70 + "1" + "}" * 70,
            '{"n": 1' + "0" * 5000 + "}",
            {"n": 10**5000},
            {"n": math.nan},
            "x" * 70_000,
        ]
    )
)

NAMES = (
    st.sampled_from(["read", "write", "broken", "late", " read ", "READ", "read;", "__class__", "", "é", "\ud800"])
    | TEXT
)
IDS = (
    st.sampled_from(["", " ", "c1", "c2", "call_1", "call_2", "functions.read:0", "\ud800", "a\nb", "é", "x" * 300])
    | TEXT
)

FAIR_CALLS = st.builds(
    ToolCall,
    id=IDS,
    name=st.sampled_from(["read", "write", "broken", "late"]),
    arguments=st.sampled_from([None, "{}", '{"n": 1}']),
)
CALLS = FAIR_CALLS | st.builds(ToolCall, id=IDS, name=NAMES, arguments=ARGUMENTS)

NUMBERS = st.integers(-5, 2000) | st.just(10**30)
COSTS = st.none() | st.floats()
USAGES = st.none() | st.builds(
    Usage,
    input_tokens=NUMBERS,
    output_tokens=NUMBERS,
    total_tokens=NUMBERS,
    cached_input_tokens=NUMBERS,
    cost_usd=COSTS,
)

ANSWERS = st.sampled_from(
    ['{"outcome":"done","result":1}', '{"outcome":"given_up"}', '{"outcome":"error"}', '{"outcome":"DONE"}', "plain"]
)


def replies() -> st.SearchStrategy:
    """Return replies, and now and then the failure of a call."""
    odd = st.builds(
        ModelReply,
        message=st.builds(
            Message,
            role=st.just("assistant"),
            content=st.none() | ODD_TEXT | ANSWERS,
            tool_calls=st.lists(CALLS, max_size=4).map(tuple),
            provider=st.dictionaries(st.sampled_from(["reasoning", "signature"]), st.text(max_size=9), max_size=1),
        ),
        finish_reason=st.sampled_from(
            ["stop", "tool_calls", "other", "stop", "tool_calls", "length", "content_filter"]
        ),
        usage=USAGES,
    )
    failing = st.sampled_from(["timeout", "server_error", "context_overflow", "bad_request"]).map(
        lambda type: ModelError("it failed", type=type, retryable=type in {"timeout", "server_error"})
    )
    fair = st.builds(
        ModelReply,
        message=st.builds(
            Message,
            role=st.just("assistant"),
            content=st.none() | ODD_TEXT,
            tool_calls=st.lists(FAIR_CALLS, min_size=1, max_size=4).map(tuple),
        ),
        usage=USAGES,
    )
    return st.one_of(odd, odd, fair, failing)
