"""What the pages of runs show, made of what is known of a run; pure."""

from collections.abc import Iterator, Mapping
from dataclasses import field
from datetime import datetime
from typing import Literal, TypeAlias
from urllib.parse import quote

from tuvl.analysis.steps import items, mapping
from tuvl.dataclass import dataclass
from tuvl.server.following import FollowedStep, Following, LogLine
from tuvl.server.pages.bounds import NO_BOUNDS, Bounds
from tuvl.server.pages.gauges import Panel, Used, agent_panel, run_panel
from tuvl.server.pages.looks import Look, ago, moment, pretty, read_moment, run_look, shown, took
from tuvl.server.pages.step_table import Places, StepLine, followed_lines, recorded_lines, states_of
from tuvl.values import JsonObject, JsonValue
from tuvl.wording import cost, count, seconds

ControlName: TypeAlias = Literal["pause", "resume", "steer", "abort"]

_ENDED = frozenset({"completed", "failed", "aborted"})

_YOUNG_S = 10.0

SHORT_ID = 8
"""Characters of a run's id that a list shows."""


def run_href(run_id: str) -> str:
    """Return the path of a run's page; its id may be what a caller has made up."""
    return f"/runs/{quote(run_id, safe='')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """One run in the list."""

    run_id: str
    href: str
    short_id: str
    workflow: str
    look: Look
    signal: str
    started: str
    started_iso: str
    started_full: str
    took: str
    used: str
    principal: str


def run_line(row: JsonObject, *, paused: bool, live: bool, now: datetime) -> RunLine:
    """Return a run of the store as the list shows it; `live` ones are had by a process."""
    status = str(row.get("status"))
    began, ended = read_moment(row.get("started_at")), read_moment(row.get("finished_at"))
    run_id = str(row.get("run_id"))
    gone = not live and not _is_young(began, now)
    spent_s = _spent_s(row)
    return RunLine(
        run_id=run_id,
        href=run_href(run_id),
        short_id=run_id[:SHORT_ID],
        workflow=shown(row.get("workflow")),
        look=run_look(_status(status, paused=paused, gone=gone)),
        signal=shown(row.get("signal")),
        started=ago(began, now) if began else "–",
        started_iso=began.isoformat() if began else "",
        started_full=moment(began) if began else "",
        took=took(began, ended or (now if status == "running" and not gone else None))
        if spent_s is None
        else seconds(spent_s),
        used=_used_words(mapping(row.get("usage"))),
        principal=shown(row.get("principal")),
    )


def _is_young(began: datetime | None, now: datetime) -> bool:
    """Whether the process that has a run may not have said so yet."""
    return began is not None and (now - began).total_seconds() < _YOUNG_S


def _status(status: str, *, paused: bool, gone: bool) -> str:
    if status != "running":
        return status
    return "gone" if gone else "paused" if paused else "running"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """One line of the log."""

    at: str
    at_iso: str
    step: str
    words: str
    look: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of a run: its row on record, its events so far, and what bounds it. Each may be missing."""

    run_id: str
    workflow: str
    row: JsonObject
    """As the store of runs gives it; empty for a run that is not on record."""
    following: Following | None = None
    followed: bool = False
    """Whether its events come from here as they happen, those to come of a run that has not begun among them."""
    live: bool = False
    """Whether a process has it, and it goes on."""
    paused: bool = False
    bounds: Bounds = NO_BOUNDS
    places: Places = field(default_factory=Places)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """The page of one run."""

    run_id: str
    href: str
    workflow: str
    look: Look
    live: bool
    """Whether a process has it, and it goes on."""
    moving: bool
    """Whether its page changes: it has not ended."""
    streaming: bool
    """Whether its events come from here, as they happen."""
    paused: bool
    sentence: str
    """Where the run stands, in one sentence."""
    say: str
    """The part of it that is read out when it changes: turns and tools would be too much."""
    began_iso: str
    ticking: bool
    """Whether its time goes on."""
    facts: tuple[tuple[str, str], ...]
    panels: tuple[Panel, ...]
    steps: tuple[StepLine, ...]
    states: Mapping[int, str]
    """State of each step that is in the picture, by its number."""
    log: tuple[LogEntry, ...]
    log_missing: int
    """Lines that are too old to be shown."""
    error: str
    error_place: str
    output: str
    """The output as JSON; empty while there is none."""
    controls: tuple[ControlName, ...]


