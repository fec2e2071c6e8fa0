"""Steps and workflows as views over plain data: they tolerate a broken file, so that every check can speak at once."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, cast

from tuvl.dataclass import dataclass
from tuvl.values import JsonValue, KeyPath

END = "END"
"""The route target that ends a run."""


def mapping(value: object) -> Mapping[str, Any]:
    """Return the value when it is a mapping, else an empty one."""
    return cast(Mapping[str, Any], value) if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    """Return the value when it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text(value: object) -> str | None:
    """Return the value when it is a string, else `None`."""
    return value if isinstance(value, str) else None


@dataclass(frozen=True)
class StepView:
    """One entry of `spec.steps`, whatever state it is in; `path` is its key path in the document."""

    index: int
    path: KeyPath
    data: Mapping[str, Any]

    @cached_property
    def id(self) -> str:
        """The step's id, or a stand-in that no route can name."""
        return text(self.data.get("id")) or f"<step {self.index + 1}>"

    @cached_property
    def kind(self) -> str | None:
        """The step's kind, when it is text."""
        return text(self.data.get("kind"))

    @cached_property
    def routes(self) -> dict[str, str]:
        """Signal → target, entries of the right type only."""
        return {
            signal: target for signal, target in mapping(self.data.get("routes")).items() if isinstance(target, str)
        }

    @cached_property
    def agent(self) -> Mapping[str, Any]:
        """The `agent:` block of an Agent step, else an empty mapping."""
        return mapping(self.data.get("agent")) if self.kind == "Agent" else {}

    @cached_property
    def mode(self) -> str | None:
        """`completion` or `autonomous`, when the step says so."""
        return text(self.data.get("mode"))

    def get(self, *keys: str) -> JsonValue:
        """Follow mapping keys; `None` where the way ends."""
        value: object = self.data
        for key in keys:
            value = mapping(value).get(key)
        return cast(JsonValue, value)


@dataclass(frozen=True)
class WorkflowView:
    """One `kind: Workflow` document, whatever state it is in."""

    data: Mapping[str, Any]

    @property
    def name(self) -> str:
        """`metadata.name`, or a stand-in."""
        return text(mapping(self.data.get("metadata")).get("name")) or "<unnamed>"

    @cached_property
    def spec(self) -> Mapping[str, Any]:
        """The `spec:` block."""
        return mapping(self.data.get("spec"))

    @cached_property
    def steps(self) -> tuple[StepView, ...]:
        """Entries of `spec.steps` that are mappings, in file order."""
        return tuple(
            StepView(index, ("spec", "steps", index), cast(Mapping[str, Any], step))
            for index, step in enumerate(items(self.spec.get("steps")))
            if isinstance(step, dict)
        )

    @cached_property
    def by_id(self) -> dict[str, StepView]:
        """Step id → first step that has it."""
        table: dict[str, StepView] = {}
        for step in self.steps:
            table.setdefault(step.id, step)
        return table
