"""What a page says in words: the details of each step, tables of steps, figures and findings. All text is escaped."""

from collections.abc import Iterator, Sequence

from tuvl.analysis.step_facts import StepFacts, ToolFacts, Way
from tuvl.analysis.steps import END
from tuvl.check.finding import Finding
from tuvl.drawing.sheet import FIGURES, Mark, Sheet
from tuvl.drawing.text import xml

_MOST_NAMES = 12


class Details:
    """The words of one sheet; `numbers` has the number of each step, which is its anchor."""

    def __init__(self, sheet: Sheet, numbers: dict[str, int]) -> None:
        self.sheet, self.numbers = sheet, numbers
        self.entered: dict[str, list[str]] = {}
        self.asking: dict[str, list[str]] = {}
        self.worst_of = {row.name: row for row in reversed(sheet.worst[:-1])}
        for facts in sheet.facts.values():
            for way in facts.ways:
                if way.target in numbers:
                    self.entered.setdefault(way.target, []).append(facts.id)
            for tool in facts.tools:
                self.asking.setdefault(tool.ref, []).append(facts.id)
            if facts.kind == "ForEach":
                self.asking.setdefault(facts.runs, []).append(facts.id)

    def step_link(self, step: str) -> str:
        """A link to the details of a step, or its name when there is no such step."""
        number = self.numbers.get(step)
        return (
            f"<code>{xml(step)}</code>" if number is None else f'<a href="#step-{number}"><code>{xml(step)}</code></a>'
        )

    def article(self, facts: StepFacts) -> str:
        """All that is known of one step."""
        mark = self.sheet.marks.get(facts.id)
        number = self.numbers[facts.id]
        parts = [
            f'<article id="step-{number}" tabindex="-1" aria-labelledby="name-{number}">',
            f'<p class="kind-line">{xml(facts.kind)}</p><h3 id="name-{number}"><code>{xml(facts.id)}</code></h3>',
            f"<p>{xml(facts.description)}</p>" if facts.description else "",
            f'<p class="tags">{"".join(map(_tag, facts.tags))}</p>',
        ]
        if mark:
            parts += ['<h4>Findings</h4><ul class="findings">', *map(_finding, mark.findings), "</ul>"]
        parts += self._facts(facts)
        parts += ["<h4>Leads to</h4>", self._ways(facts.ways)]
        if facts.tools:
            parts += ["<h4>Tools</h4><ul>", *map(self._tool, facts.tools), "</ul>"]
        return "".join(parts) + "</article>"

    def _facts(self, facts: StepFacts) -> Iterator[str]:
        rows: list[tuple[str, str]] = []
        if facts.runs:
            runs = self.step_link(facts.runs) if facts.kind == "ForEach" else f"<code>{xml(facts.runs)}</code>"
            rows.append(("model" if facts.kind.startswith("Agent") else "runs", runs))
        rows.append(("reads", _keys(facts.reads, "and may read any other" if facts.reads_all else "")))
        rows.append(("writes", _keys(facts.writes, "and may write any other" if facts.writes_more else "")))
        if facts.keyed:
            rows.append(("repeated", "safely, it has an idempotency key"))
        rows += [(f"guards on {site}", _listed(names)) for site, names in facts.guards]
        if facts.hooks:
            rows.append(("hooks", _listed(facts.hooks)))
        for word, found in (("comes from", self.entered), ("asked by", self.asking)):
            if facts.id in found:
                rows.append((word, self._some(found[facts.id])))
        rows += [(name, xml(value)) for name, value in facts.bounds]
        yield "<dl>" + "".join(f"<dt>{xml(name)}</dt><dd>{value}</dd>" for name, value in rows) + "</dl>"
        row = self.worst_of.get(facts.id)
        if row is not None:
            yield f"<h4>Worst case{f', each of {row.times:,} runs of it' if row.times > 1 else ''}</h4>"
            yield f'<table class="figures">{_figure_rows(row.proved, row.expected)}</table>'

    def _some(self, steps: Sequence[str]) -> str:
        """Links to the first of some steps, each once."""
        names = list(dict.fromkeys(steps))
        return ", ".join(map(self.step_link, names[:_MOST_NAMES])) + (", …" if len(names) > _MOST_NAMES else "")

    def _ways(self, ways: Sequence[Way]) -> str:
        if not ways:
            return "<p>Nowhere: it runs where another step asks for it.</p>"
        return "<ul>" + "".join(f"<li>{self._way(way)}</li>" for way in ways) + "</ul>"

    def _way(self, way: Way) -> str:
        signals = _listed(way.signals)
        match way.kind:
            case "route":
                target = "the end: the run is completed" if way.target == END else self.step_link(way.target)
                missing = "" if way.target == END or way.target in self.numbers else ", which is not there"
                return f"{signals} → {target}{missing}"
            case "next":
                target = "the end: the run is completed" if way.target == END else self.step_link(way.target)
                return f"{signals} → {target}, as the next in the file"
            case "ends as failed":
                return f"{signals} has no route: the run ends there as <strong>failed</strong>"
            case "ends as aborted":
                return f"{signals} has no route: the run ends there as <strong>aborted</strong>"
            case "no route":
                return f"{signals} has no route, and needs one: the run <strong>fails</strong> with an engine error"

    def _tool(self, tool: ToolFacts) -> str:
        words = ["not there"] if tool.effects is None else ["writes" if tool.effects == "write" else "reads"]
        words += ["danger"] if tool.danger else []
        words += ["asks for approval"] if tool.approval else []
        arguments = f"<br>arguments: {_listed(tool.arguments)}" if tool.arguments else ""
        described = f"<br>{xml(tool.description)}" if tool.description else ""
        return f"<li>{self.step_link(tool.ref)} ({', '.join(words)}){described}{arguments}</li>"

    def steps_table(self) -> str:
        """Every step in a row: the picture as text."""
        head = "<tr><th>step<th>kind<th>effects<th>leads to<th>findings</tr>"
        rows = "".join(map(self._row, self.sheet.facts.values()))
        return f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"

    def _row(self, facts: StepFacts) -> str:
        mark: Mark | None = self.sheet.marks.get(facts.id)
        targets = dict.fromkeys("the end" if way.target == END else way.target for way in facts.ways if way.target)
        leads = ", ".join("the end" if target == "the end" else self.step_link(target) for target in targets)
        if not leads and facts.id in self.asking:
            leads = f"asked by {self._some(self.asking[facts.id])}"
        found = f'<span class="sev {mark.worst.value}">{mark.text}</span>' if mark else ""
        return (
            f"<tr><td>{self.step_link(facts.id)}<td>{xml(facts.kind)}<td>{''.join(map(_tag, facts.tags))}"
            f"<td>{leads or '–'}<td>{found}</tr>"
        )

    def findings(self) -> str:
        """All findings, with the step each is at."""
        if not self.sheet.checked:
            return "<p>Findings were not asked for.</p>"
        if not self.sheet.findings:
            return "<p>Nothing was found.</p>"
        at = {id(each): step for step, mark in self.sheet.marks.items() for each in mark.findings}
        shown = (_finding(each, self.step_link(at[id(each)]) if id(each) in at else "") for each in self.sheet.findings)
        return f'<ul class="findings">{"".join(shown)}</ul>'

    def worst(self) -> str:
        """The worst case of the run and of its agents."""
        head = "".join(f'<th scope="col" class="n">{figure}' for figure in FIGURES)
        rows = []
        for row in self.sheet.worst:
            times = f" <small>each of {row.times:,}</small>" if row.times > 1 else ""
            name = self.step_link(row.name) if row.name else "the whole run"
            rows.append(f'<tr><th scope="row" rowspan="2">{name}{times}<td>proved{_cells(row.proved)}</tr>')
            rows.append(f"<tr><td>expected{_cells(row.expected)}</tr>")
        limits = ", ".join(f"<code>{xml(name)}</code> {xml(value)}" for name, value in self.sheet.limits)
        rests = "".join(f"<li>{xml(line)}</li>" for line in self.sheet.rests_on)
        return (
            f"<table><thead><tr><td><td>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
            f"<p>Limits of a run: {limits}.</p>"
            f"<details><summary>What the figures rest on</summary><ul>{rests}</ul></details>"
        )


