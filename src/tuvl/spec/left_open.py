"""What the shape check leaves to rules that say it better, so that one mistake is one finding; plain data.

| where | left | to |
|---|---|---|
| an Agent step | `mode` absent or unknown | TV401 |
| `agent:` | fields of the other mode | TV402 |
| `agent:` of an autonomous step | `tools` absent or empty | TV403 |
| `outcome.enum` | what its entries are | TV406 |
| `agent.guardrails` | which sites there are, and their entries | TV407 |
"""

LEFT_DISCRIMINATORS: frozenset[str] = frozenset({"mode"})
"""Deciding fields whose absence or unknown value another rule reports."""

OTHER_MODE: dict[str, str] = {"CompletionAgent": "AutonomousAgent", "AutonomousAgent": "CompletionAgent"}
"""Definition → the one whose fields it passes over."""

MAY_BE_ABSENT: dict[str, frozenset[str]] = {"AutonomousAgent": frozenset({"tools"})}
"""Definition → required fields whose absence another rule reports."""

MAY_BE_EMPTY: dict[str, frozenset[str]] = {"AutonomousAgent": frozenset({"tools"})}
"""Definition → lists whose emptiness another rule reports."""

OPEN_ENTRIES: dict[str, frozenset[str]] = {
    "Outcome": frozenset({"enum"}),
    "Guardrails": frozenset({"input", "tools", "output"}),
}
"""Definition → lists whose entries are not looked at."""

OPEN_FIELDS: frozenset[str] = frozenset({"Guardrails"})
"""Definitions whose unknown fields another rule reports."""

GIVEN_BY_PROJECT: dict[str, tuple[str, ...]] = {"CompletionAgent": ("model",), "AutonomousAgent": ("model",)}
"""Definition → fields that may be absent only when the project gives a default."""
