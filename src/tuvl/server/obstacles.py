"""Why somebody may not answer what a run waits for, and what they are shown of it then: all but the form."""

from tuvl.hosting.requests import WaitingRun
from tuvl.principal import Principal
from tuvl.server.authentication import Caller
from tuvl.server.pages.looks import shown
from tuvl.values import JsonObject

NO_SCOPE = "Your token may not answer."
"""Said to those who may read, and no more."""

_FORM = "fields"


def obstacle(wait: WaitingRun, reader: Principal) -> str:
    """Say why somebody may not answer; nothing when they may. What counts is judged where the answer comes."""
    if wait.encrypted:
        return "It can be answered where its key is."
    if wait.assignee is not None and wait.assignee != reader.id:
        return f"It is up to {shown(wait.assignee)} to answer."
    if wait.groups and reader.id == wait.requested_by:
        return "The run acts for you, so that somebody else has to answer."
    if wait.groups and reader.id in wait.also_requested_by:
        return "You have asked for a run that this one was forked from, so that somebody else has to answer."
    if wait.groups and all(reader.lacks(scope=None, group=group) for group in wait.groups):
        return f"Only the group {' or '.join(map(shown, wait.groups))} may answer."
    return ""


def told_of(wait: WaitingRun, caller: Caller) -> JsonObject:
    """Return what a caller is told of it: with `obstacle`, the fields of an answer are not among it."""
    why = obstacle(wait, caller.principal) or ("" if caller.has("runs:control") else NO_SCOPE)
    asked = {name: value for name, value in wait.asked.items() if not (why and name == _FORM)}
    return {**wait.to_json(), "asked": asked, "obstacle": why or None}
