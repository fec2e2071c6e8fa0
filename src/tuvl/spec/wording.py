"""How the shape check words what it found, what is wanted, and what may help."""

import math
import re

from tuvl.spec.table import AnyNode, AnyOfNode, ChoiceNode, ListNode, MapNode, Node, ObjectNode, ScalarNode
from tuvl.suggest import closest
from tuvl.values import KeyPath, number_text, shorten

SECRET_FIELDS = frozenset({"api_key", "password", "bearer", "value", "headers", "env"})
"""Fields whose values are not repeated in a message."""

CLOCK = re.compile(r"\d+(:\d+)+\Z")
NUMBER = re.compile(r"[-+]?[0-9][0-9_]*(\.[0-9]*)?([eE][-+]?[0-9]+)?\Z")
BOOLEAN_WORDS = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}


def is_secret(path: KeyPath) -> bool:
    """Whether what stands at a place may be a secret."""
    return not SECRET_FIELDS.isdisjoint(path)


def found(value: object, path: KeyPath) -> str:
    """Say what YAML made of a value, e.g. `the text '1:30'`."""
    if value is None:
        return "nothing (`null`)"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    if isinstance(value, dict):
        return "a mapping"
    secret = is_secret(path)
    if isinstance(value, bool):
        return "a boolean" if secret else f"`{str(value).lower()}`"
    if isinstance(value, str):
        return "text" if secret else f"the text {shorten(value, 40)!r}" if value else "an empty text"
    if secret:
        return "a number"
    return f"the number {number(value)}"


def number(value: object) -> str:
    """Write a number the way YAML does, very long ones not at all."""
    if isinstance(value, int) and abs(value) >= 10**20:
        return "of more than 20 digits"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return f"{value:.1f}"
    return str(value)


def wanted(node: Node) -> str:
    """Say what a node takes, e.g. `a whole number, 1 or more`."""
    match node:
        case ListNode():
            return "a list with at least one entry" if node.min_items else "a list"
        case MapNode() | ObjectNode() | ChoiceNode():
            return "a mapping"
        case AnyOfNode():
            return _either([wanted(branch) for branch in node.branches])
        case ScalarNode():
            return _either(_scalar_words(node))
        case AnyNode():
            return "anything"


def _either(phrases: list[str]) -> str:
    return " or ".join(dict.fromkeys(phrases))


def _scalar_words(node: ScalarNode) -> list[str]:
    phrases = []
    if str in node.types:
        phrases.append(_text_words(node))
    if int in node.types:
        phrases.append(("a number" if float in node.types else "a whole number") + _range(node))
    if bool in node.types:
        phrases.append("`true` or `false`")
    if type(None) in node.types:
        phrases.append("`null`")
    return phrases


def _text_words(node: ScalarNode) -> str:
    choices = [f"`{choice}`" for choice in node.choices if choice is not None]
    if len(choices) > 1:
        return f"one of {', '.join(choices)}"
    if choices:
        return choices[0]
    if node.words:
        return node.words
    return "text that is not empty" if node.min_length else "text"


def _range(node: ScalarNode) -> str:
    bounds = dict(node.bounds)
    low, high = bounds.get("minimum"), bounds.get("maximum")
    if low is not None and high is not None:
        return f" from {number_text(low)} to {number_text(high)}"
    if low is not None:
        return f", {number_text(low)} or more"
    if "exclusiveMinimum" in bounds and "exclusiveMaximum" in bounds:
        lower, upper = number_text(bounds["exclusiveMinimum"]), number_text(bounds["exclusiveMaximum"])
        return f" between {lower} and {upper}, both left out"
    if "exclusiveMinimum" in bounds:
        return f" above {number_text(bounds['exclusiveMinimum'])}"
    return ""


def hint_for(node: Node, value: object, path: KeyPath) -> str | None:
    """Return what may help with a value that `node` does not take."""
    if is_secret(path) and value is not None:
        return "put it in quotes if text is meant" if isinstance(value, bool | int | float) else None
    if isinstance(value, str):
        return _hint_for_text(node, value)
    if value is None:
        return _hint_for_null(node)
    if isinstance(value, bool | int | float) and str in node.types and type(value) not in node.types:
        return (
            f'put it in quotes if text is meant: "{str(value).lower() if isinstance(value, bool) else number(value)}"'
        )
    if isinstance(value, float) and int in node.types and float not in node.types:
        return _hint_for_float(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and value <= 0 and type(None) in node.types:
        return "write `null`, or leave the field out, to have no bound"
    return None


def _hint_for_text(node: Node, value: str) -> str | None:
    choices = [choice for scalar in _scalars(node) for choice in scalar.choices if isinstance(choice, str)]
    if choices:
        near = closest(value, choices)
        return f"did you mean {near!r}?" if near else None
    if int in node.types and str not in node.types:
        return _hint_for_number_in_text(value)
    if bool in node.types and value.lower() in BOOLEAN_WORDS:
        return f"YAML 1.2 reads {value!r} as text; write `{BOOLEAN_WORDS[value.lower()]}`"
    if bool in node.types and value.lower() in {"true", "false"}:
        return f"write it without quotes, in small letters: `{value.lower()}`"
    if list in node.types and value and len(value) <= 40 and "\n" not in value:
        return f"write a list: [{value}]"
    return None


def _hint_for_number_in_text(value: str) -> str | None:
    if CLOCK.match(value):
        seconds = 0
        for part in value[:20].split(":"):
            seconds = seconds * 60 + int(part)
        return f"YAML 1.2 reads it as text; write one number, e.g. {seconds} if hours, minutes or seconds are meant"
    if NUMBER.match(value) and len(value) <= 20:
        how = "without `_`" if "_" in value else "without quotes"
        return f"write it {how}: {value.replace('_', '')}"
    if "{{" in value or "${" in value:
        return "a template or a variable cannot stand here; write the number"
    return None


def _hint_for_null(node: Node) -> str:
    defaults = [scalar.default for scalar in _scalars(node) if scalar.default is not None]
    if defaults:
        shown = str(defaults[0]).lower() if isinstance(defaults[0], bool) else defaults[0]
        return f"leave the field out to get its default, {shown}"
    return "give it a value, or leave the field out"


def _hint_for_float(value: float) -> str | None:
    if math.isfinite(value) and value.is_integer() and abs(value) < 1e15:
        return f"write it as a whole number: {int(value)}"
    return None


def _scalars(node: Node) -> list[ScalarNode]:
    if isinstance(node, ScalarNode):
        return [node]
    if isinstance(node, AnyOfNode):
        return [branch for branch in node.branches if isinstance(branch, ScalarNode)]
    return []
