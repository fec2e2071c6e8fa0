"""Hooks, compiled: what observes a step or a run."""

from typing import Literal, TypeAlias

from tuvl.dataclass import dataclass

HookEventName: TypeAlias = Literal["before_step", "after_step", "before_tool", "after_tool", "on_error", "on_stop"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HookPlan:
    """A hook artifact: `name@version`, when it fires and what it does; `target` is the APICall step of a `notify`."""

    artifact: str
    on: HookEventName
    action: Literal["log", "metric", "notify"]
    target: str | None = None
