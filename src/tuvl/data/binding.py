"""What is bound to statements on PostgreSQL, as it can keep it: the one place where our values become its texts.

A text with a NUL character is refused there, and so is JSON that has one. Whoever asks or answers may write one, and a
model or a tool; what they say is kept without it, and the run goes on.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Engine, event

from tuvl.values import JsonValue, dump_json, storable, storable_json


def bind_storable(engine: Engine) -> None:
    """Have an engine bind texts as PostgreSQL keeps them; one on another database does as it did."""
    if engine.dialect.name != "postgresql":
        return

    @event.listens_for(engine, "before_cursor_execute", retval=True)
    def before(
        connection: Connection, cursor: object, statement: str, parameters: Any, context: object, many: bool
    ) -> tuple[str, Any]:
        return statement, bound(parameters)


def bound(value: Any) -> Any:
    """Return what is bound to a statement, its texts as PostgreSQL keeps them."""
    match value:
        case str():
            return storable(value)
        case list():
            return [bound(each) for each in value]
        case tuple():
            return tuple(bound(each) for each in value)
        case Mapping():
            return {name: bound(each) for name, each in value.items()}
        case _:
            return value


def storable_text(value: JsonValue) -> str:
    """Write a value of a JSON column: PostgreSQL looks into it, and refuses a NUL that is written as an escape, too."""
    return dump_json(storable_json(value))
