"""`@dataclass`, made in a quarter of the time that the standard library takes, whose fields and helpers it keeps.

A command imports hundreds of dataclasses, and `dataclasses.dataclass` compiles up to six methods of each: that was a
third of the time of a short command. Here `__init__` alone is compiled; the others are closures over the names of the
fields. They do what those of the standard library do, and `fields`, `replace` and `asdict` take such a class as any.
"""

import dataclasses
from collections.abc import Callable, Sequence
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

Field = dataclasses.Field[Any]
Method = Callable[..., Any]

_MISSING = dataclasses.MISSING


def _made(plain: type[Any], *, frozen: bool, slots: bool, kw_only: bool) -> type[Any]:
    plain.__doc__ = plain.__doc__ or plain.__qualname__  # or one is made, from a long look at its signature
    made: type[Any] = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(plain)
    fields = dataclasses.fields(made)
    values = _values([field.name for field in fields if field.compare])
    methods: dict[str, Method | None] = {
        "__init__": _init(made, fields, frozen=frozen),
        "__repr__": _repr,
        "__eq__": _equality(values),
        "__hash__": _hash(values) if frozen else None,
    }
    if frozen:
        names = frozenset(field.name for field in fields)
        methods |= {"__setattr__": _no_setting(made, names), "__delattr__": _no_deleting(made, names)}
    if frozen and slots:
        methods |= {"__getstate__": _getstate, "__setstate__": _setstate}
    for name, method in methods.items():
        if made.__dict__.get(name) is None:  # what the class defines stays; beside `__eq__`, Python puts no hash
            setattr(made, name, method)
    return made


def _init(made: type[Any], fields: Sequence[Field], *, frozen: bool) -> Method:
    scope: dict[str, Any] = {"__set": object.__setattr__, "__left_out": _LEFT_OUT}
    for field in fields:
        scope[f"__default_{field.name}"] = field.default if field.default_factory is _MISSING else field.default_factory
    taken = [field for field in fields if field.init]
    anywhere = [_parameter(field) for field in taken if not field.kw_only]
    by_name = [_parameter(field) for field in taken if field.kw_only]
    parameters = ["self", *anywhere, *(["*", *by_name] if by_name else [])]
    assign = "__set(self, '{0}', {1})" if frozen else "self.{0} = {1}"
    body = [assign.format(field.name, value) for field in fields if (value := _value(field))]
    if hasattr(made, "__post_init__"):
        body.append("self.__post_init__()")
    exec(f"def __init__({', '.join(parameters)}):\n " + ("\n ".join(body) or "pass"), scope)
    init: Method = scope["__init__"]
    init.__qualname__ = f"{made.__qualname__}.__init__"
    init.__annotations__ = {field.name: field.type for field in taken} | {"return": None}
    return init


def _parameter(field: Field) -> str:
    if field.default_factory is not _MISSING:
        return f"{field.name}=__left_out"
    return field.name if field.default is _MISSING else f"{field.name}=__default_{field.name}"


def _value(field: Field) -> str | None:
    """The expression of what a field is set to; `None` when it is left to `__post_init__`."""
    if field.default_factory is not _MISSING:
        made = f"__default_{field.name}()"
        return f"{made} if {field.name} is __left_out else {field.name}" if field.init else made
    if field.init:
        return field.name
    return None if field.default is _MISSING else f"__default_{field.name}"


class _LeftOut:
    """Stands for what the caller left out and a factory makes; its text is what a signature shows."""

    def __repr__(self) -> str:
        return "<factory>"


_LEFT_OUT = _LeftOut()


def _values(names: Sequence[str]) -> Callable[[Any], tuple[object, ...]]:
    match names:
        case []:
            return lambda self: ()
        case [name]:
            return lambda self: (getattr(self, name),)
        case _:
            return attrgetter(*names)


@recursive_repr()
def _repr(self: Any) -> str:
    shown = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{type(self).__qualname__}({shown})"


def _equality(values: Callable[[Any], tuple[object, ...]]) -> Method:
    def equal(self: Any, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return equal


def _hash(values: Callable[[Any], tuple[object, ...]]) -> Method:
    return lambda self: hash(values(self))


def _no_setting(made: type[Any], names: frozenset[str]) -> Method:
    def set_attribute(self: Any, name: str, value: object) -> None:
        if type(self) is made or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(made, self).__setattr__(name, value)

    return set_attribute


def _no_deleting(made: type[Any], names: frozenset[str]) -> Method:
    def delete_attribute(self: Any, name: str) -> None:
        if type(self) is made or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(made, self).__delattr__(name)

    return delete_attribute


def _getstate(self: Any) -> list[object]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _setstate(self: Any, state: Sequence[object]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


if TYPE_CHECKING:  # a type checker sees the standard decorator: it knows what that makes of a class
    from dataclasses import dataclass as dataclass
else:

    def dataclass(
        cls: type | None = None, /, *, frozen: bool = False, slots: bool = False, kw_only: bool = False
    ) -> type | Callable[[type], type]:
        """Make a dataclass, with these options and all sorts of fields but `InitVar`."""

        def make(plain: type) -> type:
            return _made(plain, frozen=frozen, slots=slots, kw_only=kw_only)

        return make if cls is None else make(cls)
