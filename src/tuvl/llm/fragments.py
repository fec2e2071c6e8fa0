"""Tool calls of a streamed reply, put together from their fragments by identity: the index, then the id."""

import json
from collections.abc import Iterator
from dataclasses import field

from tuvl.dataclass import dataclass
from tuvl.llm.parts import joined
from tuvl.values import JsonObject, JsonValue

_READ_HERE = frozenset({"function", "id", "index", "type"})


@dataclass(slots=True)
class _Call:
    """One call that is being written."""

    index: int | None
    id: str = ""
    name: str = ""
    texts: list[str] = field(default_factory=list)
    decoded: JsonValue = None
    parts: JsonObject = field(default_factory=dict)
    announced: bool = False

    @property
    def begun(self) -> bool:
        """Whether its arguments have begun, so that its name is whole."""
        return self.decoded is not None or any(self.texts)

    @property
    def arguments(self) -> JsonValue:
        """What came of the arguments; `None` when nothing did."""
        return "".join(self.texts) if self.texts else self.decoded

    @property
    def whole(self) -> bool:
        """Whether its arguments are one JSON value already."""
        try:
            json.loads("".join(self.texts))
        except (ValueError, RecursionError):
            return self.decoded is not None
        return True

    def add(self, fragment: JsonObject) -> None:
        """Take one fragment in."""
        call_id = fragment.get("id")
        if isinstance(call_id, str):
            self.id = self.id or call_id
        function = _function(fragment)
        name, arguments = function.get("name"), function.get("arguments")
        if isinstance(name, str) and name:
            self._add_name(name)
        if isinstance(arguments, str):
            self.texts.append(arguments)
        elif arguments is not None:
            self.decoded = arguments
        if "function" in fragment:
            for key, value in fragment.items():
                if key not in _READ_HERE and value is not None:
                    self.parts[key] = joined(self.parts.get(key), value, key)

    def _add_name(self, name: str) -> None:
        if name.startswith(self.name):  # the first piece, the same name again, or all of it so far
            self.name = name
        elif not self.begun:
            self.name += name

    def to_wire(self) -> JsonObject:
        """Return the call as a reply that came whole would hold it."""
        wire: JsonObject = {**self.parts, "id": self.id, "function": {"name": self.name, "arguments": self.arguments}}
        if self.index is not None:
            wire["index"] = self.index
        return wire


class CallFragments:
    """The calls of one reply, in the order in which they began."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._by_id: dict[str, _Call] = {}

    def add(self, fragment: JsonObject) -> Iterator[str]:
        """Take one fragment in; yields the names that are whole by now and were not before."""
        call = self._find(fragment)
        if call is None:
            yield from self.names()  # another call begins, so those before it have all of their names
            call = self._begin(fragment)
        call.add(fragment)
        if call.id:
            self._by_id.setdefault(call.id, call)
        if call.begun:
            yield from _announced(call)

    def names(self) -> Iterator[str]:
        """Yield the names not yielded so far, in order."""
        for call in self._calls:
            yield from _announced(call)

    def to_wire(self) -> list[JsonValue]:
        """Return the calls as a reply that came whole would hold them."""
        return [call.to_wire() for call in self._calls]

    def _find(self, fragment: JsonObject) -> _Call | None:
        index, call_id, name = _index(fragment), _text(fragment.get("id")), _text(_function(fragment).get("name"))
        known = self._by_id.get(call_id) if call_id else None
        if index is None:
            if call_id:
                return known
            # Neither index nor id: the call that is being written goes on, unless a name says that another begins.
            return self._calls[-1] if self._calls and not name else None
        if known is not None and known.index in {None, index}:
            return known
        call = self._by_index.get(index)
        return None if call is not None and _is_another(call, call_id, name) else call

    def _begin(self, fragment: JsonObject) -> _Call:
        call = _Call(index=_index(fragment))
        self._calls.append(call)
        if call.index is not None:
            self._by_index[call.index] = call
        return call


def _is_another(call: _Call, call_id: str, name: str) -> bool:
    """Whether a fragment with the index of a call begins another: some servers number every call 0.

    Only a fragment with a name begins a call; some servers make up a new id for every fragment.
    """
    if not name or call_id == call.id != "":
        return False
    if call_id and call.id:
        return True
    return call.begun and (name != call.name or call.whole)


def _announced(call: _Call) -> Iterator[str]:
    if call.name and not call.announced:
        call.announced = True
        yield call.name


def _function(fragment: JsonObject) -> JsonObject:
    function = fragment.get("function")
    return function if isinstance(function, dict) else fragment


def _index(fragment: JsonObject) -> int | None:
    index = fragment.get("index")
    return index if isinstance(index, int) and not isinstance(index, bool) else None


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""
