"""Imports point downwards only, and each third-party library has one importer.

The order of the layers and the table of libraries are read from the design notes, so that the notes cannot go stale.
"""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src"
DESIGN = ROOT / "docs" / "design"

FORBIDDEN_TO_CHECK = ("tuvl.llm", "tuvl.plan", "tuvl.templating.render")
"""Validating a project needs no network and runs nothing of it."""


@dataclass(frozen=True)
class Import:
    """One import: which module asks for which, and where; `level` counts the dots of a relative import."""

    importer: str
    target: str
    line: int
    level: int = 0

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {'.' * self.level}{self.target}"


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCES).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(SOURCES.rglob("*.py"))}


def imports_in(source: str, importer: str) -> Iterator[Import]:
    """Yield every import of a module: in functions, under TYPE_CHECKING, relative, and through importlib too."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (Import(importer, alias.name, node.lineno) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                for alias in names:
                    # `from tuvl.spec import signals` is an import of the module `tuvl.spec.signals`.
                    full = f"{module}.{alias.name}" if module else alias.name
                    target = full if full in MODULES or level else module or ""
                    yield Import(importer, target, node.lineno, level)
            case ast.Call(func=function, args=[ast.Constant(value=str(name)), *_]) if called(function) in {
                "import_module",
                "__import__",
            }:
                yield Import(importer, name, node.lineno)


def called(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


@cache
def imports() -> tuple[Import, ...]:
    """Read every module, for the first test that asks: each process that runs some tests collects all of them."""
    return tuple(
        found for name, path in MODULES.items() for found in imports_in(path.read_text(encoding="utf-8"), name)
    )


def layer_of() -> dict[str, int]:
    text = (DESIGN / "architecture.md").read_text(encoding="utf-8")
    block = re.search(r"## Layers.*?```\n(.*?)```", text, re.DOTALL)
    assert block, "architecture.md has no layer block"
    rungs = [line.split() for line in block[1].splitlines() if line.strip()]
    return {package: rung for rung, packages in enumerate(rungs) for package in packages}


LAYERS = layer_of()


def package_of(module: str) -> str:
    """Return the name that stands in the layer table; the entry point belongs to the command line."""
    part = module.split(".")[1]
    return "cli" if part == "__main__" else part


def own(found: Import) -> bool:
    return found.target.startswith("tuvl.") and "." in found.importer


def test_every_package_has_its_place_in_the_architecture_note() -> None:
    missing = {package_of(module) for module in MODULES if "." in module} - LAYERS.keys()
    assert not missing, f"add to the layers of docs/design/architecture.md: {sorted(missing)}"


def test_imports_point_downwards() -> None:
    wrong = [
        str(found)
        for found in imports()
        if own(found)
        and package_of(found.importer) != package_of(found.target)
        and LAYERS[package_of(found.importer)] <= LAYERS[package_of(found.target)]
    ]
    assert not wrong, "\n".join(wrong)


def test_no_import_is_relative() -> None:
    assert not [str(found) for found in imports() if found.level]


def test_modules_inside_a_package_form_no_cycle() -> None:
    graph: dict[str, set[str]] = {name: set() for name in MODULES}
    for found in imports():
        if own(found) and found.target in MODULES:
            graph[found.importer].add(found.target)
    assert not cycle(graph)


def cycle(graph: dict[str, set[str]]) -> list[str]:
    """Return the modules that are left when everything that can be loaded in some order is taken away."""
    left = {name: set(targets) for name, targets in graph.items()}
    while ready := [name for name, targets in left.items() if not targets]:
        for name in ready:
            del left[name]
        for targets in left.values():
            targets.difference_update(ready)
    return sorted(left)


def test_check_neither_renders_nor_compiles_nor_calls_a_model() -> None:
    pydantic_users = {found.importer for found in imports() if found.target.split(".")[0] == "pydantic"}
    forbidden = (*FORBIDDEN_TO_CHECK, *sorted(pydantic_users))
    wrong = [
        str(found)
        for found in imports()
        if found.importer.startswith("tuvl.check")
        and any(found.target == name or found.target.startswith(f"{name}.") for name in forbidden)
    ]
    assert not wrong, "\n".join(wrong)


def library_table() -> dict[str, tuple[str, ...]]:
    """Read `import name → modules or packages that may import it` from the dependencies note."""
    text = (DESIGN / "dependencies.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w.]+)` \| ([^|]+) \| ([^|]+) \|", text, re.MULTILINE)
    assert rows, "dependencies.md has no table of libraries"
    return {name: tuple(re.findall(r"`([\w.]+)`", importers)) for name, _, importers in rows}


def third_party() -> Iterator[Import]:
    for found in imports():
        root = found.target.split(".")[0]
        if not found.level and root != "tuvl" and root not in sys.stdlib_module_names:
            yield found


def test_each_library_is_imported_only_where_the_dependencies_note_says() -> None:
    table = library_table()
    wrong = []
    for found in third_party():
        allowed = table.get(found.target.split(".")[0], ())
        if not any(found.importer == name or found.importer.startswith(f"{name}.") for name in allowed):
            wrong.append(f"{found}; docs/design/dependencies.md allows {', '.join(allowed) or 'nobody'}")
    assert not wrong, "\n".join(wrong)


def test_no_library_stands_in_the_dependencies_note_that_nothing_imports() -> None:
    used = {found.target.split(".")[0] for found in third_party()}
    assert used == library_table().keys()


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("def f():\n    import tuvl.cli.app", "tuvl.cli.app"),
        (
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from tuvl.engine.run import run_plan",
            "tuvl.engine.run",
        ),
        ("from . import values", "values"),
        ("from tuvl import values", "tuvl.values"),
        ("import importlib\nimportlib.import_module('tuvl.cli.app')", "tuvl.cli.app"),
    ],
)
def test_the_reader_of_imports_sees_through_every_disguise(source: str, target: str) -> None:
    assert target in {found.target for found in imports_in(source, "tuvl.example")}
