"""What differs between files whose documents say the same: comments, layout, their names."""

import os
import re
from collections.abc import Iterator, Sequence

from tuvl.changes.change import CODES, Change
from tuvl.changes.site import Doc
from tuvl.project.loading import LoadedFile
from tuvl.values import canonical

_DANGER = re.compile(r"TV[67]")
"""The families of checks that tell what a workflow may spend, and what strangers may have it do."""
_PairKey = tuple[object, ...]


def compare_files(
    documents: Sequence[tuple[Doc, Doc]], told: Sequence[Change], *, moved: bool
) -> Iterator[tuple[_PairKey, Change]]:
    """Yield what is to be said of the files of documents that were compared, with the pair it belongs to."""
    spoken = {change.file for change in told}
    seen: set[tuple[str, str]] = set()
    for old, new in documents:
        key = (*old.key, *new.key)
        one, other = old.side.index.file_of(old.document), new.side.index.file_of(new.document)
        if one is None or other is None or (one.file, other.file) in seen:
            continue
        seen.add((one.file, other.file))
        where = (os.path.relpath(one.path, old.side.index.root), os.path.relpath(other.path, new.side.index.root))
        if moved and where[0] != where[1]:
            yield key, _change("file-moved", new, "in another file", where[0], where[1])
        for line, code in _accepted(one, other):
            accepted = "danger-accepted" if _DANGER.search(code) else "finding-accepted"
            yield key, _change(accepted, new, f"a comment hides {code} here", line=line)
        differs = one.text != other.text
        if differs and new.file not in spoken and _same_documents(one, other):
            yield key, _change("layout-changed", new, "comments or layout")


def _accepted(old: LoadedFile, new: LoadedFile) -> Iterator[tuple[int, str]]:
    before = [(each.codes, each.reason) for each in old.suppressions]
    for each in new.suppressions:
        said = (each.codes, each.reason)
        if said in before:
            before.remove(said)
        else:
            yield each.line, ", ".join(each.codes)


def _same_documents(old: LoadedFile, new: LoadedFile) -> bool:
    before, after = ([canonical(document.data) for document in file.documents] for file in (old, new))
    return before == after


def _change(
    code: str, doc: Doc, message: str, before: str | None = None, after: str | None = None, line: int = 1
) -> Change:
    return Change(
        cls=CODES[code].cls,
        code=code,
        message=message,
        before=before,
        after=after,
        file=doc.file,
        line=line,
        column=1,
        path="",
        workflow=doc.name if doc.kind == "Workflow" else None,
    )
