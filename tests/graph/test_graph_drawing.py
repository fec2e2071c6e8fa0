"""The SVG image and the HTML page: what they show, and that nothing in a file can break or leave them."""

import itertools
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tuvl.analysis.scope import Waits
from tuvl.check.runner import report_on
from tuvl.drawing.cards import Card
from tuvl.drawing.chart import Chart, chart_of
from tuvl.drawing.page import page
from tuvl.drawing.sheet import Sheet, sheet_of
from tuvl.drawing.svg import svg
from tuvl.drawing.text import cut, width, xml
from tuvl.project.index import ProjectIndex
from tuvl.source.document import parse_text

SVG = "{http://www.w3.org/2000/svg}"
NASTY = "\"]]><script>alert(1)</script> ' & --> `x` \x07 \u202e \ufffe 日本語 🎉 </style></svg>"
VOID = {"meta", "br"}
UNCLOSED = {"td", "th", *VOID}
"""Elements that HTML lets end where the next begins."""

SHOP = """
kind: Workflow
metadata: { name: desk, description: Answers tickets. }
spec:
  limits: { timeout_s: 60 }
  steps:
    - id: load
      kind: APICall
      http: { url: "https://user:secret@shop.example/a?key=secret" }
      routes: { error: gone }
    - id: agent
      kind: Agent
      mode: autonomous
      description: Decides what to do.
      agent:
        model: openai/gpt-4.1-mini
        steering: Decide.
        tools:
          - { ref: lookup, description: Looks up. }
          - { ref: refund, description: Pays back., approval: required }
          - { ref: nowhere, description: d }
        max_iterations: 5
        token_budget: 9000
        outcome: { enum: [solved, again] }
        guardrails: { input: [artifact://gate@1] }
      routes: { solved: last, again: load, max_iterations: gone, error: missing_step }
    - { id: gone, kind: Functional, runner: fail, message: m }
    - { id: last, kind: Response, source: reply }
    - { id: lookup, kind: APICall, http: { url: "https://shop.example/b" } }
    - { id: refund, kind: APICall, danger: true, http: { url: "https://shop.example/c", method: POST } }
"""


def sheet(text: str, folder: Path, *, checked: bool = True) -> Sheet:
    file = folder / "desk.yaml"
    file.write_text(text, encoding="utf-8")
    project = ProjectIndex(folder)
    loaded = project.load(file)
    assert loaded is not None
    document = loaded.documents[0]
    findings = report_on(document, project).findings if checked else None
    return sheet_of(document, project, waits=Waits(), findings=findings)


def texts(drawn: str) -> list[str]:
    """The words of an image as they are seen; what is cut has its full text as a title, which is not among them."""
    found = ElementTree.fromstring(drawn).iter(f"{SVG}text")
    return [(each.text or "") + "".join(child.tail or "" for child in each) for each in found]


