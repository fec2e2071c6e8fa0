"""What comments in the files accept: the compiler takes the same ones that the checks take."""

from collections.abc import Iterable, Iterator

from tuvl.analysis.fault import Fault
from tuvl.project.index import ProjectIndex
from tuvl.source.document import Document


def refused(faults: Iterable[Fault], document: Document, index: ProjectIndex) -> Iterator[Fault]:
    """Yield the faults of a document that no comment of its file accepts."""
    for fault in faults:
        line = document.locate(fault.path, key=fault.at_key).start.line
        if fault.code is None or fault.final or not is_accepted(fault.code, line, document, index):
            yield fault


def is_accepted(code: str, line: int, document: Document, index: ProjectIndex) -> bool:
    """Whether a comment in the file of a document says why what a check tells of a line is accepted."""
    loaded = index.file_of(document)
    return loaded is not None and any(comment.hides(code, line) for comment in loaded.suppressions)
