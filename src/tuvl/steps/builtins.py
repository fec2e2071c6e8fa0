"""The Functional runners that come with tuvl: `set`, `wait`, `fail`, `log`."""

import logging
import math
from typing import cast

from tuvl.errors import StepError
from tuvl.journal import Work
from tuvl.plan.model import FailPlan, LogPlan, SetPlan, WaitPlan
from tuvl.redaction import redact
from tuvl.steps.base import StepResult, StepScope
from tuvl.values import JsonValue, printable

LOGGER = "tuvl.workflow"
"""Name of the logger that `log` steps write to."""

_log = logging.getLogger(LOGGER)
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


async def run_set(scope: StepScope) -> StepResult:
    """Set context keys to rendered values."""
    action = scope.step.action
    if not isinstance(action, SetPlan):
        raise TypeError(f"step {scope.step.id!r} is no `set`")
    values = action.values.render(scope.values)
    return StepResult(delta=values if isinstance(values, dict) else {})


async def run_wait(scope: StepScope) -> StepResult:
    """Wait for so many seconds."""
    action = scope.step.action
    if not isinstance(action, WaitPlan):
        raise TypeError(f"step {scope.step.id!r} is no `wait`")
    seconds = action.seconds if isinstance(action.seconds, int | float) else action.seconds.render(scope.values)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < math.inf:
        raise StepError("`seconds` did not give a number of seconds, 0 or more", type="bad_value")
    clock = scope.services.clock
    if scope.services.journal.keeps:
        # Whichever process waits, it waits until the same moment.
        until = await scope.services.journal.record("until", _moment(clock.now().timestamp() + seconds))
        seconds = max(0.0, float(cast(float, until)) - clock.now().timestamp())
    await clock.sleep(seconds)
    return StepResult()


def _moment(at: float) -> Work:
    async def moment() -> JsonValue:
        return at

    return moment


async def run_fail(scope: StepScope) -> StepResult:
    """Leave on `error` with the author's message."""
    action = scope.step.action
    if not isinstance(action, FailPlan):
        raise TypeError(f"step {scope.step.id!r} is no `fail`")
    raise StepError(action.message.render_text(scope.values), type="failed")


async def run_log(scope: StepScope) -> StepResult:
    """Write one line to the log, whatever the values in it hold."""
    action = scope.step.action
    if not isinstance(action, LogPlan):
        raise TypeError(f"step {scope.step.id!r} is no `log`")
    message = printable(redact(action.message.render_text(scope.values)))
    extra = {"run_id": scope.services.run_id, "step_id": scope.step.id}
    _log.log(_LEVELS[action.level], "%s", message, extra=extra)
    return StepResult()