class Reader(HTMLParser):
    """Collects the elements of a page, and sees that each is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.raw: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in UNCLOSED:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in UNCLOSED:
            assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("script", "style"):
            self.raw[self.open[-1]] = self.raw.get(self.open[-1], "") + data


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


def test_image_shows_steps_kinds_tools_bounds_effects_exits_and_ends(tmp_path: Path) -> None:
    shown = texts(svg(sheet(SHOP, tmp_path)))
    for word in (
        *("desk", "Answers tickets.", "start", "load", "APICall", "agent", "Agent, autonomous", "tools (3)"),
        *("lookup", "refund", "APICall · writes · ⚠ danger · approval", "nowhere", "not there"),
        *("reads", "writes", "asks for approval", "guards: input", "at most 5 turns · 9,000 tokens"),
        *("solved", "again", "max_iterations", "error", "● completed", "✕ failed", "budget_exceeded", "? missing_step"),
    ):
        assert word in shown, word
    assert any(line.startswith("worst case") for line in shown)
    assert any(line.startswith("✕ ") and line[2:].isdigit() for line in shown)


def test_logins_and_queries_of_addresses_are_not_shown(tmp_path: Path) -> None:
    found = sheet(SHOP, tmp_path, checked=False)
    assert "secret" not in svg(found) + page(found)


def test_findings_are_marked_at_their_step_with_their_message(tmp_path: Path) -> None:
    found = sheet(SHOP, tmp_path)
    assert {"TV201", "TV202"} <= {finding.code for finding in found.marks["agent"].findings}
    assert "TV201" in svg(found)
    assert "TV201" in page(found)
    assert "TV201" not in svg(sheet(SHOP, tmp_path, checked=False))


def test_findings_of_another_document_of_the_file_mark_nothing(tmp_path: Path) -> None:
    other = (
        SHOP.replace("name: desk", "name: other").replace("missing_step", "gone").replace("ref: nowhere", "ref: load")
    )
    first = sheet(SHOP + "---\n" + other, tmp_path)
    assert "TV201" in {finding.code for finding in first.marks["agent"].findings}
    project = ProjectIndex(tmp_path)
    loaded = project.load(tmp_path / "desk.yaml")
    assert loaded is not None
    second = loaded.documents[1]
    report = report_on(second, project)
    drawn = sheet_of(second, project, waits=Waits(), findings=report.findings)
    assert "TV201" in {finding.code for finding in report.findings}
    assert "TV201" not in {finding.code for mark in drawn.marks.values() for finding in mark.findings}


def hostile() -> str:
    steps = [
        {
            "id": "end",
            "kind": "Functional",
            "description": NASTY,
            "runner": NASTY,
            "routes": {NASTY: NASTY, "e": "end"},
        },
        {"id": NASTY, "kind": NASTY, "description": NASTY, "hooks": [NASTY]},
        {
            "id": "agent",
            "kind": "Agent",
            "mode": NASTY,
            "agent": {
                "model": NASTY,
                "tools": [{"ref": NASTY, "description": NASTY}],
                "guardrails": {"input": [NASTY]},
            },
        },
        {"id": "x" * 300, "kind": "ForEach", "step": NASTY, "routes": {"y" * 300: "z" * 300}},
    ]
    return yaml.safe_dump(
        {"kind": "Workflow", "metadata": {"name": NASTY, "description": NASTY}, "spec": {"steps": steps}}
    )


def test_text_of_a_file_is_never_markup_in_an_image(tmp_path: Path) -> None:
    drawn = svg(sheet(hostile(), tmp_path))
    tags = {each.tag.removeprefix(SVG) for each in ElementTree.fromstring(drawn).iter()}
    assert tags <= {"svg", "title", "desc", "style", "rect", "g", "path", "polygon", "text"}
    assert "\x07" not in drawn
    assert "\u202e" not in drawn


def test_text_of_a_file_is_never_markup_in_a_page(tmp_path: Path) -> None:
    text = page(sheet(hostile(), tmp_path))
    plain = page(sheet(SHOP, tmp_path))
    reader, ordinary = read(text), read(plain)
    assert [tag for tag, _ in reader.elements].count("script") == 1
    assert reader.raw == ordinary.raw
    assert {tag for tag, _ in reader.elements} <= {tag for tag, _ in ordinary.elements} | {"polygon", "h4", "strong"}
    names = {name for _, attributes in reader.elements for name in attributes}
    assert not [name for name in names if name.startswith("on") or name in ("style", "src", "srcset", "xlink:href")]


@pytest.mark.parametrize("text", [SHOP, hostile()], ids=["shop", "hostile"])
def test_nothing_is_fetched_and_only_our_own_script_and_style_count(text: str, tmp_path: Path) -> None:
    reader = read(page(sheet(text, tmp_path)))
    policy = next(
        attributes["content"] or ""
        for tag, attributes in reader.elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    digests = {name: b64encode(sha256(reader.raw[name].encode()).digest()).decode() for name in ("style", "script")}
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digests['style']}'; script-src 'sha256-{digests['script']}'; "
        "base-uri 'none'; form-action 'none'"
    )
    links = [attributes["href"] or "" for _, attributes in reader.elements if "href" in attributes]
    assert links
    assert all(link.startswith("#") for link in links)
    for raw in reader.raw.values():
        assert not re.search(r"url\(|@import|https?:|fetch\(|innerHTML|eval\(", raw)
    image = svg(sheet(text, tmp_path))
    assert "href" not in image.replace("&lt;", "")
    assert not re.search(r"url\(|@import", image)


def test_every_link_of_a_page_leads_somewhere_and_every_step_has_its_details(tmp_path: Path) -> None:
    reader = read(page(sheet(SHOP, tmp_path)))
    ids = [attributes["id"] for _, attributes in reader.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = {(attributes["href"] or "")[1:] for _, attributes in reader.elements if "href" in attributes}
    assert links <= set(ids)
    assert {f"step-{number}" for number in range(1, 7)} <= set(ids)


def test_steps_of_a_page_can_be_reached_by_keyboard_and_are_named(tmp_path: Path) -> None:
    reader = read(page(sheet(SHOP, tmp_path)))
    named = [
        attributes["aria-label"] or ""
        for tag, attributes in reader.elements
        if tag == "a" and "aria-label" in attributes
    ]
    assert any(name.startswith("agent, Agent, autonomous, writes, asks for approval") for name in named)
    assert any("error" in name for name in named if name.startswith("agent, "))


@pytest.mark.parametrize("draw", [svg, page])
@pytest.mark.parametrize("text", [SHOP, hostile()], ids=["shop", "hostile"])
def test_same_file_gives_the_same_bytes(draw: object, text: str, tmp_path: Path) -> None:
    assert callable(draw)
    assert draw(sheet(text, tmp_path)) == draw(sheet(text, tmp_path))


def words_of(card: Card) -> list[tuple[str, float, bool]]:
    shown = [(card.shown_title, 14.0, True), (card.shown_kind, 10.5, False)]
    return shown + [(line, 11.0, False) for line in card.shown_lines]


@pytest.mark.parametrize("text", [SHOP, hostile()], ids=["shop", "hostile"])
def test_words_fit_into_their_boxes(text: str, tmp_path: Path) -> None:
    chart = chart_of(sheet(text, tmp_path))
    for card, at in zip(chart.cards, chart.layout.boxes, strict=True):
        for words, size, mono in words_of(card):
            if card.number:
                assert width(words, size, mono=mono) <= at.width - 27
        for panel in card.panels:
            assert panel.width <= at.width - 27
    check_labels(chart)


def check_labels(chart: Chart) -> None:
    labels = [line.label for line in chart.layout.lines if line.label is not None]
    for wire, line in zip(chart.wires, chart.layout.lines, strict=True):
        for signal in wire.shown:
            assert line.label is not None
            assert width(signal, 11.0, mono=True) <= line.label.width
    for one, other in itertools.combinations(labels, 2):
        apart = one.x + one.width <= other.x + 0.01 or other.x + other.width <= one.x + 0.01
        assert apart or one.y + one.height <= other.y + 0.01 or other.y + other.height <= one.y + 0.01


def test_failures_of_many_steps_to_one_are_told_by_name(tmp_path: Path) -> None:
    calls = "\n".join(
        f"    - {{ id: c{number}, kind: APICall, http: {{ url: 'https://a.example/' }}, routes: {{ error: gone }} }}"
        for number in range(8)
    )
    text = (
        f"kind: Workflow\nmetadata: {{ name: many }}\nspec:\n  steps:\n{calls}\n"
        "    - { id: gone, kind: Functional, runner: fail, message: m }\n"
    )
    chart = chart_of(sheet(text, tmp_path))
    jumps = [wire for wire in chart.wires if wire.stub == "jump"]
    assert {wire.stub_text for wire in jumps} == {"↪ gone"}
    assert len(jumps) == 7


def test_agent_with_many_tools_shows_the_first_and_says_how_many_there_are(tmp_path: Path) -> None:
    tools = ", ".join(f"{{ ref: t{number}, description: d }}" for number in range(40))
    steps = "\n".join(f"    - {{ id: t{number}, kind: Functional, runner: look }}" for number in range(40))
    text = (
        "kind: Workflow\nmetadata: { name: many }\nspec:\n  steps:\n"
        f"    - {{ id: a, kind: Agent, mode: autonomous, agent: {{ tools: [{tools}] }} }}\n{steps}\n"
    )
    shown = texts(svg(sheet(text, tmp_path)))
    assert "tools (40)" in shown
    assert "16 not shown here" in shown


def test_steps_that_refer_to_each_other_in_a_circle_are_all_drawn(tmp_path: Path) -> None:
    text = """
