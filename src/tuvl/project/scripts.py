"""The script of a scripted model, looked at before anything calls the model."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tuvl.analysis.fault import Fault
from tuvl.analysis.steps import mapping
from tuvl.errors import UsageError
from tuvl.project.loading import display_name, read_file
from tuvl.source.document import Document
from tuvl.source.loading import load_data
from tuvl.spec.shape import shape_problems
from tuvl.values import JsonValue

SCRIPTED = "scripted"


def script_of(preset: Document) -> Path | None:
    """Return the path of the script that a `kind: AgentModel` names; `None` for any other document."""
    spec = mapping(mapping(preset.data).get("spec"))
    script = spec.get("script")
    if preset.kind != "AgentModel" or spec.get("provider") != SCRIPTED or not isinstance(script, str) or not script:
        return None
    return Path(os.path.abspath(preset.file)).parent / script


def script_faults(preset: Document) -> Iterator[Fault]:
    """What keeps a `kind: AgentModel` with `provider: scripted` from answering; nothing for other providers."""
    spec = mapping(mapping(preset.data).get("spec"))
    if spec.get("provider") != SCRIPTED:
        return
    script = spec.get("script")
    if script is None and spec.get("replies") is None:
        message = "a scripted model needs `script` or `replies`, and has neither"
        yield Fault(("spec",), message, "write `replies:` with one text for each call", at_key=True)
    else:
        path = script_of(preset)
        problem = None if path is None else _problem_of_script(path)
        if problem is not None:
            yield Fault(("spec", "script"), f"the script {script!r} cannot be used: {problem}")


def _problem_of_script(path: Path) -> str | None:
    try:
        data = load_data(read_file(path), name=display_name(path))
    except UsageError as error:
        return str(error)
    replies = data.get("replies") if isinstance(data, dict) else data
    if not isinstance(replies, list):
        return "it is no list of replies, and no mapping with `replies`"
    # A file of replies takes what `replies:` takes.
    preset: dict[str, JsonValue] = {"provider": SCRIPTED, "replies": replies}
    document: Any = {"kind": "AgentModel", "metadata": {"name": SCRIPTED}, "spec": preset}
    problem = next(iter(shape_problems(document, kind="AgentModel")), None)
    return None if problem is None else problem.message
