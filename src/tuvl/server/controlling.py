"""Controlling runs that go on: those of this process, and those of others on the same store or Redis."""

from tuvl.control import ControlAction
from tuvl.principal import Principal
from tuvl.server.problems import Problem, unknown_run
from tuvl.server.reading import Reading
from tuvl.supervision.registry import RunRegistry
from tuvl.supervision.runs import Directive, RunInfo
from tuvl.values import JsonObject, is_storable, storable

SETTLED_WITHIN_S = 2.0
"""How long a request waits until what it said is carried out, in seconds; after that it is told as pending."""


_WHY_NOT = {
    "queued": "waits until a process takes it, and cannot be told anything before that",
    "suspended": "waits for somebody, and no process has it; an answer lets it go on, `/api/runs/{id}/abort` ends it",
    "running": "is on record as running, and no process says that it has it: that died, or has just begun",
}
_OVER = "has ended; there is nothing to tell it"


class Controlling:
    """Lists runs that go on, and tells them what their operators say."""

    def __init__(self, registry: RunRegistry, reading: Reading) -> None:
        self._registry = registry
        self._reading = reading

    async def live(self, reader: Principal) -> list[JsonObject]:
        """Return the runs that go on and that the reader may see, the newest first."""
        return [_shown(info) for info in await self._registry.live(reader)]

    async def one(self, run_id: str, reader: Principal) -> JsonObject:
        """Return one of them; raises `Problem`."""
        info = await self._registry.get(run_id, reader) if is_storable(run_id) else None
        if info is None:
            raise unknown_run(run_id)
        return _shown(info)

    async def tell(self, run_id: str, kind: ControlAction, message: str, reader: Principal) -> JsonObject:
        """Tell a run something, and return what became of it; raises `Problem`."""
        if kind == "steer" and not message.strip():
            raise Problem(422, "message-missing", "a steer needs a `message`: it is what the agent is told")
        directive = Directive(kind=kind, message=storable(message), by=reader.id)
        if not is_storable(run_id) or not await self._registry.direct(run_id, directive, reader):
            shown = await self._reading.run(run_id, reader)
            raise Problem(409, "not-going-on", f"run {run_id!r} {_WHY_NOT.get(str(shown['status']), _OVER)}")
        found = await self._registry.wait_settled(directive.id, SETTLED_WITHIN_S)
        return {
            "run_id": run_id,
            "directive": directive.id,
            "action": kind,
            "outcome": "pending" if found is None or found.outcome is None else found.outcome,
            "note": None if found is None else found.note,
        }


def _shown(info: RunInfo) -> JsonObject:
    return {
        "run_id": info.run_id,
        "workflow": info.workflow,
        "schema_version": info.schema_version,
        "principal": info.principal,
        "tenant": info.tenant,
        "started_at": info.started_at.isoformat(),
        "paused": info.paused,
        "alive": info.alive,
    }
