"""Which keys it takes to go on with a run: who lacks one of them leaves the run alone.

A run is marked with each key that something of it was encrypted with, before that is kept; a mark tells nothing of the
key. A run without marks is in plain text, and anybody's.
"""

from typing import Any

import sqlalchemy as sa

from tuvl.durable.shared_tables import SharedTables
from tuvl.sealing import Keys

ASIDE = "aside"
"""Mark of a run that somebody with all its keys could not open: somebody has changed it, and nobody takes it."""


def lacking(tables: SharedTables, run_id: str, keys: Keys) -> sa.Select[Any]:
    """Return the question for the marks of a run that are none of our keys."""
    seals = tables.seals
    return sa.select(seals.c.mark).where(seals.c.run_id == run_id, seals.c.mark.not_in(keys.marks))


def unmarking(tables: SharedTables, run_id: str, keys: Keys) -> sa.Delete:
    """Return the statement that takes all marks away that are none of our keys."""
    seals = tables.seals
    return sa.delete(seals).where(seals.c.run_id == run_id, seals.c.mark.not_in(keys.marks))


def openable(tables: SharedTables, workflows: sa.FromClause, keys: Keys) -> sa.ColumnElement[bool]:
    """Return the condition that a run takes no key which we do not have; `workflows` is the table of runs."""
    seals = tables.seals
    foreign = (seals.c.run_id == workflows.c.workflow_uuid, seals.c.mark.not_in(keys.marks))
    return ~sa.exists(sa.select(seals.c.run_id).where(*foreign).correlate(workflows))
