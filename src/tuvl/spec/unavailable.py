"""What can be written and not be run yet: the one table. Imports nothing, so that the quick checks read it too."""

from collections.abc import Mapping

KINDS: Mapping[str, str] = {
    "HumanInTheLoop": "questions to a person",
}
"""Step kind → what it stands for."""

WORKFLOW_FIELDS: Mapping[str, object] = {}
"""Field of `spec:` → the value with which it asks for nothing."""
