"""The context of one run: public keys, engine keys, and the bound on their size.

Values in it are never changed in place: a delta replaces whole keys, by values of its own. So a snapshot costs nothing,
and whoever holds one keeps seeing what it saw.
"""

from collections.abc import Mapping

from tuvl.dataclass import dataclass
from tuvl.errors import StepError
from tuvl.redaction import redact_json
from tuvl.steps.base import StepFailure
from tuvl.values import JsonObject, JsonValue, NotJsonError, json_size, to_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """A delta that fits, and the sizes of its entries in bytes."""

    delta: Mapping[str, JsonValue]
    sizes: Mapping[str, int]


class RunContext:
    """What steps read and change. `max_bytes` bounds the public keys, written as compact JSON."""

    def __init__(self, initial: JsonObject, *, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._public: dict[str, JsonValue] = dict(initial)
        self._engine: dict[str, JsonValue] = {}
        self._sizes = {key: _entry_size(key, value) for key, value in initial.items()}
        self._size = sum(self._sizes.values())
        self._values: dict[str, JsonValue] | None = None

    @property
    def public(self) -> Mapping[str, JsonValue]:
        """The public keys; its values are shared."""
        return self._public

    @property
    def values(self) -> Mapping[str, JsonValue]:
        """Public and engine keys as they are now; later changes make a new mapping."""
        if self._values is None:
            self._values = {**self._public, **self._engine}
        return self._values

    @property
    def size(self) -> int:
        """Bytes of the public keys as one compact JSON object."""
        return object_size(len(self._sizes), self._size)

    def admit(self, delta: Mapping[str, JsonValue]) -> Admitted:
        """Weigh a delta; raises `StepError` when the context would grow past its bound.

        The values must be JSON of their own already (`normalised`).
        """
        sizes = {key: _entry_size(key, value) for key, value in delta.items()}
        total = self._size + sum(size - self._sizes.get(key, 0) for key, size in sizes.items())
        count = len(self._sizes) + sum(key not in self._sizes for key in sizes)
        if (size := object_size(count, total)) > self._max_bytes:
            largest = max(sizes, key=lambda key: sizes[key])
            raise StepError(
                f"the context would grow to {size} bytes; limits.max_context_bytes is {self._max_bytes}"
                f" (the largest key set by this step is {largest!r})",
                type="context_too_large",
                detail={"limit": "max_context_bytes", "bound": self._max_bytes, "size": size},
            )
        return Admitted(delta=delta, sizes=sizes)

    def apply(self, admitted: Admitted) -> None:
        """Set the public keys of an admitted delta."""
        if not admitted.delta:
            return
        self._size += sum(size - self._sizes.get(key, 0) for key, size in admitted.sizes.items())
        self._sizes.update(admitted.sizes)
        self._public = {**self._public, **admitted.delta}
        self._values = None

    def set_engine_keys(self, keys: Mapping[str, JsonValue]) -> None:
        """Set keys with a leading `_`."""
        if keys:
            self._engine = {**self._engine, **keys}
            self._values = None

    def set_failure(self, step_id: str, failure: StepFailure) -> None:
        """Say in `_last_error*` why a step ended abnormally."""
        self.set_engine_keys(failure_keys(step_id, failure))


def failure_keys(step_id: str, failure: StepFailure) -> dict[str, JsonValue]:
    """Return the `_last_error*` keys of a failure."""
    return {
        "_last_error": failure.message,
        "_last_error_type": failure.type,
        "_last_error_step": step_id,
        "_last_error_detail": failure.detail,
    }


def normalised(delta: Mapping[str, object]) -> dict[str, JsonValue]:
    """Return a delta as JSON that shares nothing with what the step still holds.

    Raises `StepError` for a value without a JSON form and for a key that belongs to the engine.
    """
    clean: dict[str, JsonValue] = {}
    for key, value in delta.items():
        if not isinstance(key, str):
            raise StepError(f"a step set the context key {key!r}; context keys are strings", type="bad_result")
        if key.startswith("_"):
            raise StepError(
                f"a step set the context key {key!r}; keys with a leading '_' belong to the engine", type="reserved_key"
            )
        try:
            # A service that echoes a credential must not carry it into the context, and so to a model or a log.
            clean[key] = redact_json(to_json(value, where=key))
        except NotJsonError as error:
            raise StepError(f"the context key {error}", type="bad_result", detail={"key": key}) from error
    return clean


def object_size(count: int, entries: int) -> int:
    """Size of a compact JSON object of `count` entries, `entries` bytes in all: braces and commas come on top."""
    return entries + 2 + max(0, count - 1)


def _entry_size(key: str, value: JsonValue) -> int:
    return json_size(key) + 1 + json_size(value)
