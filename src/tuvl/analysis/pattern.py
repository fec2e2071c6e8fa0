"""Regular expressions of guardrails: the engine that will run them says whether it takes them, we say why not."""

import re

from tuvl.linear_regex import engine_problem

_LOOK_AROUND = {"(?=": "look-ahead", "(?!": "look-ahead", "(?<=": "look-behind", "(?<!": "look-behind"}
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|\[:[a-z^]+:\]|[^\]\\])*\]|\(\?<?.|\{\d*(?:,\d*)?\}|.", re.DOTALL)


def pattern_problem(text: str) -> str | None:
    """Say why a pattern cannot be taken; `None` when it can."""
    said = engine_problem(text)
    if said is None:
        return _read_otherwise(text)
    if said.startswith(("invalid repetition size", "pattern too large")):
        return "a repetition of more than 1000 makes the pattern too large"
    return _explained(text) or f"does not parse: {said}"


def _read_otherwise(text: str) -> str | None:
    """Find what the engine takes for plain characters although it looks like more: it would never match."""
    for token in _TOKEN.findall(text):
        if token.startswith("{,") and token != "{,}":
            return f"{token!r} is no repetition to a linear-time engine; write {{0{token[1:]}"
        if re.fullmatch(r"\{\d{5,}(?:,\d*)?\}", token):
            return "a repetition of more than 1000 makes the pattern too large"
    return None


def _explained(text: str) -> str | None:
    """Name what linear-time engines do not know; the engine's own words name characters only."""
    tokens = _TOKEN.findall(text)
    for before, token in zip(["", *tokens], tokens, strict=False):
        match token:
            case "(?=" | "(?!" | "(?<=" | "(?<!":
                return f"{_LOOK_AROUND[token]} cannot be matched in linear time"
            case "(?(":
                return "a conditional group cannot be matched in linear time"
            case "(?>":
                return "an atomic group is not known to linear-time engines"
            case "(?#":
                return "a comment inside the pattern is not known to linear-time engines"
            case "+" if before in ("*", "+", "?") or before.startswith("{"):
                return "a possessive quantifier is not known to linear-time engines"
        if re.fullmatch(r"\\[1-9]", token):
            return "a back-reference cannot be matched in linear time"
    if "(?P=" in text:
        return "a back-reference cannot be matched in linear time"
    flags = re.search(r"\(\?([a-zA-Z-]+)[:)]", text)
    if flags is not None and not set(flags[1]) <= set("imsU-"):
        return f"of the inline flags only i, m, s and U are taken, not {flags[1]!r}"
    return None
