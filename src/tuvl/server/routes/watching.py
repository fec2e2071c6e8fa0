"""Watching a run that somebody else has started, in this process or in another."""

from starlette.responses import Response

from tuvl.server.attending import Admitted, admitted_by, watching
from tuvl.server.authentication import Caller
from tuvl.server.routes.answers import stream
from tuvl.server.services import Services


async def watched(
    services: Services, run_id: str, caller: Caller, *, last_id: str | None, admitted: Admitted | None = None
) -> Response:
    """Answer with the events of a run; of one that is over, or in another process, with its end. Raises `Problem`.

    It ends when the caller would not get in any more, as `admitted` tells, else the caller's token.
    """
    reader = await watching(services, run_id, caller, last_id=last_id)
    return stream(services, run_id, reader, admitted=admitted or admitted_by(services, caller))
