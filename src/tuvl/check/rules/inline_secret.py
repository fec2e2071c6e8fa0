"""TV701 inline-secret."""

from collections.abc import Iterator

from tuvl.analysis.credentials import secret_in
from tuvl.analysis.literal_secrets import literal_secrets
from tuvl.analysis.steps import mapping
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject
from tuvl.source.place import Range


class InlineSecret(FaultRule):
    """A literal looks like a key, a token or a password.

    Whoever can read the repository has it, now and in every older version, and it goes into prompts and logs with the
    text around it. Of a password that a call, a server or a database is given any word counts, short ones too, and
    `--token` says what the next argument is. Placeholders and `${VAR}` are left out. The value itself is never shown.
    """

    code = "TV701"
    name = "inline-secret"
    severity = Severity.ERROR

    def visit_document(self, subject: Subject) -> Iterator[Finding]:
        """Look at every text of the document."""
        yield from self.report(literal_secrets(mapping(subject.document.data)), subject)
        prose = subject.loaded.prose if subject.loaded is not None else None
        if prose is None or secret_in(prose.body) is None:
            return
        for number, line in enumerate(prose.body.splitlines(), start=prose.body_line):
            what = secret_in(line)
            if what is not None:
                yield self.finding_at(
                    subject.document.file,
                    Range.at(number, 1, len(line)),
                    f"the text holds {what} in the clear",
                    hint="remove it, and replace it at its issuer: it has been in a file",
                )