def _cells(figures: Sequence[str]) -> str:
    return "".join(f'<td class="n">{xml(figure)}' for figure in figures)


def _figure_rows(proved: Sequence[str], expected: Sequence[str]) -> str:
    rows = zip(FIGURES, proved, expected, strict=True)
    return "<tr><td><th>proved<th>expected</tr>" + "".join(
        f'<tr><th scope="row">{name}<td class="n">{xml(one)}<td class="n">{xml(other)}</tr>'
        for name, one, other in rows
    )


def _tag(tag: str) -> str:
    look = tag if tag in ("read", "write", "danger", "approval") else "plain"
    words = {"read": "reads", "write": "writes", "danger": "⚠ danger", "approval": "asks for approval"}
    return f'<span class="tag-{look}">{xml(words.get(tag, tag))}</span>'


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"<code>{xml(name)}</code>" for name in names)


def _keys(names: Sequence[str], more: str) -> str:
    listed = _listed(names) or "no key by name"
    return f"{listed}, {more}" if more else listed


def _finding(finding: Finding, at: str = "") -> str:
    hint = f'<br><span class="hint">{xml(finding.hint)}</span>' if finding.hint else ""
    where, weight = f"{xml(finding.file)}:{finding.line}", finding.severity.value
    return (
        f'<li><span class="sev {weight}">{weight}</span> <strong>{xml(finding.code)}</strong> '
        f"{xml(finding.name)}{f' at {at}' if at else ''}<br>{xml(finding.message)}{hint}"
        f'<br><small class="where">{where}</small></li>'
    )
