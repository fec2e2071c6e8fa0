"""What `tuvl graph --format dot` writes is DOT, by the grammar of Graphviz's manual; every example of ours."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.dot_grammar import DotError, check_dot
from tuvl.analysis.picture import Arrow, Node, Picture, picture_of
from tuvl.analysis.steps import WorkflowView, mapping
from tuvl.check.finding import Severity
from tuvl.cli.dot import dot
from tuvl.cli.init import TEMPLATES, template_files
from tuvl.drawing.notes import Note
from tuvl.source.document import parse_lines

ROOT = Path(__file__).parents[2]


def workflows(text: str) -> list[WorkflowView]:
    """Return the workflows of a file, or of the code blocks of a page."""
    blocks = text.split("```yaml\n")[1:] if "```yaml" in text else [text]
    found = []
    for block in blocks:
        for document in parse_lines(block.partition("\n```")[0], file="x.yaml").documents:
            data = mapping(document.data)
            if data.get("kind") == "Workflow":
                found.append(WorkflowView(data))
    return found


PAGES = sorted([*(ROOT / "docs").glob("*.md"), *ROOT.glob("workflows/*.yaml"), *ROOT.glob("demo/**/*.yaml")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_picture_of_every_example_is_read(page: Path) -> None:
    for view in workflows(page.read_text(encoding="utf-8")):
        check_dot(dot(picture_of(view)))


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
def test_picture_of_every_template_is_read(template) -> None:
    files = template_files(template)
    pictures = [picture_of(view) for raw in files.values() for view in workflows(raw.decode())]
    assert pictures
    for picture in pictures:
        notes = {node.key: Note(lines=('says "x"', "a\\"), worst=Severity.ERROR) for node in picture.nodes}
        check_dot(dot(picture, notes))


TEXTS = st.text(max_size=12)


@given(TEXTS, st.lists(st.tuples(TEXTS, TEXTS, st.booleans()), max_size=6), st.data())
def test_picture_is_read_whatever_its_names_hold(title: str, named, data) -> None:
    keys = [f"s{number}" for number in range(len(named))]
    nodes = tuple(
        Node(
            key=key,
            shape=data.draw(st.sampled_from(["start", "end", "step", "missing"])),
            label=label,
            kind=kind,
            off_spine=aside,
            group=data.draw(st.sampled_from(keys)) if aside else "",
        )
        for key, (label, kind, aside) in zip(keys, named, strict=True)
    )
    arrows = tuple(
        Arrow(
            source=key,
            target=data.draw(st.sampled_from(keys)),
            style=data.draw(st.sampled_from(["route", "reference", "fault"])),
            labels=tuple(data.draw(st.lists(TEXTS, max_size=2))),
        )
        for key in keys
    )
    check_dot(dot(Picture(title=title, nodes=nodes, arrows=arrows)))


@pytest.mark.parametrize(
    "text",
    [
        'digraph "x" {\n  subgraph cluster_s1 {\n    label="a", color="b"\n  }\n}\n',
        'digraph "a"b" { }',
        "digraph x { a -- b }",
        "digraph x { a [label=] }",
        "digraph x { node -> a }",
        "digraph x { a ",
        "digraph x { a-b }",
        "graph { a } b",
        'digraph x { a [label="b] }',
    ],
)
def test_grammar_refuses_what_graphviz_refuses(text: str) -> None:
    with pytest.raises(DotError):
        check_dot(text)
