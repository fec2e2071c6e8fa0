"""Compares a run with what a scenario expects; each difference has its place in the file."""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from tuvl.dataclass import dataclass
from tuvl.engine.result import RunResult
from tuvl.spec.scenario import Expectation, ExpectedCall
from tuvl.values import JsonObject, JsonValue, KeyPath, dump_json, format_path, number_text

EXPECT: KeyPath = ("spec", "expect")
_MOST_CHARACTERS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """One expectation that does not hold; the texts are shown one above the other."""

    path: KeyPath
    expected: str
    actual: str

    @property
    def field(self) -> str:
        """The expectation as a person names it: `expect.output.reply`."""
        return format_path(self.path[1:])


def mismatches(expect: Expectation, result: RunResult) -> Iterator[Mismatch]:
    """Compare everything that the scenario looks at, in the order of the contract."""
    error = result.error
    yield from _same("status", expect.status, result.status)
    yield from _same("signal", expect.signal, result.signal)
    if "output" in expect.model_fields_set:
        yield from _subset((*EXPECT, "output"), expect.output, result.output)
    if expect.context is not None:
        yield from _subset((*EXPECT, "context"), cast(JsonValue, expect.context), result.context)
    yield from _same("error_type", expect.error_type, None if error is None else error.type)
    if expect.steps is not None:
        yield from _sequence("steps", expect.steps, [step.id for step in result.steps])
    if expect.calls is not None:
        yield from _calls(expect.calls, calls_of(result))
    yield from _bounds(expect, result)


def _same(name: str, expected: str | None, actual: str | None) -> Iterator[Mismatch]:
    if expected is not None and expected != actual:
        yield Mismatch(path=(*EXPECT, name), expected=expected, actual=actual or "nothing")


def _subset(path: KeyPath, expected: JsonValue, actual: JsonValue) -> Iterator[Mismatch]:
    """Compare a value: mappings by the keys that are expected, lists item by item, the rest as it is."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key, value in expected.items():
            if key in actual:
                yield from _subset((*path, key), value, actual[key])
            else:
                yield Mismatch(path=(*path, key), expected=_shown(value), actual=f"no such key; {_keys(actual)}")
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for index, (value, other) in enumerate(zip(expected, actual, strict=True)):
            yield from _subset((*path, index), value, other)
    elif isinstance(expected, bool) != isinstance(actual, bool) or expected != actual:
        yield Mismatch(path=path, expected=_shown(expected), actual=_shown(actual))


def _keys(actual: Mapping[str, JsonValue]) -> str:
    return f"there are {', '.join(actual)}" if actual else "the mapping is empty"


def _sequence(name: str, expected: Sequence[str], actual: Sequence[str]) -> Iterator[Mismatch]:
    """Compare names in order; the difference is told at the first one that is not as expected."""
    if list(expected) == list(actual):
        return
    place = next(
        (index for index, (one, other) in enumerate(zip(expected, actual, strict=False)) if one != other),
        min(len(expected), len(actual)),
    )
    path: KeyPath = (*EXPECT, name) if place >= len(expected) else (*EXPECT, name, place)
    yield Mismatch(path=path, expected=_marked(expected, place), actual=_marked(actual, place))


def _marked(names: Sequence[str], place: int) -> str:
    """Write names in order, the one where the difference begins in brackets."""
    shown = [f"[{name}]" if index == place else name for index, name in enumerate(names)]
    return " → ".join(shown if place < len(names) else [*shown, "[the end]"])


def calls_of(result: RunResult) -> list[tuple[str, JsonObject]]:
    """Return the tool calls of a run, in order, with their arguments as they were read."""
    calls: list[tuple[str, JsonObject]] = []
    for entry in result.trace or ():
        if entry.get("type") == "tool_call":
            arguments = entry.get("arguments")
            calls.append((str(entry.get("tool")), arguments if isinstance(arguments, dict) else {}))
    return calls


def _calls(expected: Sequence[ExpectedCall | str], actual: Sequence[tuple[str, JsonObject]]) -> Iterator[Mismatch]:
    names = [call if isinstance(call, str) else call.tool for call in expected]
    found = list(_sequence("calls", names, [tool for tool, _ in actual]))
    yield from found
    if found:
        return
    for index, (call, (_, arguments)) in enumerate(zip(expected, actual, strict=True)):
        if isinstance(call, ExpectedCall) and call.arguments is not None:
            path: KeyPath = (*EXPECT, "calls", index, "arguments")
            yield from _subset(path, cast(JsonValue, call.arguments), arguments)


def _bounds(expect: Expectation, result: RunResult) -> Iterator[Mismatch]:
    usage = result.usage
    for name, most, used in (
        ("max_llm_calls", expect.max_llm_calls, usage.llm_calls),
        ("max_tool_calls", expect.max_tool_calls, usage.tool_calls),
        ("max_tokens", expect.max_tokens, usage.total_tokens),
        ("max_cost_usd", expect.max_cost_usd, usage.cost_usd),
    ):
        if most is not None and (used is None or used > most):
            shown = "unknown: the model has no price" if used is None else f"{number_text(used)}"
            yield Mismatch(path=(*EXPECT, name), expected=f"at most {number_text(most)}", actual=shown)


def _shown(value: JsonValue) -> str:
    text = dump_json(value)
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 1]}…"
