"""What editors validate with, over every file we ship: sound ones pass, and a mistake of shape is refused."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tuvl.cli.schema import schema_text
from tuvl.project.layout import is_prose
from tuvl.project.loading import LoadedFile, parse_markdown, parse_yaml
from tuvl.spec.schema_files import KINDS, PROSE

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "tests" / "cases"
TEMPLATES = ROOT / "src" / "tuvl" / "cli" / "templates"
PROJECT = [ROOT / "tuvl.yaml", *(ROOT / name for name in ("workflows", "artifacts", "llms", "scenarios"))]

SHAPE = ("TV101", "TV102", "TV103", "TV104", "TV105", "TV106", "TV108")
"""Checks of shape, which compare a document with the language."""


@cache
def validator(kind: str | None) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(json.loads(schema_text(kind)))


def load(path: Path) -> LoadedFile:
    return (parse_markdown if is_prose(path) else parse_yaml)(path, path.read_bytes())


def documents(path: Path) -> Iterator[tuple[str, Any]]:
    """The documents of a file that are of this language, with the kind whose schema is theirs."""
    loaded = load(path)
    for document in loaded.documents:
        kind = PROSE if loaded.prose is not None else document.kind
        if kind is not None and kind in (*KINDS, PROSE):
            yield kind, document.data


def files_below(*roots: Path) -> list[Path]:
    found = [root for root in roots if root.is_file() and root.suffix in (".yaml", ".md")]
    found += [
        path for root in roots if root.is_dir() for path in sorted(root.rglob("*")) if path.suffix in (".yaml", ".md")
    ]
    return found


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


GOOD = files_below(*sorted(CASES.glob("*/good*")))
BAD_SHAPE = [path for code in SHAPE for path in files_below(*sorted((CASES / code).glob("bad*")))]


@pytest.mark.parametrize("path", [*files_below(*PROJECT), *files_below(TEMPLATES), *GOOD], ids=shown)
def test_sound_file_passes_the_schema_of_its_kind(path: Path) -> None:
    for kind, data in documents(path):
        assert [f"{error.instance_path}: {error.message}" for error in validator(kind).iter_errors(data)] == []
        if kind != PROSE:
            assert validator(None).is_valid(data)


@pytest.mark.parametrize("path", BAD_SHAPE, ids=shown)
def test_mistake_of_shape_is_refused_by_the_schema(path: Path) -> None:
    """A document of an unknown kind has no schema of its own; that of all kinds refuses it."""
    loaded = load(path)
    assert loaded.documents
    refused = []
    for document in loaded.documents:
        kind = PROSE if loaded.prose is not None else document.kind if document.kind in KINDS else None
        refused.append(not validator(kind).is_valid(document.data))
    assert any(refused)


FENCE = re.compile(r"<!-- validate -->\n```yaml\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
"""A document that a page shows as a sound one; the tests of the pages validate it."""


def in_pages() -> list[tuple[str, Any]]:
    found = []
    for page in sorted((ROOT / "docs").glob("*.md")):
        for block in FENCE.finditer(page.read_text(encoding="utf-8")):
            loaded = parse_yaml(page, block["text"].encode())
            found += [(document.kind, document.data) for document in loaded.documents if document.kind in KINDS]
    return found


def test_documents_that_the_pages_show_pass_the_schemas() -> None:
    shown_there = in_pages()
    assert len(shown_there) >= 5
    for kind, data in shown_there:
        assert [f"{error.instance_path}: {error.message}" for error in validator(kind).iter_errors(data)] == []


def test_examples_of_every_kind_are_among_them() -> None:
    files = [*files_below(*PROJECT), *files_below(TEMPLATES), *GOOD]
    kinds = {kind for path in files for kind, _ in documents(path)} | {kind for kind, _ in in_pages()}
    assert kinds == {*KINDS, PROSE}


@pytest.mark.parametrize("kind", [*KINDS, PROSE])
def test_every_definition_says_what_it_is(kind: str) -> None:
    """Hover shows it: over a field, and over the word that decides what a mapping is."""
    schema = json.loads(schema_text(kind))
    bare = {name for name, definition in schema["$defs"].items() if not definition.get("description")}
    assert {name for name in bare if not name.startswith("Any")} == set()
    assert schema["description"]