kind: Workflow
metadata: { name: circle }
spec:
  steps:
    - { id: one, kind: ForEach, items: [], step: two }
    - { id: two, kind: ForEach, items: [], step: one }
"""
    shown = texts(svg(sheet(text, tmp_path)))
    assert {"one", "two"} <= set(shown)


def test_workflow_of_thousands_of_steps_is_drawn(tmp_path: Path) -> None:
    steps = "\n".join(
        f"    - {{ id: s{number}, kind: Router, match: {{ field: a }}, routes: {{ x: s{(number * 7) % 1000} }} }}"
        for number in range(1000)
    )
    found = sheet(f"kind: Workflow\nmetadata: {{ name: big }}\nspec:\n  steps:\n{steps}\n", tmp_path, checked=False)
    assert len(ElementTree.fromstring(svg(found)).findall(f".//{SVG}text")) > 1500


NAMES = st.sampled_from(["a", "b", "c", "d", "e", "END", "gone"])
STEPS = st.fixed_dictionaries(
    {"id": NAMES, "kind": st.sampled_from(["Functional", "Router", "Agent", "ForEach", "Response", "Workflow", "Odd"])},
    optional={
        "routes": st.dictionaries(st.sampled_from(["default", "error", "x", "y"]), NAMES, max_size=4),
        "agent": st.fixed_dictionaries({"tools": st.lists(st.fixed_dictionaries({"ref": NAMES}), max_size=4)}),
        "step": NAMES,
        "mode": st.sampled_from(["autonomous", "completion"]),
        "hooks": st.lists(st.text(max_size=4), max_size=2),
        "description": st.one_of(st.text(max_size=30), st.integers()),
    },
)


@settings(max_examples=40, deadline=None)
@given(st.lists(STEPS, max_size=9))
def test_any_workflow_is_drawn_and_its_labels_keep_apart(steps: list[dict[str, object]]) -> None:
    data = {"kind": "Workflow", "metadata": {"name": "made"}, "spec": {"steps": steps}}
    raw = yaml.safe_dump(data, allow_unicode=True).encode("utf-8", "replace")
    documents = parse_text(raw, file="made.yaml").documents
    if not documents:
        return
    found = sheet_of(documents[0], ProjectIndex(Path("/nowhere")), waits=Waits(), findings=None)
    ElementTree.fromstring(svg(found))
    read(page(found))
    check_labels(chart_of(found))


@pytest.mark.parametrize("text", ["short", "x" * 200, "日本語" * 40, "🎉" * 50, "a\u0301" * 90])
@pytest.mark.parametrize("mono", [True, False])
def test_cut_text_fits_and_says_that_it_was_cut(text: str, mono: bool) -> None:
    shown = cut(text, 12, 150, mono=mono)
    assert width(shown, 12, mono=mono) <= 150
    assert shown == text or shown.endswith("…")


@given(st.text())
def test_escaped_text_is_always_legal_xml_and_means_only_text(text: str) -> None:
    root = ElementTree.fromstring(f'<a b="{xml(text)}">{xml(text)}</a>')
    assert len(root) == 0
