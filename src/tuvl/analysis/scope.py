"""Where a worst case is reckoned: a workflow, the project around it, and what the file does not say."""

from dataclasses import replace

from tuvl.analysis.language_models import Lookup
from tuvl.analysis.measure import Measure
from tuvl.analysis.run_bounds import RunBounds
from tuvl.analysis.steps import WorkflowView
from tuvl.analysis.surroundings import Surroundings
from tuvl.dataclass import dataclass
from tuvl.model_table import table_entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """Seconds that the environment sets (`TUVL_AGENT_...`)."""

    tool_s: float = 300.0
    judge_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """One workflow under one measure."""

    workflow: WorkflowView
    project: Surroundings
    bounds: RunBounds
    measure: Measure
    waits: Waits = Waits()
    lookup: Lookup = table_entry
    items_bytes: int = 0
    """Bytes of the items of the lists around a step, which stand beside the context."""
    inside: tuple[str, ...] = ()
    """Names of the workflows around this one, outermost first."""

    @property
    def context_bytes(self) -> int:
        """Bytes of the context that a step sees."""
        return self.bounds.max_context_bytes + self.items_bytes

    def with_item(self, size: int) -> "Scope":
        """The scope of a ForEach body."""
        return replace(self, items_bytes=self.items_bytes + size)
