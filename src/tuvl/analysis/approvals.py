"""Whether a person is asked before an agent may call a tool: by the entry of the tool, or by the project's policy."""

from functools import partial

from tuvl.analysis.context import ARGUMENTS
from tuvl.analysis.expression_truth import truth
from tuvl.analysis.parameters import ToolUse
from tuvl.analysis.policy import asks_by_policy
from tuvl.analysis.schema_facts import part_of, required_of
from tuvl.analysis.steps import text
from tuvl.analysis.surroundings import Surroundings
from tuvl.analysis.value_ranges import Known, known_by


def is_approved(use: ToolUse, project: Surroundings) -> bool:
    """Whether a person may be asked before the tool runs, by its entry or by the project's policy."""
    asked = use.entry.get("approval", "never") != "never" and not never_asks(use)
    return asked or asks_by_policy(use.step, use.workflow, project)


def always_asks(use: ToolUse, project: Surroundings) -> bool:
    """Whether a person is asked before every call, whatever arguments the model gives."""
    approval = text(use.entry.get("approval"))
    if approval == "required" or asks_by_policy(use.step, use.workflow, project):
        return True
    return approval is not None and truth(approval, partial(_argument, use)) is True


def never_asks(use: ToolUse) -> bool:
    """Whether the approval of a tool depends on what can never be true, whatever arguments the model gives."""
    condition = text(use.entry.get("approval"))
    return condition is not None and truth(condition, partial(_argument, use)) is False


def asks_at_times(use: ToolUse) -> bool:
    """Whether an expression decides, call by call, if a person is asked."""
    approval = text(use.entry.get("approval"))
    return approval is not None and approval not in ("never", "required") and not never_asks(use)


def _argument(use: ToolUse, path: tuple[str, ...]) -> Known | None:
    """What is known of an argument; nothing of one that may be left out, since its absence asks."""
    names = path[1:] if path[0] == ARGUMENTS else path
    schema: object = use.parameters
    for depth, name in enumerate(names):
        if name not in required_of(schema):
            return None
        schema = part_of(use.parameters, names[: depth + 1])
    return known_by(schema) if names and use.declared and use.checked else None
