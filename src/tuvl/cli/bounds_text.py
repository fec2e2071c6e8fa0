"""The worst case of a workflow as people read it, on a terminal and under a pull request."""

from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Any

from tuvl.analysis.steps import items, mapping
from tuvl.cli.bounds_document import FIGURES
from tuvl.values import JsonObject, printable

TITLES = {
    "model_calls": "model calls",
    "tool_calls": "tool calls",
    "input_tokens": "input tokens",
    "output_tokens": "output tokens",
    "total_tokens": "tokens",
    "cost_usd": "USD",
    "seconds": "seconds",
}
"""Figures of a worst case, as they are called."""
_WAYS = ("proved", "expected")
_WIDTH = 100
_OF_RUN = ("limits.max_tokens", "limits.max_cost_usd", "limits.timeout_s", "policy.")
_MOST_FIELDS = 4
"""Fields that are named as what set one figure."""


def bounds_text(document: JsonObject) -> str:
    """Write the document as a calm table, and below it what the figures come from and rest on."""
    return "\n".join((*_head(document), "", *_table(document), *_notes(document, title="{}", bullet="  "))) + "\n"


def bounds_markdown(document: JsonObject) -> str:
    """Write the document as a comment for a pull request."""
    rows = list(_rows(document))
    lines = [
        f"### Worst case of `{_plain(document['workflow'])}`",
        "",
        "| " + " | ".join(["", "", *(TITLES[figure] for figure in FIGURES)]) + " |",
        "| --- | --- |" + " ---: |" * len(FIGURES),
    ]
    lines += ["| " + " | ".join(_escaped(cell) for cell in row) + " |" for row in rows]
    verdicts = [_verdict(mapping(gate)) for gate in items(document["gates"])]
    lines += ["", *(f"- {verdict}" for verdict in verdicts)] if verdicts else []
    notes = "\n".join(_notes(document, title="**{}**", bullet="- "))
    lines += ["", "<details><summary>What the figures come from</summary>", notes, "", "</details>"]
    return "\n".join(lines) + "\n"


def gate_line(gate: Mapping[str, Any]) -> str:
    """Say in one line why a gate does not hold, naming the figure that is above it."""
    option, figure = "--" + str(gate["gate"]).replace("_", "-"), str(gate["figure"])
    limit, proved = _number(gate["limit"], figure), mapping(gate["proved"])
    what = f"proved worst case of {TITLES[figure]}"
    if proved["state"] != "bounded":
        return f"the {what} is {proved['state']}, so it is not within {option} {limit}{_missing(proved)}"
    expected = mapping(gate["expected"])
    above = f"the {what} is {figure_text(proved, figure)}, above {option} {limit}"
    if expected["value"] is None:
        return f"{above}; the expected one is {expected['state']}"
    also = "is, too" if expected["value"] > gate["limit"] else "is not"
    return f"{above}; the expected one, {figure_text(expected, figure)}, {also}"


def _verdict(gate: Mapping[str, Any]) -> str:
    if not gate["passed"]:
        return f"❌ {gate_line(gate)}"
    figure = str(gate["figure"])
    option = "--" + str(gate["gate"]).replace("_", "-")
    limit = _number(gate["limit"], figure)
    return f"✅ proved {TITLES[figure]}: {figure_text(gate['proved'], figure)}, within {option} {limit}"


def _head(document: JsonObject) -> Iterator[str]:
    yield f"Worst case of {_plain(document['workflow'])}. Nothing was run or called."


def _table(document: JsonObject) -> Iterator[str]:
    rows = [["", "", *(TITLES[figure] for figure in FIGURES)], *_rows(document)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [row[0].ljust(widths[0]), row[1].ljust(widths[1])]
        cells += [cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True)]
        yield "  ".join(cells).rstrip()


def _rows(document: JsonObject) -> Iterator[list[str]]:
    for agent in map(mapping, items(document["agents"])):
        times = agent["times"]
        name = _plain(agent["step"]) + (f" (each of {times:,})" if times > 1 else "")
        yield from _pair(name, agent)
    yield from _pair("the whole run", document)


def _pair(name: str, holder: Mapping[str, Any]) -> Iterator[list[str]]:
    for way in _WAYS:
        figures = mapping(holder[way])
        yield [name if way == "proved" else "", way, *(figure_text(figures[figure], figure) for figure in FIGURES)]


def figure_text(shown: Any, figure: str) -> str:
    """Write one figure of the document: a number, or why there is none."""
    amount = mapping(shown)
    return str(amount["state"]) if amount["value"] is None else _number(amount["value"], figure)


def _number(value: float, figure: str) -> str:
    if figure == "cost_usd":
        return f"{value:,.2f}" if value >= 1 else f"{value:.4f}"
    return f"{value:,.0f}" if figure != "seconds" or value == int(value) else f"{value:,.1f}"


def _notes(document: JsonObject, *, title: str, bullet: str) -> Iterator[str]:
    for words, lines in (
        ("What has no bound", _without_bound(document)),
        ("What bounds the proved figures", _set_by(document)),
        ("What the figures rest on", map(_plain, items(document["assumptions"]))),
    ):
        found = list(lines)
        if found:
            yield from ("", title.format(words), "")
            for line in found:
                yield from wrap(bullet + line, _WIDTH, subsequent_indent="    ", break_on_hyphens=False)


def _set_by(document: JsonObject) -> Iterator[str]:
    places = [(_plain(agent["step"]), agent) for agent in map(mapping, items(document["agents"]))]
    for name, holder in (*places, ("the whole run", document)):
        said: dict[str, list[str]] = {}
        for figure in FIGURES:
            fields = items(mapping(mapping(holder["proved"])[figure])["bound_by"])
            # The bounds of steps are told with the steps.
            if fields and (holder is not document or any(str(field).startswith(_OF_RUN) for field in fields)):
                more = ", …" if len(fields) > _MOST_FIELDS else ""
                said.setdefault(", ".join(map(_plain, fields[:_MOST_FIELDS])) + more, []).append(TITLES[figure])
        for fields_of, figures in said.items():
            yield f"{name}: {', '.join(figures)} by {fields_of}"


def _without_bound(document: JsonObject) -> Iterator[str]:
    for figure in FIGURES:
        amount = mapping(mapping(document["proved"])[figure])
        if amount["value"] is None:
            yield f"{TITLES[figure]}: {amount['state']}{_missing(amount)}"


def _missing(amount: Mapping[str, Any]) -> str:
    needs, lacks = list(map(_plain, items(amount["needs"]))), list(map(_plain, items(amount["unknown"])))
    said = f"; {' or '.join(needs)} would bound it" if needs else ""
    return said + (f"; not known: {', '.join(lacks)}" if lacks else "")


def _plain(value: object) -> str:
    return printable(str(value))


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")
