"""Python functions as tools: what a model is told of them, and what they are handed."""

import asyncio
import dataclasses
import datetime
import enum
import functools
import threading
from decimal import Decimal
from typing import Annotated, Any, Literal, Optional

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from tuvl import AgentLoop, Limits, Principal, Tool, Toolbox, ToolContext, ToolPolicy, UsageError, tool
from tuvl.testing import ScriptedModel, call, calls, reply


class Size(enum.Enum):
    SMALL = "s"
    LARGE = "l"


@dataclasses.dataclass
class Item:
    sku: str
    amount: int = 1


class Address(TypedDict):
    street: str


class Order(BaseModel):
    items: list[Item]


def schema(function) -> dict:
    """The schema of the one tool."""
    return Toolbox.from_functions(function).tools[0].parameters


async def handed(function, arguments: dict, **policy):
    """What the function returned or the model read, for arguments that a model sent."""
    loop = AgentLoop(
        model=lambda: ScriptedModel([calls(Toolbox.from_functions(function).names[0], arguments), reply("done")]),
        tools=[function],
        policy=ToolPolicy(**policy),
    )
    result = await loop.run("go")
    return next(message.content for message in result.messages if message.role == "tool")


def test_a_function_becomes_a_tool_with_its_name_docstring_and_types():
    def refund(number: str, amount: float = 1.5, reason: Optional[str] = None) -> None:  # noqa: UP045 - as people write
        """Pay back.

        Part of it, or all.

        Args:
            number: Order number,
                such as `A-1`.
            amount (float): Euros.
        """

    made = Toolbox.from_functions(refund).tools[0]
    assert (made.name, made.description) == ("refund", "Pay back.\n\nPart of it, or all.")
    assert made.parameters == {
        "type": "object",
        "properties": {
            "number": {"type": "string", "description": "Order number, such as `A-1`."},
            "amount": {"type": "number", "default": 1.5, "description": "Euros."},
            "reason": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        },
        "additionalProperties": False,
        "required": ["number"],
    }


def numpy_style(number: str):
    """Look up.

    Parameters
    ----------
    number : str
        The order number.

    Returns
    -------
    dict
    """


def sphinx_style(number: str):
    """Look up.

    :param str number: The order
        number.
    :returns: the order
    """


@pytest.mark.parametrize("function", [numpy_style, sphinx_style])
def test_other_docstring_styles_are_read(function):
    made = Toolbox.from_functions(function).tools[0]
    assert made.description == "Look up."
    assert made.parameters["properties"]["number"]["description"] == "The order number."


def test_a_description_at_the_type_comes_before_the_docstring():
    def f(number: Annotated[str, Field(description="from the hint", max_length=9)]):
        """Look up.

        Args:
            number: from the docstring
        """

    assert schema(f)["properties"]["number"] == {"type": "string", "maxLength": 9, "description": "from the hint"}


async def test_functions_get_python_values_of_their_types():
    got = {}

    def f(
        item: Item,
        order: Order,
        address: Address,
        size: Size,
        kind: Literal["a", "b"],
        day: datetime.date,
        price: Decimal,
        tags: set[str],
        pair: tuple[int, str],
        anything: Any,
        json: str = "x",
    ):
        """Take all."""
        got.update(locals())

    sent = {
        "item": {"sku": "x"},
        "order": {"items": [{"sku": "y", "amount": 2}]},
        "address": {"street": "z"},
        "size": "l",
        "kind": "b",
        "day": "2030-01-02",
        "price": "1.10",
        "tags": ["t"],
        "pair": [1, "one"],
        "anything": {"a": [1]},
    }
    assert await handed(f, sent) == "null"
    del got["got"]
    assert got == {
        "item": Item("x"),
        "order": Order(items=[Item("y", 2)]),
        "address": {"street": "z"},
        "size": Size.LARGE,
        "kind": "b",
        "day": datetime.date(2030, 1, 2),
        "price": Decimal("1.10"),
        "tags": {"t"},
        "pair": (1, "one"),
        "anything": {"a": [1]},
        "json": "x",
    }


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"n": "3"}, "must be of type"),
        ({}, "required"),
        ({"n": 1, "m": 2}, "unknown keys"),
        ({"n": True}, "must be of type"),
    ],
)
async def test_arguments_are_validated_strictly_before_the_function_sees_them(sent, said):
    def f(n: int):
        """Count."""
        raise AssertionError("it must not run")

    read = await handed(f, sent)
    assert "invalid_arguments" in read
    assert said in read


