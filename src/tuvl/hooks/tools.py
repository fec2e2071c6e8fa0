"""The tool events of one agent's hooks."""

from tuvl.dataclass import dataclass
from tuvl.hooks.emit import HookEmitter
from tuvl.hooks.occurrence import Occurrence
from tuvl.plan.hooks import HookPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class HookedTools:
    """Tells the hooks of an agent of each tool call that runs; the step is the agent's."""

    emitter: HookEmitter
    hooks: tuple[HookPlan, ...]
    step: str
    kind: str

    def before_tool(self, tool: str) -> None:
        """Tell that a call begins."""
        self.emitter.fire(self.hooks, Occurrence(event="before_tool", step=self.step, kind=self.kind, tool=tool))

    def after_tool(self, tool: str, signal: str) -> None:
        """Tell that a call has ended, however it did."""
        self.emitter.fire(
            self.hooks, Occurrence(event="after_tool", step=self.step, kind=self.kind, tool=tool, signal=signal)
        )
