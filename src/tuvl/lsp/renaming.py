"""A step by another name: in its workflow, and in the scenarios that test it."""

import re

from lsprotocol import types

from tuvl.analysis.steps import END
from tuvl.errors import UsageError
from tuvl.lsp.asked import Asked, workflow_of
from tuvl.lsp.mending import edits_for
from tuvl.lsp.overlay import Buffer
from tuvl.lsp.targets import Target, uses_of
from tuvl.source.place import Range
from tuvl.source.rewrite import Replacement

_STEP_ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


def renamed_place(asked: Asked) -> Range | None:
    """The step id at a position, which can be renamed; `None` for anything else."""
    name = asked.name
    return asked.name_place if name is not None and name.role == "step" and _is_known(asked) else None


def _is_known(asked: Asked) -> bool:
    name = asked.name
    if name is None:
        return False
    home = asked.document if name.workflow is None else asked.index.workflow(name.workflow)
    workflow = workflow_of(home)
    return workflow is not None and name.text in workflow.by_id


def places_to_rename(asked: Asked, new: str) -> list[Target]:
    """Every place of a step's id; raises `UsageError` when the step cannot be called so."""
    name = asked.name
    if name is None or renamed_place(asked) is None:
        raise UsageError("only ids of steps can be renamed")
    if _STEP_ID.fullmatch(new) is None or new == END:
        raise UsageError(f"{new!r} is no step id: a letter, then letters, digits, '_' or '-', and not {END}")
    home = asked.document if name.workflow is None else asked.index.workflow(name.workflow)
    workflow = workflow_of(home)
    if workflow is not None and new in workflow.by_id and new != name.text:
        raise UsageError(f"there is a step {new!r} already")
    return uses_of(name, asked)


def rename_edits(buffer: Buffer, places: list[Range], new: str) -> list[types.TextEdit]:
    """The edits of one file; raises `UsageError` when not every place can be written anew."""
    edits = edits_for(buffer, [Replacement(place=place, new=new) for place in places])
    lines = {place.start.line for place in places}
    if {edit.range.start.line + 1 for edit in edits} != lines:
        raise UsageError("the file cannot be rewritten as it stands; mend its errors first")
    return edits
