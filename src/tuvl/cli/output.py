"""Data on its way out: to stdout, whose reader may leave early, or to a file, whole or not at all."""

import json
import os
import sys
from pathlib import Path

from tuvl.cli.streams import write_stdout
from tuvl.errors import UsageError
from tuvl.files import LinkedAwayError, real_target, write_whole
from tuvl.values import JsonValue, escaped_json


def json_document(value: JsonValue) -> str:
    """Write one JSON document as people read it: indented by two, letters of all scripts kept, a newline at the end."""
    return escaped_json(json.dumps(value, ensure_ascii=False, indent=2)) + "\n"


def check_destination(output: str | None, *, option: str = "--output") -> None:
    """Refuse a file that cannot be written, before work is done whose result would then be lost."""
    if output is None:
        return
    path = Path(output)
    folder = path.parent
    if path.is_dir():
        raise UsageError(f"{option} names {output!r}, which is a folder; name a file")
    if not folder.is_dir():
        raise UsageError(f"{option} names {output!r}, but there is no folder {str(folder)!r}; make it first")
    try:
        real_target(path)
    except LinkedAwayError as error:
        raise UsageError(f"{option} names {output!r}, but {error.strerror}; name a file of its own") from None
    if not os.access(folder, os.W_OK):
        raise UsageError(f"{option} names {output!r}, but the folder {str(folder)!r} cannot be written to")


def check_apart(**outputs: str | None) -> None:
    """Refuse two outputs, each under the name of its option, that are one file: the second would take its place."""
    known: dict[str, str] = {}
    for name, output in outputs.items():
        path = None if output is None else os.path.realpath(output)
        if path is None or (os.path.exists(path) and not os.path.isfile(path)):
            continue  # a pipe or a device takes both
        if path in known:
            raise UsageError(f"--{known[path]} and --{name} name one file, {output!r}; give each a file of its own")
        known[path] = name


def deliver(text: str, output: str | None, *, instead: str = "use --output FILE to write it to a file") -> bool:
    """Write a document to the file, or to stdout when there is none; a file that fails falls back to stdout.

    `instead` is what to do where stdout takes nothing. Returns whether the text is where it was asked to be; why it is
    not is said on stderr.
    """
    if output is None:
        return write_stdout(text, instead=instead)
    try:
        write_whole(Path(output), text)
    except OSError as error:
        sys.stderr.write(f"tuvl: cannot write {output!r} ({error.strerror}); the document goes to stdout instead\n")
        write_stdout(text)
        return False
    return True
