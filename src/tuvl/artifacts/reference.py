"""References to artifacts (`artifact://name[@version]`), and which site of a document takes which type."""

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

from tuvl.dataclass import dataclass

SCHEME = "artifact://"

ProseType: TypeAlias = Literal["prompt", "steering", "skill"]
StructuredType: TypeAlias = Literal["guardrail", "hook", "mcp"]

PROSE_TYPES: tuple[str, ...] = get_args(ProseType)
"""Types of markdown artifacts."""
STRUCTURED_TYPES: tuple[str, ...] = get_args(StructuredType)
"""Types of `kind: Artifact` documents."""
TYPES = (*PROSE_TYPES, *STRUCTURED_TYPES)
"""All types."""

SITE_TYPES: Mapping[str, tuple[str, ...]] = {
    "system": ("prompt",),
    "prompt": ("prompt",),
    "steering": ("steering", "prompt"),
    "skills": ("skill",),
    "criteria": ("steering",),
    "guardrails": ("guardrail",),
    "hooks": ("hook",),
    "mcp.server": ("mcp",),
}
"""Site of a reference → types of artifact it takes; `criteria` is a judge's."""

MAX_BYTES = 512 * 1024
"""Largest artifact file, in bytes."""

_REFERENCE = re.compile(r"artifact://([A-Za-z0-9][A-Za-z0-9_.-]*)(?:@([1-9][0-9]{0,8}))?")


@dataclass(frozen=True, slots=True)
class ArtifactRef:
    """A reference, read; without a version it means the highest enabled one."""

    name: str
    version: int | None = None

    @classmethod
    def parse(cls, text: str) -> "ArtifactRef | None":
        """Read a reference; `None` when the text is not exactly one."""
        match = _REFERENCE.fullmatch(text)
        if match is None:
            return None
        return cls(match[1], int(match[2]) if match[2] else None)

    def __str__(self) -> str:
        """Return the reference as it is written."""
        return f"{SCHEME}{self.name}" + (f"@{self.version}" if self.version is not None else "")


def is_reference(text: object) -> bool:
    """Tell whether a value sets out to be a reference, well-formed or not."""
    return isinstance(text, str) and text.startswith(SCHEME)
