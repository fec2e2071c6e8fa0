"""TV211 node-file."""

from collections.abc import Iterator

from tuvl.analysis.signals import BUILT_IN_NODES
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule
from tuvl.project.index import ProjectIndex
from tuvl.source.place import Range


class NodeFile(Rule):
    """A file of the nodes folder does not parse, declares one name twice, or hides a node or its name.

    Validating never imports these files, so it knows only what their syntax says. A node it cannot see is reported as
    unknown where it is used, and at run one of two nodes with one name would win by accident. A node behind `if False`
    or `if TYPE_CHECKING`, or whose function is defined again further down, is gone once the file is imported; one with
    the name of a built-in node is never called.
    """

    code = "TV211"
    name = "node-file"
    severity = Severity.WARNING

    def visit_project(self, project: ProjectIndex) -> Iterator[Finding]:
        """Report what reading the node files brought up."""
        for problem in project.nodes.problems:
            place = Range.at(problem.line, problem.column)
            yield self.finding_at(problem.file, place, problem.message, hint=problem.hint)
        for node in project.nodes.declared.values():
            if node.name in BUILT_IN_NODES:
                yield self.finding_at(
                    node.file,
                    Range.at(node.line, 1),
                    f"node {node.name!r} is never called: that is the name of a built-in node",
                    hint="give it another name",
                )
