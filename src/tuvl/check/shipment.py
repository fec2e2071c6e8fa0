"""What checks of `tuvl ship` look at: a project, the workflows that leave it, and its lock."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from tuvl.check.finding import Finding
from tuvl.check.rule import Phase, Rule
from tuvl.dataclass import dataclass
from tuvl.errors import ConfigError
from tuvl.project.index import ProjectIndex
from tuvl.source.document import Document

if TYPE_CHECKING:
    from tuvl.locking.lock import Lock


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipment:
    """A project on its way out."""

    project: ProjectIndex
    workflows: Sequence[Document]
    lock: "Lock | None"
    """The project's lock; `None` when there is none, or none that can be trusted."""
    lock_problem: str | None = None
    """Why the lock that is there cannot be trusted."""

    @classmethod
    def of(cls, project: ProjectIndex, workflows: Sequence[Document] | None = None) -> "Shipment":
        """Gather it; without `workflows` all of the project leave."""
        from tuvl.locking.lock_file import read_lock  # what locks need is not loaded for a validation

        leaving = project.documents("Workflow") if workflows is None else workflows
        try:
            return cls(project=project, workflows=leaving, lock=read_lock(project.root))
        except ConfigError as error:
            return cls(project=project, workflows=leaving, lock=None, lock_problem=str(error))


class ShipRule(Rule):
    """A check that runs before a project is shipped, and not in every validation."""

    phase: ClassVar[Phase] = "ship"

    def visit_shipment(self, shipment: Shipment) -> Iterator[Finding]:
        """Look at a project on its way out."""
        return iter(())
