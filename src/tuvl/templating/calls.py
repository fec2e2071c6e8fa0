"""One use of a filter or test: its value, its arguments, and the checks they share."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from tuvl.dataclass import dataclass
from tuvl.errors import TemplateError
from tuvl.templating.budget import Rendering
from tuvl.templating.lookup import Value, kind_of, member, require, to_text
from tuvl.values import JsonValue


@dataclass(frozen=True, slots=True)
class Call:
    """What a filter or test gets; its methods raise `TemplateError` for an argument of the wrong kind."""

    name: str
    rendering: Rendering
    value: JsonValue
    arguments: Mapping[str, JsonValue]

    def fail(self, message: str) -> TemplateError:
        """Make an error that names the filter or test."""
        return TemplateError(f"{self.name!r} {message}")

    @property
    def subject(self) -> str:
        """The value as text."""
        return self.as_text(self.value)

    def as_text(self, value: JsonValue) -> str:
        """Write a value as text, within the budget."""
        if isinstance(value, list | dict):
            self.rendering.walk(value)
        text = to_text(value)
        self.rendering.work(1 + len(text) // 16)
        return text

    def produce(self, text: str) -> str:
        """Account for a text that is the result."""
        self.rendering.write(len(text))
        return text

    @property
    def items(self) -> list[JsonValue]:
        """The value as a list: a list itself, or the keys of a mapping."""
        if isinstance(self.value, list):
            self.rendering.work(1 + len(self.value))
            return self.value
        if isinstance(self.value, dict):
            self.rendering.work(1 + len(self.value))
            return list(self.value)
        raise self.fail(f"needs a list, not {kind_of(self.value)}")

    @property
    def number(self) -> int | float:
        """The value as a number."""
        if isinstance(self.value, int | float) and not isinstance(self.value, bool):
            return self.value
        raise self.fail(f"needs a number, not {kind_of(self.value)}")

    def has(self, parameter: str) -> bool:
        """Whether an argument was given."""
        return parameter in self.arguments

    def get(self, parameter: str, default: JsonValue = None) -> JsonValue:
        """Return an argument as it is."""
        return self.arguments.get(parameter, default)

    def text(self, parameter: str, default: str = "") -> str:
        """Return an argument that must be text."""
        value = self.arguments.get(parameter, default)
        if isinstance(value, str):
            return value
        raise self.fail(f"needs text as `{parameter}`, not {kind_of(value)}")

    def integer(self, parameter: str, default: int, *, least: int = 0, most: int = 1_000_000) -> int:
        """Return an argument that must be a whole number within bounds."""
        value = self.arguments.get(parameter, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.fail(f"needs a whole number as `{parameter}`, not {kind_of(value)}")
        if not least <= value <= most:
            raise self.fail(f"needs `{parameter}` between {least} and {most:,}")
        return value

    def flag(self, parameter: str, default: bool = False) -> bool:
        """Return an argument that must be true or false."""
        value = self.arguments.get(parameter, default)
        if isinstance(value, bool):
            return value
        raise self.fail(f"needs true or false as `{parameter}`, not {kind_of(value)}")

    def attribute_of(self, item: JsonValue, attribute: JsonValue) -> JsonValue:
        """Follow a dotted path (or an index) from an item."""
        return require(reach(item, attribute, self.fail))


def reach(item: JsonValue, attribute: JsonValue, fail: Callable[[str], TemplateError]) -> Value:
    """Follow a dotted path, given as text or as an index, from an item of a list."""
    if isinstance(attribute, bool) or not isinstance(attribute, str | int):
        raise fail(f"needs text as `attribute`, not {kind_of(attribute)}")
    segments: Iterable[str | int] = attribute.split(".") if isinstance(attribute, str) else (attribute,)
    value: Value = item
    written = "item"
    for segment in segments:
        value = member(value, segment, written)
        written = f"{written}.{segment}"
    return value


Apply: TypeAlias = Callable[[Call], JsonValue]


@dataclass(frozen=True, slots=True)
class Operation:
    """A filter or test: its parameters, how many of them are required, and what it does.

    With `more` any number of further arguments may follow, as the list `more`.
    """

    parameters: tuple[str, ...]
    required: int
    more: bool
    apply: Apply


class Registry:
    """A closed table of operations, filled where they are defined."""

    def __init__(self) -> None:
        self.table: dict[str, Operation] = {}

    def add(self, *names: str, takes: str = "") -> Callable[[Apply], Apply]:
        """Register a function; `takes` lists its parameters, `?` marks those that may be left out, `*` more of them."""
        words = takes.split()
        more = "*" in words
        parameters = tuple(word.rstrip("?") for word in words if word != "*")
        required = sum(not word.endswith("?") for word in words if word != "*")

        def register(apply: Apply) -> Apply:
            for name in names:
                self.table[name] = Operation(parameters, required, more, apply)
            return apply

        return register
