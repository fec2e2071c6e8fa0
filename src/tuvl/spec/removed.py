"""Spellings that other versions of the language had, and what stands for each now; plain data, imports nothing."""

from typing import NamedTuple


class Removed(NamedTuple):
    """A field that is no more, in the definitions named, and what replaces it."""

    definitions: tuple[str, ...]
    field: str
    replacement: str


_AGENTS = ("CompletionAgent", "AutonomousAgent")
_SERVER = "the connection belongs into a `type: mcp` artifact; name it by `server: artifact://name@version`"

REMOVED: tuple[Removed, ...] = (
    Removed(_AGENTS, "goal", "say it in `steering` (`mode: autonomous`) or `prompt` (`mode: completion`)"),
    Removed(_AGENTS, "output", "use `outcome.write`"),
    Removed(_AGENTS, "steering_files", "use `steering: artifact://name@version`"),
    Removed(("Outcome",), "output_key", "use `outcome.write`"),
    Removed(("Outcome",), "signal_from", "list the exits in `outcome.enum`"),
    Removed(("Judge", "LlmJudgeCheck"), "criteria_file", "use `criteria: artifact://name@version`"),
    *(Removed(("McpCall",), field, _SERVER) for field in ("transport", "command", "args", "env", "url", "headers")),
)

REMOVED_KINDS: dict[str, str] = {"AutonomousAgent": "use `kind: Agent` with `mode: autonomous`"}
"""Step kinds that are no more."""


def replacement(definition: str, field: str) -> str | None:
    """Return what stands for a removed field now, or `None` when the field was never one."""
    for entry in REMOVED:
        if entry.field == field and definition in entry.definitions:
            return entry.replacement
    return None
