"""How many steps a run may still take: its own bound, and those of the runs around it."""

from collections.abc import Callable

from tuvl.errors import EngineError


class StepCount:
    """Counts the steps of one run, and of those inside it."""

    def __init__(self, bound: int, outer: Callable[[str, int], None] | None = None) -> None:
        """`outer` takes the steps in the run around this one, and refuses those that it has not left."""
        self._bound = bound
        self._outer = outer
        self._taken = 0
        self.refused: EngineError | None = None
        """Why the last request for steps was refused, if one was."""

    def take(self, step_id: str, times: int = 1) -> None:
        """Count executions of a step that are about to begin, all or none.

        Raises `EngineError` when they would be too many.
        """
        if self._taken + times > self._bound:
            self.refused = self._too_many(step_id, times)
            raise self.refused
        if self._outer is not None:
            self._outer(step_id, times)
        self._taken += times

    def _too_many(self, step_id: str, times: int) -> EngineError:
        bound, left = self._bound, self._bound - self._taken
        told = f"the run took {bound} steps and was not done; limits.max_steps is {bound} (next would be {step_id!r})"
        if left:
            told = (
                f"{step_id!r} was to run {times} times, and {left} of {bound} steps were left (limits.max_steps);"
                " none was run"
            )
        return EngineError(told, type="max_steps", step=step_id, detail={"limit": "max_steps", "bound": bound})
