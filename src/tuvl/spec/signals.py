"""Reserved exits and signal names: the only list. Imports nothing heavy."""

from enum import StrEnum

DEFAULT = "default"
"""The signal of a step that went well and has nothing else to say."""

ERROR = "error"
"""The signal of a step that failed."""

END = "END"
"""The route target that ends a run."""


class Reserved(StrEnum):
    """Exits that the engine takes on behalf of an agent; an author's `outcome.enum` may not use them."""

    MAX_ITERATIONS = "max_iterations"
    BUDGET_EXCEEDED = "budget_exceeded"
    ERROR = "error"
    ABORTED = "aborted"
    GUARDRAIL_VIOLATION = "guardrail_violation"


RESERVED_EXITS: frozenset[str] = frozenset(exit.value for exit in Reserved)
"""The reserved exits as plain strings."""
