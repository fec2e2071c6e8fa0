"""Checks whose finding is made elsewhere: while a file is read, or while its shape is compared with the language."""

from tuvl.check.finding import Finding
from tuvl.check.rule import Rule
from tuvl.source.document import Document
from tuvl.source.place import SourceProblem
from tuvl.spec.shape import ShapeProblem


class SourceRule(Rule):
    """A check that the reader of a file makes."""

    def report(self, problem: SourceProblem, *, file: str) -> Finding:
        """Make the finding of what the reader said."""
        return self.finding_at(
            file,
            problem.range,
            problem.message,
            hint=problem.hint,
            path=problem.path,
            replacement=self.replacement(problem),
        )

    def replacement(self, problem: SourceProblem) -> str | None:
        """Return the text that mends it, if there is one."""
        return None


class ShapeRule(Rule):
    """A check that the comparison of a document with the language makes."""

    def report(self, problem: ShapeProblem, document: Document) -> Finding:
        """Make the finding of what the comparison said."""
        return self.finding(
            document,
            problem.path,
            problem.message,
            hint=problem.hint,
            at_key=problem.at_key,
            replacement=problem.suggestion if problem.fixable else None,
        )
