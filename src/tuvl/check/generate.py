"""Writes what is made from the rules and their test cases: `examples.json` of this package and `docs/checks.md`.

`python -m tuvl.check.generate [--check] [ROOT]` writes them, or says which are stale; ROOT is that of the repository.
"""

import json
import sys
from pathlib import Path

from tuvl.check.examples import FILE, Example, read_examples
from tuvl.check.explaining import FAMILIES, Page, page_of
from tuvl.check.rules import ALL_RULES
from tuvl.check.rules.invisible_text import escaped

CASES = Path("tests", "cases")
DOCS = Path("docs", "checks.md")

_INTRODUCTION = """\
# Checks

What `tuvl validate` finds before anything runs. Nothing of the project is executed: no template is rendered, no node
is imported, no model or server is asked. `tuvl explain CODE` prints the same pages.

An **error** closes the gate: the command ends with exit code 1, and `tuvl run` refuses the file. A **warning** does
with `--strict`. A **note** never does. When nothing could be checked, a path cannot be read, or a check itself fails,
the exit code is 2.

## Accepting a finding

A comment with a reason hides a finding, at the end of its line or alone on the line above:

```yaml
    # tuvl: ignore[TV302] the caller treats an unmapped exit as a failed ticket
    routes: { resolved: END }
```

Errors that no run can go on in spite of cannot be hidden: those of the families source, shape and references, those of
how an agent is made (TV401–TV404, TV406, TV407, TV410), a workflow without a first step (TV301), compaction without a
window (TV603), a step that no run comes past (one that must set a key of the engine, TV504, that calls a host which no
entry allows, TV703, or none of whose signals leads on, TV306), and what the project's policy or the command line
forbids. A comment on one of them is reported as TV006, and so is one that hides nothing. Any other error that a
comment accepts keeps nothing from running: `tuvl run` and `tuvl ship` take the same comments. `--ignore CODES` leaves
checks out of one report, `--select CODES` keeps only some; both take codes (`TV302`), families (`TV3`) and names
(`unreachable-step`).

A few checks are about leaving the house: they need `tuvl.lock`, or would be wrong while a project is being made.
`tuvl validate` leaves them out, and `tuvl ship` makes them; under `tuvl ship --strict` all they find are errors.

This page is made from the checks and their test cases by `make docs`.
"""


def examples_from(cases: Path) -> dict[str, dict[str, object]]:
    """Read the golden cases of all checks, in the form in which they are shipped."""
    found: dict[str, dict[str, object]] = {}
    for rule in ALL_RULES:
        case = cases / rule.code
        if (case / "bad.out").is_file():
            found[rule.code] = {
                "bad": _files(case, "bad"),
                "good": _files(case, "good"),
                "out": (case / "bad.out").read_text(encoding="utf-8"),
            }
    return found


def _files(case: Path, which: str) -> dict[str, str]:
    paths = [path for path in (*case.glob(f"{which}.*"), *(case / which).rglob("*")) if path.is_file()]
    return {
        path.relative_to(case).as_posix(): escaped(path.read_bytes().decode("utf-8", "backslashreplace"))
        for path in sorted(paths)
        if path.name != "bad.out"
    }


def examples_json(cases: Path) -> str:
    """Write the examples as they are shipped."""
    return json.dumps(examples_from(cases), ensure_ascii=False, indent=1) + "\n"


def checks_page(cases: Path) -> str:
    """Write `docs/checks.md`."""
    examples = read_examples(examples_json(cases))
    parts = [_INTRODUCTION]
    for title, about, rules in FAMILIES:
        if not rules:
            continue
        pages = [page_of(rule.code) for rule in rules]
        parts.append(f"## {title}: {about}\n")
        parts.append(_table(pages))
        parts += [_section(page, examples.get(page.code)) for page in pages]
    return "\n".join(parts)


def _table(pages: list[Page]) -> str:
    rows = [f"| [{page.code}](#{page.code.lower()}-{page.name}) | {page.name} | {page.severity} |" for page in pages]
    return "\n".join(["| code | name | weight |", "|---|---|---|", *rows, ""])


def _section(page: Page, example: Example | None) -> str:
    weight = f"*{page.severity.capitalize()}{' of `tuvl ship`' if page.phase == 'ship' else ''}.*"
    parts = [f"### {page.code} {page.name}", weight, *page.paragraphs]
    if example is not None:
        parts += [f"Bad, `{name}`:\n\n{_fenced(name, text)}" for name, text in example.bad.items()]
        parts.append(f"What is said of it:\n\n{_fenced('out.text', example.out)}")
        parts += [f"Good, `{name}`:\n\n{_fenced(name, text)}" for name, text in example.mended.items()]
    return "\n\n".join(parts) + "\n"


def _fenced(name: str, text: str) -> str:
    language = {"yaml": "yaml", "md": "markdown", "py": "python"}.get(name.rpartition(".")[2], "text")
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def expected(root: Path) -> dict[Path, str]:
    """Return path → text for both generated files."""
    cases = root / CASES
    return {FILE: examples_json(cases), root / DOCS: checks_page(cases)}


def main(arguments: list[str]) -> int:
    """Write the files, or with `--check` only say which are stale."""
    root = next((Path(word) for word in arguments if not word.startswith("-")), Path("."))
    only_check = "--check" in arguments
    files = expected(root)
    behind = [path for path, text in files.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in behind:
        print(f"{'stale' if only_check else 'written'}: {path}")
        if not only_check:
            path.write_text(files[path], encoding="utf-8", newline="\n")
    return 1 if behind and only_check else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
