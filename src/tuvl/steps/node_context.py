"""What a node gets to see: its own copy of the context, key by key as it looks."""

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

from tuvl.errors import StepError
from tuvl.principal import Principal
from tuvl.tools.batch import ALONE, Place
from tuvl.values import JsonObject, JsonValue, copy_json


class _BatchFacts:
    """Where a call stands among the calls of its reply."""

    __slots__ = ("_place",)

    def __init__(self, place: Place) -> None:
        self._place = place

    @property
    def index(self) -> int:
        """Position of this call in the reply, from 0."""
        return self._place.index

    @property
    def size(self) -> int:
        """How many calls the reply has."""
        return self._place.size


class Batch(_BatchFacts):
    """What an async node sees of the calls beside its own."""

    __slots__ = ()

    async def wait_for_predecessors(self) -> None:
        """Wait until every earlier call of the reply is over: answered, refused or failed."""
        await self._place.wait()


class BlockingBatch(_BatchFacts):
    """What a node in a thread sees of the calls beside its own."""

    __slots__ = ()

    def wait_for_predecessors(self) -> None:
        """Wait until every earlier call of the reply is over: answered, refused or failed."""
        self._place.wait_in_thread()


class NodeContext(Mapping[str, JsonValue]):
    """The public context as a mapping, every value a copy: changing one, at any depth, changes nothing else.

    A tool call's arguments are laid over it. Engine keys such as `_last_error` can be read by name and are not listed.
    """

    __slots__ = ("_args", "_copies", "_hidden", "_open_session", "_params", "_values", "abort", "batch", "principal")

    def __init__(
        self,
        values: Mapping[str, JsonValue],
        *,
        params: JsonValue,
        args: JsonObject | None,
        principal: Principal,
        abort: threading.Event,
        batch: "Batch | BlockingBatch | None" = None,
        open_session: Callable[[], object] | None = None,
    ) -> None:
        self._values = values
        self._copies: dict[str, JsonValue] = {}
        self._params = params
        self._args = args
        self._open_session = open_session
        self._hidden = None if args is None else "args"
        self.principal = principal
        """Who the run acts for."""
        self.batch = batch or Batch(ALONE)
        """The calls of the reply that this call came in; a call alone when the node was not called as a tool."""
        self.abort = abort
        """Set when the run is told to stop; a long loop in a thread should look at it."""

    @property
    def params(self) -> JsonObject:
        """The step's `params`, rendered."""
        return self._own("\0params", self._params if isinstance(self._params, dict) else {})

    @property
    def args(self) -> JsonObject:
        """The arguments of the tool call; empty when the step was not called as a tool."""
        return self._own("\0args", self._args or {})

    @property
    def session(self) -> Any:
        """The database session, in the transaction of the step, for projects with a data source.

        An `async` node awaits its calls: it is SQLAlchemy's `AsyncSession`, which the engine commits. In another node
        `execute`, `scalar` and `scalars` wait for their result.
        """
        if self._open_session is None:
            raise StepError("ctx.session is not available: this project has no data source", type="not_available")
        return self._open_session()

    def __getitem__(self, key: str) -> JsonValue:
        if key in self._copies:
            return self._copies[key]
        value = copy_json(self._values[key])
        self._copies[key] = value
        return value

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __iter__(self) -> Iterator[str]:
        return (key for key in self._values if not key.startswith("_") and key != self._hidden)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __setitem__(self, key: str, value: object) -> NoReturn:
        raise TypeError(f"a node does not set ctx[{key!r}]; it returns {{{key!r}: …}} instead")

    def __repr__(self) -> str:
        return f"<context with {', '.join(self) or 'no keys'}>"

    def _own(self, slot: str, value: JsonObject) -> JsonObject:
        copy = self._copies.get(slot)
        if not isinstance(copy, dict):
            copy = {key: copy_json(item) for key, item in value.items()}
            self._copies[slot] = copy
        return copy
