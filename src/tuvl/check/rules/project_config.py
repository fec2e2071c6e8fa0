"""TV215 project-config."""

from collections.abc import Iterator

from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule
from tuvl.project.index import ProjectIndex


class ProjectConfigRule(Rule):
    """The configuration of the project cannot be used.

    `tuvl.yaml` cannot be read, holds no `ProjectConfig`, or more than one, or one that is switched off; or one stands
    in another file, such as `tuvl.yml`, where nothing reads it.

    The project's policy stands there: spending limits, allowed models and hosts, approvals. A run that began without
    it would do what its author had forbidden, so that none begins, and every file that is validated says so.
    """

    code = "TV215"
    name = "project-config"
    severity = Severity.ERROR

    def visit_project(self, project: ProjectIndex) -> Iterator[Finding]:
        """Look at `tuvl.yaml`, and for configurations elsewhere."""
        for fault in project.config_faults:
            if not fault.told:
                yield self.finding_at(fault.file, fault.place, fault.message, hint=fault.hint)
