"""Which runs are kept in the store of runs, and how one gets there when it has ended."""

from dataclasses import replace

from tuvl.data.run_records import RunRecords
from tuvl.engine.result import RunResult
from tuvl.journal import Left
from tuvl.plan.model import Action, AgentPlan, ExecutionPlan, SubWorkflowPlan
from tuvl.redaction import redact
from tuvl.templating.render import Template
from tuvl.values import shorten


def keeps_records(plan: ExecutionPlan) -> bool:
    """Tell whether a run of the plan is kept whatever happens.

    That is so when an agent of it is audited or has a conversation, and when there is a supervisor: what may step in
    has to be on record, and a run that it has paused has to be found. The workflows that it runs inside count, too.
    """
    return plan.supervisor is not None or any(_keeps_records(step.action) for step in plan.steps.values())


def _keeps_records(action: Action) -> bool:
    match action:
        case AgentPlan():
            return action.audit or isinstance(action.conversation, Template)
        case SubWorkflowPlan():
            return keeps_records(action.plan)
        case _:
            return False


def leaves(result: RunResult) -> bool:
    """Tell whether a run has not ended, and only left its process: how it stands here is not how it ended."""
    return isinstance(result.error and result.error.cause, Left)


def goes_on(result: RunResult) -> bool:
    """Tell whether a durable run goes on from its record: it waits, or the record could not be written."""
    return result.status == "suspended" or (result.error is not None and result.error.type == "record_failed")


async def kept(result: RunResult, records: RunRecords, *, wanted: bool) -> RunResult:
    """Keep how a run ended; a run that is over is not lost because its record is, and says so in a warning."""
    try:
        await records.finish(result.to_json(), wanted=wanted)
    except Exception as error:  # noqa: BLE001 - whatever a database says, the result is there and goes out
        said = shorten(redact(str(error))) or type(error).__name__
        return replace(result, warnings=(*result.warnings, f"the run could not be kept in the store of runs: {said}"))
    return result
