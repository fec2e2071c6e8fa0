"""Offers the parts of a document to the rules that want to see them."""

from collections.abc import Iterator
from functools import partial

from tuvl.check.crash import guarded
from tuvl.check.finding import Finding
from tuvl.check.rule import Rule, Subject
from tuvl.check.rules import ALL_RULES, SHAPE, SOURCE
from tuvl.project.index import ProjectIndex


class Dispatch:
    """Knows for each visit which rules override it; the others are never called."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self._document = _overriding(rules, "visit_document")
        self._workflow = _overriding(rules, "visit_workflow")
        self._step = _overriding(rules, "visit_step")
        self._agent = _overriding(rules, "visit_agent")
        self._project = _overriding(rules, "visit_project")

    def document(self, subject: Subject) -> Iterator[Finding]:
        """Check one document."""
        file = subject.document.file
        for rule in self._document:
            yield from guarded(rule, partial(rule.visit_document, subject), file)
        workflow = subject.workflow
        if workflow is None:
            return
        for rule in self._workflow:
            yield from guarded(rule, partial(rule.visit_workflow, workflow, subject), file)
        for step in workflow.steps:
            for rule in self._step:
                yield from guarded(rule, partial(rule.visit_step, step, subject), file)
            if step.kind == "Agent" and isinstance(step.data.get("agent"), dict):
                for rule in self._agent:
                    yield from guarded(rule, partial(rule.visit_agent, step, subject), file)

    def project(self, project: ProjectIndex) -> Iterator[Finding]:
        """Check a project as a whole."""
        file = project.relative(project.root)
        for rule in self._project:
            yield from guarded(rule, partial(rule.visit_project, project), file)


def _overriding(rules: tuple[Rule, ...], visit: str) -> tuple[Rule, ...]:
    base = getattr(Rule, visit)
    return tuple(rule for rule in rules if getattr(type(rule), visit) is not base)


EVERYTHING = Dispatch(ALL_RULES)

FORM_ONLY = Dispatch((*SOURCE, *SHAPE))
"""For documents that are switched off: what they refer to may be gone."""
