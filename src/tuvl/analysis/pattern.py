"""Regular expressions that can be matched in linear time: Python's syntax without what needs backtracking."""

import re
import warnings

MAX_REPEAT = 1000
"""Largest count in braces, as in other linear-time engines."""

_LOOK_AROUND = {"(?=": "look-ahead", "(?!": "look-ahead", "(?<=": "look-behind", "(?<!": "look-behind"}
_REPEAT = re.compile(r"\{(\d*)(?:,(\d*))?\}")
_ALLOWED_FLAGS = frozenset("ims-")


def pattern_problem(text: str) -> str | None:
    """Say why a pattern cannot be taken; `None` when it can."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd character class is the author's matter, not ours
            re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        return f"does not parse: {error}"
    return _beyond_linear(text)


def _beyond_linear(text: str) -> str | None:
    index, in_class, weight = 0, False, 1
    while index < len(text):
        character = text[index]
        if character == "\\":
            if not in_class and text[index + 1 : index + 2] in set("123456789"):
                return "a back-reference cannot be matched in linear time"
            index += 2
            continue
        if in_class:
            in_class = character != "]"
        elif character == "[":
            in_class = True
            # A `]` that comes first, also after `^`, is a member of the class.
            index += 1 if text[index + 1 : index + 2] == "^" else 0
            index += 1 if text[index + 1 : index + 2] == "]" else 0
        elif text.startswith("(?", index):
            problem = _group_problem(text, index)
            if problem is not None:
                return problem
        elif character == "{" and (repeat := _REPEAT.match(text, index)) is not None:
            count = max(int(number) for number in (repeat[1], repeat[2] or "", "1") if number)
            weight *= count
            if count > MAX_REPEAT or weight > MAX_REPEAT * MAX_REPEAT:
                return f"a repetition of more than {MAX_REPEAT} makes the pattern too large"
            index = repeat.end() - 1
            character = "}"
        if not in_class and character in "*+?}" and text[index + 1 : index + 2] == "+":
            return "a possessive quantifier is not known to linear-time engines"
        index += 1
    return None


def _group_problem(text: str, index: int) -> str | None:
    for opening, name in _LOOK_AROUND.items():
        if text.startswith(opening, index):
            return f"{name} cannot be matched in linear time"
    if text.startswith("(?P=", index):
        return "a back-reference cannot be matched in linear time"
    if text.startswith("(?(", index):
        return "a conditional group cannot be matched in linear time"
    if text.startswith("(?>", index):
        return "an atomic group is not known to linear-time engines"
    if text.startswith("(?#", index):
        return "a comment inside the pattern is not known to linear-time engines"
    flags = re.match(r"\(\?([a-zA-Z-]+)[:)]", text[index:])
    if flags is not None and not set(flags[1]) <= _ALLOWED_FLAGS:
        return f"of the inline flags only i, m and s are taken, not {flags[1]!r}"
    return None
