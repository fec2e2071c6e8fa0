"""What a scenario would have done to the world, had it been let."""

from dataclasses import field

from tuvl.dataclass import dataclass


@dataclass(slots=True)
class Refusals:
    """The steps and models that were kept from reaching outside, each told once, in the order they came up."""

    messages: dict[str, None] = field(default_factory=dict)

    def add(self, message: str) -> str:
        """Note a refusal, and return it."""
        self.messages.setdefault(message)
        return message
