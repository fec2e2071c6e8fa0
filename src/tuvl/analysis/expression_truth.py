"""Whether an expression can be decided before any run: always true, always false, or not to be told."""

from collections.abc import Callable, Iterable
from typing import Literal as Word
from typing import TypeAlias

from tuvl.analysis.value_ranges import NOTHING, Decided, Known, compared, known_value, united
from tuvl.templating.plain import is_template, plain_template
from tuvl.templating.reads import parts_of
from tuvl.templating.tree import (
    Both,
    Choice,
    Compare,
    Defaulted,
    Defined,
    Each,
    Either,
    Expression,
    Filtered,
    Index,
    ListOf,
    Literal,
    Not,
    Read,
    Select,
    Tested,
    indexed,
)
from tuvl.values import JsonValue

Reads: TypeAlias = Callable[[tuple[str, ...]], Known | None]
"""Tells what is known of the value at a dotted path.

`None` for nothing, or where it may be missing; `NOTHING` where it is missing for sure.
"""

Result: TypeAlias = Word["true", "false", "truthy", "falsy"]
"""A boolean, or another value that counts as one in a condition."""
Results: TypeAlias = frozenset[Result]
"""What an expression can give; nothing where it can only fail."""

ANYTHING: Results = frozenset({"true", "false", "truthy", "falsy"})
_EITHER: Results = frozenset({"true", "false"})
_NEITHER: Results = frozenset()
_HOLDS: Results = frozenset({"true", "truthy"})


def truth(template: str, reads: Reads) -> Decided:
    """Whether a template gives the same one of `true` and `false` whenever it gives anything."""
    found = results(template, reads)
    return found == {"true"} if len(found) == 1 and found <= _EITHER else None


def results(template: str, reads: Reads) -> Results:
    """What a template can give, for all that is known of what it reads."""
    if not is_template(template):
        return ANYTHING
    plain = plain_template(template)
    if plain is not None:
        return ANYTHING if plain.single is None else _of_known(reads(tuple(map(str, plain.single))))
    # Jinja's parser takes most of a tenth of a second to import; who has scanned this template has paid for it.
    from tuvl.templating.syntax import parse_template

    syntax = parse_template(template)
    return ANYTHING if syntax.problems or syntax.single is None else _results(syntax.single, reads)


def _results(expression: Expression, reads: Reads) -> Results:
    match expression:
        case Not(operand):
            return _booleans(each not in _HOLDS for each in _results(operand, reads))
        case Both(left, right):
            first = _results(left, reads)
            return (first - _HOLDS) | (_results(right, reads) if first & _HOLDS else _NEITHER)
        case Either(left, right):
            first = _results(left, reads)
            return (first & _HOLDS) | (_results(right, reads) if first - _HOLDS else _NEITHER)
        case Choice(test, yes, no):
            chosen = _results(test, reads)
            if chosen & _HOLDS and chosen - _HOLDS:
                return ANYTHING
            return _results(yes if chosen & _HOLDS else no or Literal(""), reads) if chosen else _NEITHER
        case Compare():
            return _comparison(expression, reads)
        case Defined(target):
            return _booleans([False]) if _known(target, reads) is NOTHING else _EITHER
        case _:
            return _of_known(_known(expression, reads))


def _comparison(expression: Compare, reads: Reads) -> Results:
    left = _known(expression.first, reads)
    for operator, operand in expression.rest:
        right = _known(operand, reads)
        if left is NOTHING or right is NOTHING:
            return _NEITHER
        pair = None if left is None or right is None else compared(operator, left, right)
        if pair is not True:
            return _EITHER if pair is None else _booleans([pair])
        left = right
    return _booleans([True])


def _known(expression: Expression, reads: Reads) -> Known | None:
    match expression:
        case Literal(value):
            return known_value(value)
        case ListOf(items) if all(isinstance(each, Literal) for each in items):
            return known_value([each.value for each in items if isinstance(each, Literal)])
        case Read() | Index():
            path = indexed(expression)
            if not isinstance(path.base, Read):
                return None
            known = reads((path.base.name, *path.keys))
            return known if known is NOTHING or not path.computed else None
        case Defaulted(target, fallback, _):
            return _known(fallback or Literal(""), reads) if _known(target, reads) is NOTHING else None
        case Filtered(target) | Tested(target):
            return _called(expression, _known(target, reads))
        case Each(target) | Select(target):
            return NOTHING if _known(target, reads) is NOTHING else None
        case Both() | Either() | Not() | Choice() | Compare() | Defined():
            return _known_by(_results(expression, reads))
        case _:
            missing = any(part is not None and _known(part, reads) is NOTHING for part in parts_of(expression))
            return NOTHING if missing else None


def _known_by(found: Results) -> Known | None:
    """What is known of a value by the results that it can be."""
    if not found:
        return NOTHING
    return united(known_value(each == "true") for each in sorted(found)) if found <= _EITHER else None


def _called(expression: Filtered | Tested, target: Known | None) -> Known | None:
    """What is known of a length, and of the test for `none`: so people ask for what may be missing."""
    if target is None or target is NOTHING or target.values is None:
        return target if target is NOTHING else None
    match expression:
        case Tested(_, "none"):
            return united(known_value(each is None) for each in target.values)
        case Filtered(_, "length" | "count"):
            sizes = [known_value(len(each)) for each in target.values if isinstance(each, str | list | dict)]
            return united(sizes) if len(sizes) == len(target.values) else None
        case _:
            return None


def _of_known(known: Known | None) -> Results:
    if known is None or known.values is None:
        return ANYTHING
    found: set[Result] = set(_booleans(each for each in known.values if isinstance(each, bool)))
    found |= {"truthy" if each else "falsy" for each in known.values if not isinstance(each, bool)}
    return frozenset(found)


def _booleans(values: Iterable[JsonValue]) -> Results:
    return frozenset("true" if each else "false" for each in values)
