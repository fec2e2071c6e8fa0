"""`tuvl replay`: compares the record of a durable run with a workflow, and does nothing."""

import asyncio
from pathlib import Path

from tuvl.cli.forking import kept_of
from tuvl.cli.output import json_document
from tuvl.cli.streams import stdout_set_aside, write_stdout
from tuvl.cli.workflow_file import document_of, locate
from tuvl.errors import UsageError
from tuvl.hosting.performing import rehearse
from tuvl.hosting.started import defined, last_definition
from tuvl.project.layout import find_root
from tuvl.values import JsonObject


def replay_run(run_id: str, *, against: str | None, project: str | None) -> int:
    """Print where a workflow first leaves the record; returns the exit code."""
    root = find_root(Path.cwd()) if project is None else Path(project)
    if not root.is_dir():
        raise UsageError(f"--project names {project!r}, which is no folder")
    begun, rows = kept_of(root, run_id)
    started = last_definition(rows, begun)
    if against is None:
        found = defined(root, started)
        index, document = found.project, found.document
    else:
        located = locate(against, project=project)
        index, document = located.project, document_of(located)
    with stdout_set_aside():
        parted = asyncio.run(rehearse(index, document, started, run_id, rows))
    told: JsonObject = {
        "run_id": run_id,
        "workflow": started.workflow,
        "entries": len(rows),
        "divergence": None if parted is None else parted.to_json(),
    }
    return (0 if parted is None else 1) if write_stdout(json_document(told)) else 1
