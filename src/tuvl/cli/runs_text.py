"""Runs on record as people read them."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from tuvl.analysis.steps import items, mapping
from tuvl.cli.asked import asked_by, asked_lines
from tuvl.cli.wording import cost, count, seconds
from tuvl.data.run_rows import RunFilter, TraceFilter
from tuvl.suggest import did_you_mean
from tuvl.values import JsonObject, JsonValue, dump_json, shorten

NO_RUNS = (
    "no runs on record; on record are durable runs, all runs of a server, and those with a supervisor, an agent that "
    "has `audit: true`, or a conversation in SQL"
)


def filters_text(asked: RunFilter) -> str:
    """Write the options that a list was asked for with."""
    given = {
        "--workflow": asked.workflow,
        "--status": asked.status,
        "--by": asked.principal,
        "--conversation": asked.conversation,
    }
    return " ".join(f"{option} {value}" for option, value in given.items() if value is not None)


def list_text(runs: Sequence[JsonObject]) -> str:
    """Write a line for each run, columns aligned."""
    return columns(
        (
            str(run["run_id"]),
            _status(run),
            str(run["workflow"]),
            _when(run["started_at"]),
            _took(run["duration_ms"]),
            _used(run["usage"]),
            str(run["principal"]),
        )
        for run in runs
    )


def columns(rows: Iterable[Sequence[str]]) -> str:
    """Write a line for each row, aligned."""
    lines = list(rows)
    if not lines:
        return ""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n" for row in lines
    )


def show_text(run: JsonObject, *, can_go_on: bool, elsewhere: str | None = None) -> str:
    """Write one run: how it went, its steps, its output, its conversations; what it waits for, and how it goes on."""
    return "\n".join(_show(run, can_go_on=can_go_on, elsewhere=elsewhere)) + "\n"


def trace_text(entries: Sequence[JsonObject]) -> str:
    """Write the calls of a run in order, shortened to a line or two each."""
    return "".join(f"{line}\n" for entry in entries for line in _entry(entry))


def nothing_found_text(asked: TraceFilter, entries: Sequence[JsonObject]) -> str:
    """Say why a question has no answer, in a run of which these calls are on record."""
    if not entries:
        return "nothing audited; set `audit: true` on the agents whose calls should be kept"
    steps = dict.fromkeys(str(entry["step_id"]) for entry in entries)
    tools = dict.fromkeys(str(entry["tool"]) for entry in entries if entry["type"] == "tool_call")
    for option, name, known in (("--step", asked.step, steps), ("--tool", asked.tool, tools)):
        if name is not None and name not in known:
            hint = did_you_mean(name, known) or (f"there are {', '.join(known)}" if known else "there is none at all")
            return f"nothing audited under {option} {name}; {hint}"
    return f"nothing audited of tool {asked.tool} under --step {asked.step}"


def _show(run: JsonObject, *, can_go_on: bool, elsewhere: str | None) -> Iterator[str]:
    yield f"run         {run['run_id']}"
    yield f"workflow    {run['workflow']} ({run['schema_version']})"
    signal = f" on {run['signal']!r}" if run["signal"] else ""
    yield f"status      {_status(run)}{signal}"
    if can_go_on:
        yield f"next        tuvl resume {run['run_id']}, or tuvl runs cancel {run['run_id']}"
    tenant = f", tenant {run['tenant']}" if run["tenant"] else ""
    yield f"principal   {run['principal']}{tenant}"
    yield f"started     {_when(run['started_at'])}, took {_took(run['duration_ms'])}"
    yield f"used        {_used(run['usage'])}"
    error = mapping(run["error"])
    wait = asked_by(str(run["run_id"]), error) if run["status"] == "suspended" else None
    if error and wait is None:
        place = f"step {error.get('step')!r}: " if error.get("step") else ""
        yield f"error       {place}{error.get('message')} ({error.get('type')})"
    result = mapping(run["result"])
    for step in map(mapping, items(result.get("steps"))):
        took = _took(step.get("duration_ms"))
        yield f"step        {step.get('id')} ({step.get('kind')}) → {step.get('signal')} · {took}"
    if result.get("output") is not None:
        yield f"output      {shorten(dump_json(result['output']), 500)}"
    for conversation in map(mapping, items(run["conversations"])):
        told = count(_whole(conversation.get("messages")), "message")
        yield f"conversation {conversation.get('id')} · {told} · {_used(conversation.get('usage'))}"
    if wait is not None:
        requester = str(wait.asked.get("requested_by") or run["principal"])
        since, now = _when(run["finished_at"]), datetime.now(UTC)
        yield from asked_lines(wait, since=since, requester=requester, now=now, elsewhere=elsewhere)


def _entry(entry: JsonObject) -> Iterator[str]:
    place = f"{entry['step_id']}: turn {entry['iteration']}"
    match entry["type"]:
        case "intervention":
            where = place if entry["step_id"] else "the run"
            why = f": {entry['reason']}" if entry.get("reason") else ""
            yield f"{where} · {entry['action']} by {entry['source']} {entry['by']}{why}"
            if entry.get("message"):
                yield f"    says    {shorten(str(entry['message']), 300)}"
        case "model_call":
            yield f"{place} · {_model_call(entry)} · {entry['finish_reason']}"
            if entry.get("content"):
                yield f"    says    {shorten(str(entry['content']), 300)}"
            for call in map(mapping, items(entry.get("tool_calls"))):
                yield f"    asks    {call.get('name')} {shorten(_text(call.get('arguments')), 200)}"
        case "judge_call":
            why = f" ({entry['error_type']})" if entry.get("error_type") else ""
            yield f"{place} · judge of {entry['artifact']} ({entry['site']}) → {entry['verdict']}{why}"
            yield f"    asked   {_model_call(entry)}"
        case "summary_call":
            yield f"{place} · summary · {_model_call(entry)}"
        case "unfinished_reply":
            again = ", begun anew" if entry["state"] == "void" else ""
            yield f"{place} · unfinished: a reply that came in pieces was never completed{again}"
            if entry.get("content"):
                yield f"    said    {shorten(str(entry['content']), 300)}"
        case _:
            yield f"{place} · {entry['tool']} {shorten(dump_json(entry['arguments']), 200)} → {entry['signal']}"
            yield f"    answer  {shorten(str(entry['content']), 300)}"


def _model_call(entry: JsonObject) -> str:
    return f"{entry['model']} · {count(_whole(entry['total_tokens']), 'token')} · {_took(entry['duration_ms'])}"


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else dump_json(value)


def _status(run: JsonObject) -> str:
    return f"{run['status']} (process gone)" if run.get("process") == "gone" else str(run["status"])


def _when(value: JsonValue) -> str:
    return str(value)[:19].replace("T", " ") + " UTC" if value else "-"


def _took(value: JsonValue) -> str:
    return seconds(float(value) / 1000) if isinstance(value, int | float) else "-"


def _used(value: JsonValue) -> str:
    usage = mapping(value)
    if not usage:
        return "-"
    spent = usage.get("cost_usd")
    tokens = ("about " if usage.get("estimated") else "") + count(_whole(usage.get("total_tokens")), "token")
    return f"{tokens}, {cost(float(spent) if isinstance(spent, int | float) else None)}"


def _whole(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0
