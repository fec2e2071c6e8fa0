"""What models judged, in the report of `tuvl test`: apart from the scenarios, whose verdict it does not change."""

from collections.abc import Iterator, Sequence
from typing import assert_never
from xml.etree import ElementTree

from tuvl.cli.render_junit import sound_xml
from tuvl.cli.wording import count
from tuvl.scenarios.judging import Judged, JudgedVerdict
from tuvl.scenarios.run import Outcome
from tuvl.values import JsonObject, JsonValue, dollars

SUITE = "judged by a model"
_VERDICTS: tuple[JudgedVerdict, ...] = ("met", "unmet", "skipped", "unanswered")


def _each(outcomes: Sequence[Outcome]) -> Iterator[tuple[Outcome, Judged]]:
    for outcome in outcomes:
        for judged in outcome.judged:
            yield outcome, judged


def judged_lines(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Write one line an assertion, and below it why."""
    for outcome, judged in _each(outcomes):
        place = f"{judged.file}:{judged.line}:{judged.column}"
        by = "" if judged.model is None else f", asked of {judged.model}"
        yield f"judged  {place}: {outcome.name}: {judged.name}: {_said(judged.verdict)}{by}"
        if judged.reason:
            yield f"    {judged.reason}"


def judged_summary(outcomes: Sequence[Outcome]) -> str | None:
    """Say in one line how many were met; `None` when none was to be judged."""
    found = [judged.verdict for _, judged in _each(outcomes)]
    if not found:
        return None
    told = [f"{found.count(verdict)} {_said(verdict)}" for verdict in _VERDICTS if verdict in found]
    return f"{count(len(found), 'judged assertion')}, apart from the result: {', '.join(told)}"


def _said(verdict: JudgedVerdict) -> str:
    match verdict:
        case "met" | "skipped":
            return verdict
        case "unmet":
            return "not met"
        case "unanswered":
            return "without a verdict"
        case _:
            assert_never(verdict)


def judged_json(outcomes: Sequence[Outcome]) -> list[JsonValue]:
    """Write them as the list `judged` of the JSON document."""
    return [_judged_json(outcome, judged) for outcome, judged in _each(outcomes)]


def _judged_json(outcome: Outcome, judged: Judged) -> JsonObject:
    usage = judged.usage
    used: JsonObject | None = None
    if usage is not None:
        used = {"total_tokens": usage.total_tokens, "cost_usd": dollars(usage.cost_usd), "estimated": usage.estimated}
    return {
        "scenario": outcome.name,
        "name": judged.name,
        "over": judged.over,
        "file": judged.file,
        "line": judged.line,
        "column": judged.column,
        "verdict": judged.verdict,
        "reason": judged.reason,
        "model": judged.model,
        "usage": used,
        "duration_ms": round(judged.duration_ms, 3),
    }


def judged_suite(root: ElementTree.Element, outcomes: Sequence[Outcome]) -> None:
    """Add a suite of their own; what was not met is skipped there, for a failure would fail the build."""
    found = list(_each(outcomes))
    if not found:
        return
    skipped = str(sum(judged.verdict != "met" for _, judged in found))
    seconds = f"{sum(judged.duration_ms for _, judged in found) / 1000:.3f}"
    totals = {"tests": str(len(found)), "failures": "0", "errors": "0", "skipped": skipped, "time": seconds}
    suite = ElementTree.SubElement(root, "testsuite", {"name": SUITE, **totals})
    for outcome, judged in found:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            name=sound_xml(f"{outcome.name}: {judged.name}"),
            classname=sound_xml(outcome.workflow),
            file=sound_xml(judged.file),
            line=str(judged.line),
            time=f"{judged.duration_ms / 1000:.3f}",
        )
        properties = ElementTree.SubElement(case, "properties")
        for name, value in (("verdict", judged.verdict), ("over", judged.over), ("model", judged.model or "")):
            ElementTree.SubElement(properties, "property", name=name, value=sound_xml(value))
        if judged.verdict != "met":
            why = f"{_said(judged.verdict)}: {judged.reason}" if judged.reason else _said(judged.verdict)
            ElementTree.SubElement(case, "skipped", message=sound_xml(why))
        elif judged.reason:
            ElementTree.SubElement(case, "system-out").text = sound_xml(judged.reason)
