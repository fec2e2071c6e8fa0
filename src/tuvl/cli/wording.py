"""How the ends of steps and of runs are worded on a terminal; `seconds`, `cost` and `count` come along."""

from tuvl.events.types import RunFinished, StepFinished
from tuvl.values import JsonObject, JsonValue, printable
from tuvl.wording import cost as cost
from tuvl.wording import count as count
from tuvl.wording import seconds as seconds


def step_line(step: str, body: StepFinished, *, turns: int, tool_calls: int) -> str:
    """Say in one line how a step ended."""
    parts = [f"{step} ({body.kind}) → {body.signal}"]
    if turns:
        parts.append(count(turns, "turn"))
    if tool_calls:
        parts.append(count(tool_calls, "tool call"))
    parts.append(seconds(body.duration_ms / 1000))
    return " · ".join(parts)


def missed_line(body: RunFinished) -> str | None:
    """Say that events are not shown because the terminal was too slow; `None` when all are."""
    return f"{count(body.dropped, 'event')} not shown: the reader was too slow" if body.dropped else None


def summary(document: JsonObject) -> str:
    """Say in one line how a run ended, from its result document: status, signal, and what it used."""
    status, signal = document["status"], document.get("signal")
    # Of a run that failed the last signal is not the news; `reason` is.
    parts = [f"{status} on {signal!r}" if signal and status == "completed" else f"{status}"]
    used = document.get("usage")
    usage = used if isinstance(used, dict) else {}
    if calls := _whole(usage.get("llm_calls")):
        parts.append(count(calls, "model call"))
    if calls := _whole(usage.get("tool_calls")):
        parts.append(count(calls, "tool call"))
    if tokens := _whole(usage.get("total_tokens")):
        parts.append(("about " if usage.get("estimated") else "") + count(tokens, "token"))
        parts.append(cost(_number(usage.get("cost_usd"))))
    parts.append(seconds((_number(document.get("duration_ms")) or 0.0) / 1000))
    return " · ".join(parts)


def reason(document: JsonObject) -> str | None:
    """Say in one line why a run has an `error`; `None` when it has none."""
    error = document.get("error")
    if not isinstance(error, dict):
        return None
    place = f"step {error['step']!r}: " if error.get("step") else ""
    return printable(f"{place}{error.get('message')} ({error.get('type')})")


def _whole(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0


def _number(value: JsonValue) -> float | None:
    return float(value) if isinstance(value, int | float) else None
