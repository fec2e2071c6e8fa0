"""A Python function with type hints and a docstring → a `Tool`."""

import asyncio
import functools
import inspect
import typing
from collections.abc import Callable, Iterator, Mapping

from tuvl.dataclass import dataclass
from tuvl.errors import StepError, UsageError
from tuvl.library.docstrings import Described, read_docstring
from tuvl.library.tool import MARK, Tool, ToolContext, ToolMark
from tuvl.library.typed import NotOfTypeError, NotTypableError, TypedField, TypedFields
from tuvl.steps.threads import run_in_thread
from tuvl.values import JsonObject, JsonValue

_Kind = inspect.Parameter


def tool_from_function(function: Callable[..., object]) -> Tool:
    """Make a tool; raises `UsageError` naming the function and the parameter that a model could not be told of."""
    if not callable(function):
        raise UsageError(f"{function!r} is no function; tools are functions, or `Tool` objects")
    inner = _innermost(function)
    mark = _mark(function, inner)
    name = mark.name or getattr(inner, "__name__", None) or type(inner).__name__
    called = _called(inner)
    described = read_docstring(called.__doc__ if called.__doc__ is not None else inner.__doc__)
    description = mark.description or described.text
    if not description:
        raise UsageError(
            f"tool {name!r} has no description: write a docstring that says what it does, or use @tool(description=…)"
        )
    parameters = _parameters(function, called, name)
    return Tool(
        name=name,
        description=description,
        parameters=_schema(parameters.fields, described),
        run=_Runner(function, parameters, waits=inspect.iscoroutinefunction(called)),
        effects=mark.effects,
        timeout_s=mark.timeout_s,
        on_timeout=mark.on_timeout,
        max_calls=mark.max_calls,
        max_result_chars=mark.max_result_chars,
        max_result_bytes=mark.max_result_bytes,
        approval=mark.approval,
    )


def _innermost(function: Callable[..., object]) -> Callable[..., object]:
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _mark(function: Callable[..., object], inner: Callable[..., object]) -> ToolMark:
    for candidate in (function, inner):
        mark = getattr(candidate, MARK, None)
        if isinstance(mark, ToolMark):
            return mark
    return ToolMark()


def _called(function: Callable[..., object]) -> Callable[..., object]:
    """Return what holds the hints: the function or method itself, or the `__call__` of an object."""
    if inspect.isroutine(function) or inspect.isclass(function):
        return function
    return typing.cast(Callable[..., object], type(function).__call__)


@dataclass(frozen=True, slots=True)
class _Parameters:
    """What a function takes: from the model, and from the run."""

    fields: TypedFields
    positional: tuple[str, ...]
    context: str | None


def _parameters(function: Callable[..., object], called: Callable[..., object], tool: str) -> _Parameters:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        raise UsageError(f"tool {tool!r}: Python does not tell what parameters it takes; wrap it in a def") from None
    hints = _hints(called, tool)
    bound = _bound_keywords(function)
    fields: dict[str, TypedField] = {}
    positional: list[str] = []
    context: str | None = None
    for parameter in signature.parameters.values():
        if parameter.name in bound:
            continue
        if hints.get(parameter.name) is ToolContext:
            context = parameter.name
            continue
        _check_kind(parameter, hints, tool)
        if parameter.kind is _Kind.POSITIONAL_ONLY:
            positional.append(parameter.name)
        optional = parameter.default is not _Kind.empty
        fields[parameter.name] = TypedField(
            hint=hints[parameter.name], optional=optional, default=parameter.default if optional else None
        )
    try:
        return _Parameters(TypedFields(fields), tuple(positional), context)
    except NotTypableError as error:
        which = f"parameter {error.name!r}" if error.name else "its parameters"
        raise UsageError(f"tool {tool!r}: {which} cannot be described to a model: {error}") from error


def _hints(called: Callable[..., object], tool: str) -> Mapping[str, object]:
    try:
        return typing.get_type_hints(called, include_extras=True)
    except NameError as error:
        raise UsageError(
            f"tool {tool!r}: the name {error.name!r} in its type hints is not known where it is defined; "
            "define or import it at the top of the module"
        ) from error
    except TypeError as error:
        raise UsageError(f"tool {tool!r}: a type hint is no type: {error}") from error


def _bound_keywords(function: Callable[..., object]) -> frozenset[str]:
    """Names that a `functools.partial` gave already: they are not the model's to choose."""
    names: set[str] = set()
    while isinstance(function, functools.partial):
        names |= function.keywords.keys()
        function = function.func
    return frozenset(names)


def _check_kind(parameter: inspect.Parameter, hints: Mapping[str, object], tool: str) -> None:
    which = f"tool {tool!r}: parameter {parameter.name!r}"
    if parameter.kind in {_Kind.VAR_POSITIONAL, _Kind.VAR_KEYWORD}:
        stars = "*" if parameter.kind is _Kind.VAR_POSITIONAL else "**"
        raise UsageError(f"{which} is {stars}{parameter.name}; name each parameter, so that a model can be told of it")
    if parameter.name.startswith("_"):
        raise UsageError(f"{which} starts with '_', which no argument of a model may; rename it")
    if parameter.name not in hints:
        raise UsageError(f"{which} has no type hint; write one, such as `{parameter.name}: str`")


def _schema(fields: TypedFields, described: Described) -> JsonObject:
    """Return the schema of the arguments, with what the docstring says of those that say nothing themselves."""
    properties = fields.schema["properties"]
    if not isinstance(properties, dict):
        return fields.schema
    return {**fields.schema, "properties": dict(_described(properties, described))}


def _described(properties: JsonObject, described: Described) -> Iterator[tuple[str, JsonValue]]:
    for name, schema in properties.items():
        said = described.arguments.get(name)
        if said and isinstance(schema, dict) and "description" not in schema:
            yield name, {**schema, "description": said}
        else:
            yield name, schema


class _Runner:
    """Calls a function with typed arguments: an async one here, another one in a thread."""

    def __init__(self, function: Callable[..., object], parameters: _Parameters, *, waits: bool) -> None:
        self._function = function
        self._parameters = parameters
        self._waits = waits

    async def __call__(self, arguments: JsonObject, context: ToolContext) -> object:
        """Call it; raises what it raises, and a `StepError` for arguments that are not of their type."""
        try:
            named = self._parameters.fields.read(arguments)
        except NotOfTypeError as error:
            raise StepError(str(error), type="invalid_arguments") from None
        if self._parameters.context is not None:
            named[self._parameters.context] = context
        positional = [named.pop(name) for name in self._parameters.positional if name in named]
        call = functools.partial(self._function, *positional, **named)
        returned = call() if self._waits else await run_in_thread(lambda: _called_in_thread(call))
        return await returned if inspect.isawaitable(returned) else returned


def _called_in_thread(call: Callable[[], object]) -> object:
    try:
        return call()
    except Exception as error:
        if isinstance(error, StopIteration):  # it would end the coroutine that waits, not fail it
            raise RuntimeError("the function raised StopIteration") from error
        raise
    except asyncio.CancelledError as error:
        # In a thread of its own a cancellation can only be the function's, and must not look like the run's.
        raise StepError("the function cancelled itself", type="cancelled") from error
