"""`Tool`: one thing a model may do; and `@tool`, which says more of a Python function than its hints and docstring."""

import re
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import Literal, TypeAlias, TypeVar, overload

from tuvl.dataclass import dataclass
from tuvl.errors import UsageError
from tuvl.given import able, instance, one_of, positive, text
from tuvl.llm.messages import ToolSpec
from tuvl.principal import Principal
from tuvl.tools.approval import ApprovalRule
from tuvl.tools.schema import ValueSchema, schema_problem
from tuvl.tools.tool import ToolPlan
from tuvl.values import JsonObject, JsonValue

Function = TypeVar("Function", bound=Callable[..., object])

MARK = "__tuvl_tool__"

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What every provider takes as the name of a tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """What a tool may know of the run that called it; a function gets it in a parameter with this type hint."""

    principal: Principal
    """Whom the run is for."""
    abort: threading.Event
    """Set when the run is told to stop: a function that runs long in its thread looks at it."""


ToolFunction: TypeAlias = Callable[[JsonObject, ToolContext], Awaitable[object]]
"""Does what a tool does: gets checked arguments, returns anything that has a JSON form, raises to report a failure."""

Approval: TypeAlias = Literal["never", "required"] | Callable[[JsonObject], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRules:
    """How calls of one tool are handled."""

    effects: Literal["read", "write"] = "write"
    """`write` calls never run side by side, whatever the concurrency."""
    timeout_s: float | None = None
    """Seconds one call may take; default that of the `ToolPolicy`."""
    on_timeout: Literal["fail", "report"] = "fail"
    """Whether a timeout ends the run on `error`, or is reported to the model."""
    max_calls: int | None = None
    """Calls in one run; further ones are answered with a refusal."""
    max_result_chars: int = 8000
    """Longest result the model reads."""
    max_result_bytes: int | None = None
    """The same in bytes of UTF-8."""
    approval: Approval = "never"
    """Which calls somebody must approve first: `never`, `required`, or a function of the arguments."""

    def check(self, where: str) -> None:
        """Raise `UsageError` for a bound that cannot be meant."""
        one_of(where, "effects", self.effects, ("read", "write"))
        one_of(where, "on_timeout", self.on_timeout, ("fail", "report"))
        if self.approval not in ("never", "required") and not callable(self.approval):
            raise UsageError(f"{where}: approval is {self.approval!r}; say 'never', 'required' or give a function")
        positive(where, "timeout_s", self.timeout_s, optional=True)
        positive(where, "max_calls", self.max_calls, whole=True, optional=True)
        positive(where, "max_result_chars", self.max_result_chars, whole=True)
        positive(where, "max_result_bytes", self.max_result_bytes, whole=True, optional=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(ToolRules):
    """One tool, of whatever origin; `Toolbox.from_functions` makes them from Python functions."""

    name: str
    """What the model calls it: letters, digits, `_` and `-`."""
    description: str
    """What the model reads of it."""
    parameters: JsonObject
    """JSON Schema (Draft 2020-12) of its arguments; the root is an object."""
    run: ToolFunction = field(repr=False)
    """Does it."""

    def __post_init__(self) -> None:
        """Refuse what no provider would take."""
        _check_name(self.name)
        where = f"tool {self.name!r}"
        text(where, "description", self.description)
        instance(where, "parameters", self.parameters, Mapping)
        able(where, "run", self.run, "__call__")
        problem = schema_problem(self.parameters)
        if problem is not None:
            raise UsageError(f"{where}: parameters is no JSON Schema: {problem}")
        if self.parameters.get("type") != "object":
            raise UsageError(f"{where}: the root of parameters must be of type 'object'")
        self.check(where)

    @property
    def plan(self) -> ToolPlan:
        """The tool in the engine's words."""
        parameters: JsonObject = {"type": "object", "properties": {}, **self.parameters}
        return ToolPlan(
            ref=self.name,
            kind="Python",
            spec=ToolSpec(name=self.name, description=self.description.strip(), parameters=parameters),
            arguments=ValueSchema(parameters),
            effects=self.effects,
            timeout_s=self.timeout_s,
            on_timeout=self.on_timeout,
            max_calls=self.max_calls,
            max_result_chars=self.max_result_chars,
            max_result_bytes=self.max_result_bytes,
            approval=_rule(self.name, self.approval),
        )


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise UsageError(f"tool {name!r}: a name is 1 to 64 letters, digits, '_' and '-'; give it one with name=…")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Predicate(ApprovalRule):
    """Asks when a Python function says so; one that fails asks too."""

    predicate: Callable[[JsonObject], bool]

    def reason_to_ask(self, arguments: JsonObject, values: Mapping[str, JsonValue]) -> str | None:
        """Return why this call needs approval; `None` when it does not."""
        try:
            needed = self.predicate(dict(arguments))
        except Exception:  # noqa: BLE001 - guest boundary: in doubt a person looks
            return f"{self.reason} (its condition failed)"
        return None if needed is False else self.reason


def _rule(tool: str, approval: Approval) -> ApprovalRule | None:
    if approval == "never":
        return None
    if callable(approval):
        return _Predicate(reason=f"tool {tool!r} asks for approval of such calls", predicate=approval)
    return ApprovalRule(reason=f"tool {tool!r} asks for approval")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolMark(ToolRules):
    """What `@tool` says of a function; `None` leaves it to the function itself."""

    name: str | None = None
    description: str | None = None

    def __post_init__(self) -> None:
        """Refuse what no provider would take, where it is written."""
        if self.name is not None:
            _check_name(self.name)
        if self.description is not None:
            text("@tool", "description", self.description)
        self.check("@tool" if self.name is None else f"tool {self.name!r}")


@overload
def tool(function: Function, /) -> Function: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    effects: Literal["read", "write"] = "write",
    timeout_s: float | None = None,
    on_timeout: Literal["fail", "report"] = "fail",
    max_calls: int | None = None,
    max_result_chars: int = 8000,
    max_result_bytes: int | None = None,
    approval: Approval = "never",
) -> Callable[[Function], Function]: ...


def tool(
    function: Function | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    effects: Literal["read", "write"] = "write",
    timeout_s: float | None = None,
    on_timeout: Literal["fail", "report"] = "fail",
    max_calls: int | None = None,
    max_result_chars: int = 8000,
    max_result_bytes: int | None = None,
    approval: Approval = "never",
) -> Function | Callable[[Function], Function]:
    """Say how a Python function is offered and handled as a tool; the function itself stays as it is.

    Args:
        function: The function, for `@tool` without parentheses.
        name: What the model calls it; default the function's name.
        description: What the model reads of it; default the docstring's text.
        effects: `read` when calls change nothing: only those run side by side.
        timeout_s: Seconds one call may take.
        on_timeout: Whether a timeout ends the run or is reported to the model.
        max_calls: Calls in one run.
        max_result_chars: Longest result the model reads.
        max_result_bytes: The same in bytes of UTF-8.
        approval: Which calls somebody must approve first: `never`, `required`, or a function of the arguments.
    """
    mark = ToolMark(
        name=name,
        description=description,
        effects=effects,
        timeout_s=timeout_s,
        on_timeout=on_timeout,
        max_calls=max_calls,
        max_result_chars=max_result_chars,
        max_result_bytes=max_result_bytes,
        approval=approval,
    )

    def put(marked: Function) -> Function:
        setattr(marked, MARK, mark)
        return marked

    return put if function is None else put(function)
