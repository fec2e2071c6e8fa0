"""Data on its way out: to stdout, whose reader may leave early, or to a file, whole or not at all."""

import errno
import json
import os
import sys
from pathlib import Path

from tuvl.errors import UsageError
from tuvl.files import write_whole
from tuvl.values import JsonValue


def json_document(value: JsonValue) -> str:
    """Write one JSON document as people read it: indented by two, non-ASCII kept, a newline at the end."""
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


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
    if not os.access(folder, os.W_OK):
        raise UsageError(f"{option} names {output!r}, but the folder {str(folder)!r} cannot be written to")


def deliver(text: str, output: str | None) -> bool:
    """Write a document to the file, or to stdout when there is none; a file that fails falls back to stdout.

    Returns whether the text is where it was asked to be.
    """
    if output is None:
        write_stdout(text)
        return True
    try:
        write_whole(Path(output), text)
    except OSError as error:
        sys.stderr.write(f"tuvl: cannot write {output!r} ({error.strerror}); the document goes to stdout instead\n")
        write_stdout(text)
        return False
    return True


def write_stdout(text: str) -> None:
    """Write data as UTF-8, whatever the locale; a reader that has gone away (`| head`) is no error."""
    if sys.stdout is None:  # closed by the shell: `>&-`
        return
    try:
        sys.stdout.buffer.write(text.encode("utf-8", "surrogatepass"))
        sys.stdout.buffer.flush()
    except OSError as error:
        # Windows says EINVAL where others say EPIPE.
        if error.errno not in {errno.EPIPE, errno.EINVAL}:
            raise
        # The interpreter flushes stdout once more at exit, which would complain about the same closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
