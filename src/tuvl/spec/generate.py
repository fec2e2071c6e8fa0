"""`python -m tuvl.spec.generate`: writes the JSON Schemas, and the field tables of the language reference.

A test calls `stale` and says when this has to be run again.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tuvl.spec.json_schema import DOCUMENTS, document_schema
from tuvl.spec.reference import with_tables
from tuvl.spec.schema_files import SCHEMAS, schema_path


def schema_files() -> dict[Path, str]:
    """Return path → text for every schema file."""
    return {schema_path(model.__name__): _compact(document_schema(model)) for model in DOCUMENTS}


def _compact(schema: Mapping[str, Any]) -> str:
    """Write one definition a line: small to read, and a change shows as the lines it concerns."""
    lines = [f"{json.dumps(key)}: {_line(value)}" for key, value in schema.items() if key != "$defs"]
    definitions = [f"{json.dumps(name)}: {_line(value)}" for name, value in schema["$defs"].items()]
    lines.append('"$defs": {\n' + ",\n".join(definitions) + "\n}" if definitions else '"$defs": {}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def expected(reference: Path | None) -> dict[Path, str]:
    """Return path → text for every generated file; `reference` is the language reference, when it is to be had."""
    files = schema_files()
    if reference is not None:
        files[reference] = with_tables(reference.read_text(encoding="utf-8"))
    return files


def stale(reference: Path | None = None) -> list[Path]:
    """Return the files that no longer say what the contracts say."""
    return [
        path
        for path, text in expected(reference).items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


def main(arguments: list[str]) -> int:
    """Write the files, or with `--check` only say which are stale."""
    parser = argparse.ArgumentParser(prog="python -m tuvl.spec.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file is stale")
    parser.add_argument("--reference", type=Path, metavar="FILE", help="the language reference, docs/language.md")
    options = parser.parse_args(arguments)
    behind = stale(options.reference)
    files = expected(options.reference)
    for path in behind:
        print(f"{'stale' if options.check else 'written'}: {path}")
        if not options.check:
            path.write_text(files[path], encoding="utf-8")
    return 1 if behind and options.check else 0


if __name__ == "__main__":
    SCHEMAS.mkdir(exist_ok=True)
    sys.exit(main(sys.argv[1:]))