async def test_what_only_the_type_knows_is_told_to_the_model_without_the_value():
    def f(day: datetime.date):
        """Count."""
        raise AssertionError("it must not run")

    read = await handed(f, {"day": "secret-day"}, on_error="fail")
    assert "invalid_arguments" in read
    assert "day: Input should be a valid date" in read
    assert "secret-day" not in read


async def test_lenient_validation_coerces_and_the_function_gets_the_number():
    def f(n: int):
        """Count."""
        return n + 1

    assert await handed(f, {"n": "3"}, arg_validation="lenient") == "4"


async def test_defaults_are_the_functions_own_objects():
    marker = object()

    def f(n: int = 1, thing: Annotated[int, "odd"] = marker):  # a default that no JSON could hold
        """Count."""
        return thing is marker

    assert await handed(f, {}) == "true"


async def test_sync_functions_run_in_a_thread_and_async_ones_in_the_loop():
    def in_thread() -> bool:
        """Tell."""
        return threading.current_thread() is threading.main_thread()

    async def in_loop() -> bool:
        """Tell."""
        return threading.current_thread() is threading.main_thread()

    assert await handed(in_thread, {}) == "false"
    assert await handed(in_loop, {}) == "true"


class Shop:
    """A shop."""

    def __init__(self, stock: int) -> None:
        self.stock = stock

    def count(self, sku: str, /, *, plus: int = 0) -> int:
        """Count."""
        return self.stock + plus

    def __call__(self, sku: str) -> int:
        """Call the shop."""
        return self.stock


async def test_methods_partials_and_callable_objects_are_tools_too():
    assert await handed(Shop(2).count, {"sku": "x", "plus": 1}) == "3"
    assert await handed(Shop(4), {"sku": "x"}) == "4"


def with_session(session: object, number: str, limit: int = 5) -> str:
    """Look up."""
    return f"{session} {number} {limit}"


async def test_what_a_partial_binds_is_not_the_models_to_choose():
    bound = functools.partial(with_session, session="db")
    assert "session" not in schema(bound)["properties"]
    assert "unknown keys" in await handed(bound, {"number": "1", "session": "mine"})
    assert await handed(bound, {"number": "1"}) == '"db 1 5"'


async def test_a_tool_may_ask_whom_the_run_is_for():
    def who(context: ToolContext, loud: bool = False) -> str:
        """Tell."""
        return context.principal.id.upper() if loud else context.principal.id

    loop = AgentLoop(model=lambda: ScriptedModel([calls("who", {"loud": True}), reply("done")]), tools=[who])
    result = await loop.run("go", principal=Principal(id="ann"))
    assert result.messages[3].content == '"ANN"'
    assert "context" not in schema(who)["properties"]


@tool(name="look-up", description="Finds.", effects="read", timeout_s=2, max_calls=1, max_result_chars=50)
def decorated(n: int = 0) -> int:
    """Say something else."""
    return n


def test_the_decorator_says_more_and_leaves_the_function_as_it_is():
    plan = Toolbox.from_functions(decorated).plans[0]
    assert decorated(4) == 4
    assert (plan.ref, plan.spec.description, plan.effects) == ("look-up", "Finds.", "read")
    assert (plan.timeout_s, plan.max_calls, plan.max_result_chars) == (2, 1, 50)

    @tool
    def bare(n: int) -> int:
        """Say."""
        return n

    assert Toolbox.from_functions(bare).names == ("bare",)


def untyped(a: int, b):
    """Say."""


def starred(*numbers: int):
    """Say."""


def underscored(_hidden: int):
    """Say."""


def undocumented(n: int):
    return n


def odd_type(n: int, when: threading.Lock):
    """Say."""


