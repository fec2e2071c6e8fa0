"""What was said and done in a run, entry by entry, as its record has it."""

from collections.abc import Iterator

from tuvl.analysis.steps import items, mapping
from tuvl.dataclass import dataclass
from tuvl.server.pages.looks import pretty, shown, shown_lines
from tuvl.values import JsonObject, JsonValue
from tuvl.wording import cost, count, seconds

_DEEDS = {"pause": "Paused", "resume": "Resumed", "steer": "Steered", "abort": "Aborted"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A text of an entry; `said` is prose, anything else stands as it is written."""

    label: str
    text: str
    look: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkEntry:
    """One entry."""

    heading: str
    under: str
    look: str
    """`model`, `tool`, `person` or `bad`."""
    passages: tuple[Passage, ...]


def talk_entry(entry: JsonObject) -> TalkEntry:
    """Return what an entry of a trace shows."""
    place = f"{shown(entry.get('step_id'))} · turn {shown(entry.get('iteration'))}"
    match entry.get("type"):
        case "model_call":
            return TalkEntry(
                heading=f"{place}: the model", under=_figures(entry), look="model", passages=tuple(_reply(entry))
            )
        case "tool_call":
            return _tool(entry, place)
        case "judge_call":
            told = f"judge of {shown(entry.get('artifact'))} ({shown(entry.get('site'))})"
            return TalkEntry(
                heading=f"{place}: {told} → {shown(entry.get('verdict'))}",
                under=_figures(entry),
                look="bad" if entry.get("error_type") else "model",
                passages=(),
            )
        case "intervention":
            return _intervention(entry, place)
        case "unfinished_reply":
            said = shown_lines(entry.get("content") or "")
            return TalkEntry(
                heading=f"{place}: a reply that was never completed",
                under="begun anew" if entry.get("state") == "void" else "cut off",
                look="bad",
                passages=(Passage(label="", text=said, look="said"),) if said else (),
            )
        case other:
            # Calls beside the turns, such as summaries; what they said is not kept.
            return TalkEntry(
                heading=f"{place}: {shown(other).replace('_', ' ')}", under=_figures(entry), look="model", passages=()
            )


def _reply(entry: JsonObject) -> Iterator[Passage]:
    said = shown_lines(entry.get("content") or "")
    if said:
        yield Passage(label="", text=said, look="said")
    for call in map(mapping, items(entry.get("tool_calls"))):
        yield Passage(label=f"asks for {shown(call.get('name'))}", text=_written(call.get("arguments")))


def _tool(entry: JsonObject, place: str) -> TalkEntry:
    under = [_took(entry.get("duration_ms"))]
    under += ["cut to what the agent may be told"] if entry.get("truncated") else []
    under += ["asked before, and answered from there"] if entry.get("duplicate") else []
    under += [shown(entry.get("problem"))] if entry.get("problem") else []
    failed = bool(entry.get("error_type"))
    passages = [
        Passage(label="with", text=_written(entry.get("arguments"))),
        Passage(label="answers", text=shown_lines(entry.get("content") or "")),
    ]
    if failed:
        passages.append(Passage(label="failed", text=shown_lines(entry.get("error_message") or "")))
    return TalkEntry(
        heading=f"{place}: {shown(entry.get('tool'))} → {shown(entry.get('signal'))}",
        under=" · ".join(filter(None, under)),
        look="bad tool" if failed else "tool",
        passages=tuple(passages),
    )


def _intervention(entry: JsonObject, place: str) -> TalkEntry:
    where = place if entry.get("step_id") else "the run"
    deed = _DEEDS.get(str(entry.get("action")), shown(entry.get("action")))
    said = shown_lines(entry.get("message") or "")
    return TalkEntry(
        heading=f"{deed} by {shown(entry.get('source'))} {shown(entry.get('by'))}",
        under=" · ".join(filter(None, (where, shown(entry.get("reason"))))),
        look="person",
        passages=(Passage(label="", text=said, look="said"),) if said else (),
    )


def _figures(entry: JsonObject) -> str:
    tokens, spent = entry.get("total_tokens"), entry.get("cost_usd")
    parts = [shown(entry.get("model"))]
    parts += [count(tokens, "token")] if isinstance(tokens, int) else []
    parts.append(cost(float(spent)) if isinstance(spent, int | float) else "cost not known")
    parts.append(_took(entry.get("duration_ms")))
    return " · ".join(filter(None, parts))


def _took(value: JsonValue) -> str:
    return seconds(value / 1000) if isinstance(value, int | float) else ""


def _written(value: JsonValue) -> str:
    return shown_lines(value) if isinstance(value, str) else pretty(value)
