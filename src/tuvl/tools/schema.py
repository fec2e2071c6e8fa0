"""JSON Schemas (Draft 2020-12) at work: tool arguments, run inputs, answers. The only importer of jsonschema-rs."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tuvl.values import JsonObject, JsonValue, format_path


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One rule of a schema that a value breaks: where, and what is wanted. Never holds the value itself."""

    path: tuple[str | int, ...]
    keyword: str
    message: str

    def __str__(self) -> str:
        """Return e.g. `items[0].price: must be a number`."""
        return f"{format_path(self.path)}: {self.message}" if self.path else self.message


class ValueSchema:
    """A schema that values are checked against; compiled on first use."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema: JsonObject = dict(schema)

    @cached_property
    def _validator(self) -> Any:
        import jsonschema_rs  # noqa: PLC0415 - 25 ms that a run without a schema does not pay

        return jsonschema_rs.Draft202012Validator(self.schema)

    def violations(self, value: JsonValue, *, most: int = 5) -> list[Violation]:
        """Return what is wrong with a value, at most `most` entries; an empty list when it is valid."""
        raise NotImplementedError
