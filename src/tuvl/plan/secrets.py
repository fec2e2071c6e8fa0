"""Refuses to run what holds a secret in the clear, unless a comment in the file says why it is none."""

from collections.abc import Iterator

from tuvl.analysis.credentials import secret_in
from tuvl.analysis.literal_secrets import literal_secrets
from tuvl.analysis.steps import mapping
from tuvl.errors import ConfigError
from tuvl.plan.accepted import is_accepted
from tuvl.project.index import ProjectIndex
from tuvl.source.document import Document

CODE = "TV701"
"""The check that tells of them."""


def refuse_secrets(document: Document, index: ProjectIndex) -> None:
    """Raise `ConfigError` for the first one of a document that a run would use."""
    for line, message in _found(document, index):
        if not is_accepted(CODE, line, document, index):
            hint = "`tuvl validate` shows every mistake with its place"
            raise ConfigError(f"{document.file}: line {line}: {message}; {hint}")


def _found(document: Document, index: ProjectIndex) -> Iterator[tuple[int, str]]:
    for fault in literal_secrets(mapping(document.data)):
        yield document.locate(fault.path, key=fault.at_key).start.line, fault.message
    loaded = index.file_of(document)
    prose = loaded.prose if loaded is not None else None
    if prose is None or secret_in(prose.body) is None:
        return
    for number, line in enumerate(prose.body.splitlines(), start=prose.body_line):
        what = secret_in(line)
        if what is not None:
            yield number, f"the text holds {what} in the clear"
