"""Whether an expression can be decided before any run: always true, always false, or not to be told."""

from collections.abc import Callable
from typing import TypeAlias

from tuvl.analysis.value_ranges import Decided, Known, compared, known_value
from tuvl.templating.plain import is_template, plain_template
from tuvl.templating.tree import Both, Choice, Compare, Either, Expression, Index, ListOf, Literal, Not, Read, indexed

Reads: TypeAlias = Callable[[tuple[str, ...]], Known | None]
"""Tells what is known of the value at a dotted path; `None` for nothing, or where it may be missing."""


def truth(template: str, reads: Reads) -> Decided:
    """Whether a template gives the same one of `true` and `false` whenever it gives anything."""
    if not is_template(template):
        return None
    plain = plain_template(template)
    if plain is not None:
        return None if plain.single is None else _of_known(reads(tuple(map(str, plain.single))))
    # Jinja's parser takes most of a tenth of a second to import; who has scanned this template has paid for it.
    from tuvl.templating.syntax import parse_template

    syntax = parse_template(template)
    return None if syntax.problems or syntax.single is None else _truth(syntax.single, reads)


def _truth(expression: Expression, reads: Reads) -> Decided:
    match expression:
        case Literal(bool() as value):
            return value
        case Not(operand):
            inner = _truth(operand, reads)
            return None if inner is None else not inner
        case Both(left, right):
            first = _truth(left, reads)
            return _truth(right, reads) if first is True else first
        case Either(left, right):
            first = _truth(left, reads)
            return _truth(right, reads) if first is False else first
        case Choice(test, yes, no) if no is not None:
            chosen = _truth(test, reads)
            return None if chosen is None else _truth(yes if chosen else no, reads)
        case Compare():
            return _comparison(expression, reads)
        case Read() | Index():
            return _of_known(_known(expression, reads))
        case _:
            return None


def _comparison(expression: Compare, reads: Reads) -> Decided:
    left = _known(expression.first, reads)
    for operator, operand in expression.rest:
        right = _known(operand, reads)
        pair = None if left is None or right is None else compared(operator, left, right)
        if pair is not True:
            return pair
        left = right
    return True


def _known(expression: Expression, reads: Reads) -> Known | None:
    match expression:
        case Literal(value):
            return known_value(value)
        case ListOf(items):
            values = [each.value for each in items if isinstance(each, Literal)]
            return known_value([*values]) if len(values) == len(items) else None
        case Read() | Index():
            path = indexed(expression)
            if not isinstance(path.base, Read) or path.computed:
                return None
            return reads((path.base.name, *path.keys))
        case _:
            return None


def _of_known(known: Known | None) -> Decided:
    only = known.values if known is not None else None
    return only[0] if only is not None and len(only) == 1 and isinstance(only[0], bool) else None
