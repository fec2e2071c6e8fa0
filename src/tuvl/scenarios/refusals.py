"""What a scenario would have done to the world, had it been let, and the questions that it does not answer."""

from dataclasses import field

from tuvl.dataclass import dataclass
from tuvl.values import KeyPath

_WHOLE: KeyPath = ("spec",)


@dataclass(slots=True)
class Refusals:
    """The steps and models that the scenario keeps from going on, each told once, in the order they came up."""

    messages: dict[str, KeyPath] = field(default_factory=dict)
    """What is told → its place in the scenario."""

    def add(self, message: str, path: KeyPath = _WHOLE) -> str:
        """Note a refusal, and return it."""
        self.messages.setdefault(message, path)
        return message
