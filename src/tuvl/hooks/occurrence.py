"""What a hook is told: metadata of one moment of a run, never its values."""

from tuvl.dataclass import dataclass
from tuvl.plan.hooks import HookEventName
from tuvl.values import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """One moment. `signal` is that of a step or tool that has ended, `status` that of a run that has."""

    event: HookEventName
    step: str | None = None
    kind: str | None = None
    tool: str | None = None
    signal: str | None = None
    status: str | None = None
    error_type: str | None = None
    error_message: str | None = None
    """One line that is safe to show."""

    def payload(self, *, hook: str, run_id: str, workflow: str) -> JsonObject:
        """Write it as a JSON object of its own: each hook gets another one."""
        values: JsonObject = {"event": self.event, "hook": hook, "run_id": run_id, "workflow": workflow}
        for name in ("step", "kind", "tool", "signal", "status"):
            value = getattr(self, name)
            if value is not None:
                values[name] = value
        if self.error_type is not None:
            values["error"] = {"type": self.error_type, "message": self.error_message}
        return values
