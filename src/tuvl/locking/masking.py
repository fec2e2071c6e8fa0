"""What is locked of a document: all it says, and no secret that stands in it."""

from tuvl.analysis.credentials import masked_text, masked_value
from tuvl.values import JsonValue

MASK = "(secret)"
"""What stands in the lock for a secret."""


def without_secrets(data: JsonValue) -> JsonValue:
    """Return a copy with every credential masked, and every variable left as it is written."""
    return masked_value(data, (), lambda text, names: masked_text(text, names, MASK))
