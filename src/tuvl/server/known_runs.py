"""Runs that were started before under the same key and are in no task of this process: what their clients get."""

from tuvl.data.sealed_words import refuse_encrypted
from tuvl.principal import Principal
from tuvl.server.attending import GoesOn
from tuvl.server.outside import LOOK_S, OutsideReader
from tuvl.server.services import Services
from tuvl.values import JsonObject


def outside(services: Services, run_id: str, principal: Principal) -> OutsideReader:
    """Return the end of a run, for one of its clients."""
    return OutsideReader(services.reading, run_id, principal, clock=services.clock, closing=services.streams.closing)


async def outcome_outside(services: Services, run_id: str, principal: Principal) -> JsonObject:
    """Wait for the end of a run, and return its document.

    Raises `GoesOn` when the server closes down before, and `Unopened` for a document that it has not the key of.
    """
    reader = outside(services, run_id, principal)
    while True:
        await reader.events(LOOK_S)
        if reader.ended:
            break
        if services.streams.closing.is_set():
            raise GoesOn
    shown = await services.reading.run(run_id, principal)
    result = shown["result"]
    if isinstance(result, dict):
        refuse_encrypted(result)
        return result
    # It was cut off before it had one.
    return {name: shown[name] for name in ("run_id", "workflow", "schema_version", "status", "signal", "error")}