def unknown_name(n: "Missing"):  # noqa: F821 - the point
    """Say."""


def callback(on_done: type[Any] | threading.Thread):
    """Say."""


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (untyped, ["'untyped'", "'b'", "no type hint"]),
        (starred, ["'starred'", "'numbers'", "name each parameter"]),
        (underscored, ["'underscored'", "'_hidden'"]),
        (undocumented, ["'undocumented'", "docstring"]),
        (odd_type, ["'odd_type'", "'when'"]),
        (unknown_name, ["'unknown_name'", "'Missing'"]),
        (callback, ["'callback'", "'on_done'"]),
        (lambda: 1, ["<lambda>", "description"]),
        ("lookup", ["'lookup'", "no function"]),
    ],
)
def test_a_function_that_a_model_could_not_be_told_of_is_refused_by_name(function, words):
    with pytest.raises(UsageError) as caught:
        Toolbox.from_functions(function)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_two_tools_of_one_name_are_refused():
    with pytest.raises(UsageError, match="two tools have the name 'decorated_again'"):
        Toolbox.from_functions(*[functools.partial(named)] * 2)


@tool(name="decorated_again")
def named() -> None:
    """Say."""


async def nothing(arguments, context):
    return None


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"name": "no spaces"}, "no spaces"),
        ({"description": " "}, "description"),
        ({"parameters": {"type": "nonsense"}}, "no JSON Schema"),
        ({"parameters": {"type": "array"}}, "'object'"),
        ({"timeout_s": 0}, "timeout_s"),
        ({"max_calls": True}, "max_calls"),
        ({"effects": "wipe"}, "effects"),
        ({"approval": "maybe"}, "approval"),
    ],
)
def test_a_tool_that_cannot_be_meant_is_refused(given, word):
    sound = {"name": "t", "description": "d", "parameters": {"type": "object"}, "run": nothing}
    with pytest.raises(UsageError, match=word):
        Tool(**{**sound, **given})


@pytest.mark.parametrize(
    ("returned", "read"),
    [
        (None, "null"),
        ("text", '"text"'),
        ([], "[]"),
        ({}, "{}"),
        (Item("x"), '{"sku":"x","amount":1}'),
        ({"day": datetime.date(2030, 1, 2)}, '{"day":"2030-01-02"}'),
        (object(), "bad_result"),
    ],
)
async def test_the_model_reads_what_a_function_returns_as_json(returned, read):
    """Edge 39 and 40: nothing is `null`, and what has no JSON form is a failure that the run survives."""

    def f():
        """Give."""
        return returned

    assert read in await handed(f, {})


@pytest.mark.parametrize("error", [ValueError("no stock"), StopIteration("no stock"), SystemExit("no stock")])
@pytest.mark.parametrize("waits", [False, True])
async def test_whatever_a_function_raises_is_told_to_the_model(error, waits):
    def f():
        """Fail."""
        raise error

    async def g():
        """Fail."""
        raise error

    read = await handed(g if waits else f, {})
    assert '"error"' in read


@pytest.mark.parametrize("waits", [False, True])
async def test_a_function_that_cancels_itself_does_not_cancel_the_run(waits):
    def f():
        """Fail."""
        raise asyncio.CancelledError

    async def g():
        """Fail."""
        raise asyncio.CancelledError

    assert "cancelled" in await handed(g if waits else f, {})


async def test_read_tools_run_together_and_write_tools_do_not():
    inside, most = [0], {"read": 0, "write": 0}

    def work(kind):
        async def run() -> None:
            """Work."""
            inside[0] += 1
            most[kind] = max(most[kind], inside[0])
            for _ in range(5):
                await asyncio.sleep(0)
            inside[0] -= 1

        return run

    for kind in ("read", "write"):
        function = tool(name="work", effects=kind)(work(kind))
        model = ScriptedModel([calls(call("work", {}), None, call("work", {}), call("work", {})), reply("done")])
        loop = AgentLoop(model=model, tools=[function], policy=ToolPolicy(concurrency=3), limits=Limits())
        await loop.run("go")
    assert most == {"read": 3, "write": 1}