def run_view(known: Known, now: datetime) -> RunView:
    """Return what the page of a run shows."""
    row, following = known.row, known.following
    began = (following and following.started_at) or read_moment(row.get("started_at"))
    status = _run_status(known, gone=not known.live and not _is_young(began, now))
    moving = status not in _ENDED
    ended = (following and following.finished_at) or read_moment(row.get("finished_at"))
    result = mapping(row.get("result"))
    error = mapping(result.get("error")) or mapping(row.get("error"))
    # Whoever had a run that is over may not have said yet that it has it no more.
    going = known.live and ended is None and moving
    used = _used(known, began, ended or (now if going else None))
    lines = (
        followed_lines(following, known.places, now)
        if following is not None and following.steps
        else recorded_lines(row, known.places)
    )
    return RunView(
        run_id=known.run_id,
        href=run_href(known.run_id),
        workflow=shown(known.workflow),
        look=run_look(status),
        live=going,
        moving=moving,
        streaming=known.followed and moving and status != "suspended",
        paused=going and known.paused,
        sentence=_sentence(known, status, error),
        say=_said(known, status, error),
        began_iso=began.isoformat() if began else "",
        ticking=going,
        facts=tuple(_facts(known, used, began, going=going)),
        panels=tuple(_panels(known, used, now)),
        steps=tuple(lines),
        states=states_of(lines, following, known.places),
        log=tuple(_entry(line) for line in reversed(following.log)) if following else (),
        log_missing=following.log_lines - len(following.log) if following else 0,
        error="" if status == "suspended" else shown(error.get("message")),
        error_place=shown(error.get("step")),
        output=pretty(result.get("output")) if result.get("output") is not None else "",
        controls=_controls(going=going, paused=known.paused),
    )


def _run_status(known: Known, *, gone: bool) -> str:
    following = known.following
    if following is not None and following.finished is not None:
        return following.finished.status
    status = str(known.row.get("status") or "running")
    if status == "queued" and known.live and following is not None and following.current is not None:
        status = "running"  # its record is a moment behind
    return _status(status, paused=known.paused, gone=gone)


def _controls(*, going: bool, paused: bool) -> tuple[ControlName, ...]:
    if not going:
        return ()
    return ("resume" if paused else "pause", "steer", "abort")


def _sentence(known: Known, status: str, error: Mapping[str, JsonValue]) -> str:
    following = known.following
    match status:
        case "running" | "paused" if following is not None and following.current is not None:
            return _doing_sentence(following, following.current, paused=status == "paused")
        case "running":
            return "The run goes on."
        case "queued":
            return "The run waits for a process that takes it."
        case "paused":
            return "The run is paused. It begins nothing more until it is resumed."
        case "suspended":
            return "The run waits for a person. It goes on from where it is once it has its answer."
        case "gone":
            return "The run is on record as running, and no process says that it has it."
        case "completed":
            signal = shown(known.row.get("signal"))
            return f"The run completed on {signal}." if signal else "The run completed."
        case _:
            why = shown(error.get("message"))
            return f"The run {status}: {why}" if why else f"The run {status}."


def _said(known: Known, status: str, error: Mapping[str, JsonValue]) -> str:
    step = known.following.current if known.following is not None else None
    if status == "running" and step is not None:
        return f"Step {shown(step.place)} {'waits for a person' if step.state == 'waiting' else 'is running'}."
    return _sentence(known, status, error)


