"""`json_schema`: the text must be JSON that satisfies a schema."""

import json
import re
from typing import NoReturn

from tuvl.dataclass import dataclass
from tuvl.guardrails.guard import Objection
from tuvl.tools.schema import ValueSchema
from tuvl.values import JsonValue

_FENCED = re.compile(r"(?P<fence>`{3,}|~{3,})[^\r\n`]*\r?\n(?P<body>.*?)\r?\n?(?P=fence)[ \t]*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class JsonSchema:
    """Reads the text as JSON, bare or as the one code fence that it is, and holds it against the schema."""

    schema: ValueSchema
    check = "json_schema"

    async def look(self, text: str) -> str:
        """Let the text pass when it fits."""
        violations = self.schema.violations(read_json(text), most=1)
        if violations:
            # A path may be made of keys of the text, and a list of unknown keys is: so only the rule is told.
            raise Objection(f"the text does not fit the schema (keyword {violations[0].keyword!r})")
        return text


def read_json(text: str) -> JsonValue:
    """Read a text that is JSON and nothing else; raises `Objection`. A repeated key has no one reading."""
    body = text.lstrip("\ufeff").strip()
    fenced = _FENCED.fullmatch(body)
    try:
        value: JsonValue = json.loads(
            fenced["body"] if fenced else body, object_pairs_hook=_unique, parse_constant=_refuse
        )
    except (ValueError, RecursionError):
        raise Objection("the text is no JSON") from None
    return value


def _unique(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a key is repeated")
    return values


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON number")
