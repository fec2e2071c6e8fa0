"""The JSON Schemas that ship with tuvl, one a document kind; imports nothing heavy."""

import json
from functools import cache
from pathlib import Path
from typing import Any

KINDS: tuple[str, ...] = (
    "Workflow",
    "AgentModel",
    "Artifact",
    "ModelDefinition",
    "DataSource",
    "ProjectConfig",
    "WorkflowTest",
)
"""The document kinds, as `kind:` gives them."""

PROSE = "ProseFrontMatter"
"""The schema of a markdown artifact's front matter, which has no `kind:`."""

SCHEMAS = Path(__file__).parent / "schemas"


def schema_path(kind: str) -> Path:
    """Return where the schema of a document kind, or of `PROSE`, is."""
    return SCHEMAS / f"{kind}.json"


@cache
def load_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema of a document kind, or of `PROSE`; the result is shared, so it must not be changed."""
    schema: dict[str, Any] = json.loads(schema_path(kind).read_bytes())
    return schema
