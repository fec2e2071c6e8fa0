"""A run that begins where another one was: with its record up to a step, its input and its definition.

It is a run of whoever forks: it has the rights of that one, who needs what a start of the workflow needs. Whoever asked
for the first run has asked for this one, too, and so have both when it comes to who may answer.
"""

from collections.abc import Mapping
from dataclasses import replace

from tuvl.durable.inherited import inherited
from tuvl.errors import UsageError
from tuvl.hosting.started import FORKED_VERSION, Started
from tuvl.principal import Principal
from tuvl.suggest import did_you_mean
from tuvl.values import JsonObject


def forked(payload: JsonObject, record: Mapping[str, JsonObject], at: str, by: Principal) -> JsonObject:
    """Return what a fork is started with: `payload` and `record` are those of the run that it parts from.

    Raises `UsageError` for a step that has no entry of its own in the record.
    """
    given = inherited(payload, record, at)
    if given is None:
        raise _no_entry(record, at)
    started = Started.of(payload)
    asked = dict.fromkeys((*started.also_requested_by, started.principal.id))
    asked.pop(by.id, None)
    mine = replace(started, principal=by, also_requested_by=tuple(asked))
    return {**payload, **mine.to_json(), **given, "v": FORKED_VERSION}


def _no_entry(record: Mapping[str, JsonObject], at: str) -> UsageError:
    steps = list(dict.fromkeys(name.partition("#")[0] for name in record if "/" in name))
    hint = did_you_mean(at, steps) or (f"it has entries of {', '.join(steps)}" if steps else "the record has no entry")
    return UsageError(
        f"the run has no entry of a step {at!r}, where a fork could begin; {hint}. Steps that only compute, such as a "
        "Router, have none"
    )
