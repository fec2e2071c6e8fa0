"""TV211 node-file."""

from collections.abc import Iterator

from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule
from tuvl.project.index import ProjectIndex
from tuvl.source.place import Range


class NodeFile(Rule):
    """A file of the nodes folder does not parse, declares one name twice, or hides a node's name.

    Validating never imports these files, so it knows only what their syntax says. A node it cannot see is reported as
    unknown where it is used, and at run one of two nodes with one name would win by accident.
    """

    code = "TV211"
    name = "node-file"
    severity = Severity.WARNING

    def visit_project(self, project: ProjectIndex) -> Iterator[Finding]:
        """Report what reading the node files brought up."""
        for problem in project.nodes.problems:
            place = Range.at(problem.line, problem.column)
            yield self.finding_at(problem.file, place, problem.message, hint=problem.hint)
