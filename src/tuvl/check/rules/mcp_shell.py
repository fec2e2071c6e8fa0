"""TV711 mcp-shell."""

from collections.abc import Iterator

from tuvl.analysis.servers import doubtful_starts
from tuvl.analysis.steps import mapping
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class McpShell(FaultRule):
    """An MCP server is started through a shell, from a relative path, or with the whole environment.

    A shell reads its arguments as a program, so that a value in them can become a command; so does an interpreter that
    is told to (`python -c`), and either behind a program that starts another (`env`, `sudo`, `nohup`). A relative path
    starts whatever lies there. A server that is given every variable is given every credential.
    """

    code = "TV711"
    name = "mcp-shell"
    severity = Severity.WARNING

    def visit_document(self, subject: Subject) -> Iterator[Finding]:
        """Look at a server's artifact."""
        if subject.kind == "Artifact":
            yield from self.report(doubtful_starts(mapping(subject.document.data)), subject)
