"""What is served to MCP clients, in our own words: named tools, and how one is called."""

from collections.abc import Sequence
from typing import Protocol

from tuvl.dataclass import dataclass
from tuvl.values import JsonObject, JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedTool:
    """One tool as clients see it. `schema` is the JSON Schema of its arguments; its root is an object."""

    name: str
    description: str
    schema: JsonObject
    read_only: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedReply:
    """The result of a call: a text for models, the same as an object when it is one, and whether the tool failed."""

    text: str
    structured: JsonObject | None = None
    failed: bool = False


class Offering(Protocol):
    """A closed set of tools that is served."""

    @property
    def tools(self) -> Sequence[OfferedTool]:
        """The tools, in a fixed order."""
        ...

    async def call(self, name: str, arguments: JsonValue) -> OfferedReply:
        """Call one of the tools; what goes wrong is a reply that failed. Raises `KeyError` for an unknown name."""
        ...