def _doing_sentence(following: Following, step: FollowedStep, *, paused: bool) -> str:
    parts = [f"In step {shown(step.place)}"]
    if step.turn:
        parts.append(f"turn {step.turn}")
    doing = following.progress.doing
    if step.tools:
        parts.append("runs " + shown(", ".join(sorted(set(step.tools.values())))))
    elif doing and not paused:
        parts.append(shown(doing))
    said = ", ".join(parts) + "."
    return f"Paused. {said}" if paused else said


def _spent_s(row: JsonObject) -> float | None:
    """Return how long processes have had a run that has ended, or waits; `None` for one that goes on."""
    took_ms = mapping(row.get("result")).get("duration_ms", row.get("duration_ms"))
    going_on = row.get("status") in {"queued", "running"}
    return None if going_on or not isinstance(took_ms, int | float) else took_ms / 1000


def _used(known: Known, began: datetime | None, until: datetime | None) -> Used:
    following = known.following
    elapsed = _spent_s(known.row)
    if elapsed is None and began and until:
        away_s = 0.0 if following is None else following.away_s
        elapsed = max(0.0, (until - began).total_seconds() - away_s)
    if following is not None and following.log_lines:
        spent = following.progress
        return Used(steps=following.steps_taken, seconds=elapsed, tokens=spent.tokens, cost_usd=spent.cost_usd)
    result = mapping(known.row.get("result"))
    usage = mapping(result.get("usage")) or mapping(known.row.get("usage"))
    tokens, dollars = usage.get("total_tokens"), usage.get("cost_usd")
    return Used(
        steps=len(items(result.get("steps"))) or None,
        seconds=elapsed,
        tokens=tokens if isinstance(tokens, int) else None,
        cost_usd=float(dollars) if isinstance(dollars, int | float) else None,
    )


def _facts(known: Known, used: Used, began: datetime | None, *, going: bool) -> Iterator[tuple[str, str]]:
    following = known.following
    yield "Running for" if going else "Took", seconds(used.seconds) if used.seconds is not None else "–"
    if following is not None and following.log_lines:
        yield "Turns", _figure(following.turns)
        yield "Tool calls", _figure(following.tool_calls)
    else:
        usage = mapping(mapping(known.row.get("result")).get("usage")) or mapping(known.row.get("usage"))
        yield "Model calls", _figure(usage.get("llm_calls"))
        yield "Tool calls", _figure(usage.get("tool_calls"))
    yield "Tokens", _figure(used.tokens)
    yield "Cost", "–" if not used.tokens else "not known" if used.cost_usd is None else cost(used.cost_usd)
    yield "Started", moment(began) if began else "–"
    yield "For", shown(known.row.get("principal")) or "–"


def _figure(value: JsonValue) -> str:
    return f"{value:,}" if isinstance(value, int) else "–"


def _used_words(usage: Mapping[str, JsonValue]) -> str:
    tokens = usage.get("total_tokens")
    if not isinstance(tokens, int) or not tokens:
        return "–"
    spent = usage.get("cost_usd")
    about = "about " if usage.get("estimated") else ""
    priced = cost(float(spent)) if isinstance(spent, int | float) else "cost not known"
    return f"{about}{count(tokens, 'token')} · {priced}"


def _panels(known: Known, used: Used, now: datetime) -> Iterator[Panel]:
    panel = run_panel(known.bounds, used)
    if panel.gauges:
        yield panel
    if known.following is None:
        return
    for index, (place, step) in enumerate(known.following.steps.items(), 1):
        bounds = known.bounds.agents.get(place.rpartition("/")[2])
        if bounds is None or not (step.turn or step.open):
            continue
        found = agent_panel(index, place, bounds, step, step.busy_s(now))
        if found.gauges:
            yield found


def _entry(line: LogLine) -> LogEntry:
    return LogEntry(
        at=f"{line.at:%H:%M:%S}",
        at_iso=line.at.isoformat(),
        step=shown(line.step),
        words=shown(line.words),
        look=line.look,
    )
