"""How many steps a run may still take: its own bound, and those of the runs around it."""

from tuvl.errors import EngineError


class StepCount:
    """Counts the steps of one run, and of those inside it."""

    def __init__(self, bound: int, outer: "StepCount | None" = None) -> None:
        self._bound = bound
        self._outer = outer
        self._taken = 0

    def take(self, step_id: str) -> None:
        """Count a step that is about to run; raises `EngineError` when it would be one too many."""
        if self._taken >= self._bound:
            raise EngineError(
                f"the run took {self._bound} steps and was not done; limits.max_steps is {self._bound}"
                f" (next would be {step_id!r})",
                type="max_steps",
                step=step_id,
                detail={"limit": "max_steps", "bound": self._bound},
            )
        if self._outer is not None:
            self._outer.take(step_id)
        self._taken += 1
