"""What a template says, as a closed set of expressions and statements: all that the language has, and nothing else."""

from typing import Literal as Word
from typing import TypeAlias

from tuvl.dataclass import dataclass

Arithmetic = Word["+", "-", "*", "/", "//", "%", "**"]
Comparison = Word["==", "!=", "<", "<=", ">", ">=", "in", "not in"]


@dataclass(frozen=True, slots=True)
class Literal:
    """A value written in the template."""

    value: bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class Read:
    """A name."""

    name: str


@dataclass(frozen=True, slots=True)
class Index:
    """`target.key`, `target[key]`: a key of a mapping, an index of a list."""

    target: "Expression"
    key: "Expression"


@dataclass(frozen=True, slots=True)
class Part:
    """`target[start:stop:step]`."""

    target: "Expression"
    start: "Expression | None"
    stop: "Expression | None"
    step: "Expression | None"


@dataclass(frozen=True, slots=True)
class ListOf:
    """`[a, b]` or `(a, b)`."""

    items: "tuple[Expression, ...]"


@dataclass(frozen=True, slots=True)
class MapOf:
    """`{key: value}`."""

    pairs: "tuple[tuple[Expression, Expression], ...]"


@dataclass(frozen=True, slots=True)
class Sign:
    """`-x` or `+x`."""

    negative: bool
    operand: "Expression"


@dataclass(frozen=True, slots=True)
class Calculate:
    """Two numbers, texts or lists."""

    operator: Arithmetic
    left: "Expression"
    right: "Expression"


@dataclass(frozen=True, slots=True)
class Compare:
    """`first < second < third`: true when each pair is."""

    first: "Expression"
    rest: "tuple[tuple[Comparison, Expression], ...]"


@dataclass(frozen=True, slots=True)
class Both:
    """`left and right`."""

    left: "Expression"
    right: "Expression"


@dataclass(frozen=True, slots=True)
class Either:
    """`left or right`."""

    left: "Expression"
    right: "Expression"


@dataclass(frozen=True, slots=True)
class Not:
    """`not x`."""

    operand: "Expression"


@dataclass(frozen=True, slots=True)
class Choice:
    """`yes if test else no`."""

    test: "Expression"
    yes: "Expression"
    no: "Expression | None"


@dataclass(frozen=True, slots=True)
class Join:
    """`a ~ b ~ c`: one text."""

    parts: "tuple[Expression, ...]"


@dataclass(frozen=True, slots=True)
class Filtered:
    """`target | name(arguments)`, the arguments in the order of the filter's parameters, `None` where left out."""

    target: "Expression"
    name: str
    arguments: "tuple[Expression | None, ...]"


@dataclass(frozen=True, slots=True)
class Tested:
    """`target is name(arguments)`."""

    target: "Expression"
    name: str
    arguments: "tuple[Expression | None, ...]"


@dataclass(frozen=True, slots=True)
class Defaulted:
    """`target | default(fallback, falsy)`: the target may be missing."""

    target: "Expression"
    fallback: "Expression | None"
    falsy: "Expression | None"


@dataclass(frozen=True, slots=True)
class Defined:
    """`target is defined`: the target may be missing."""

    target: "Expression"


@dataclass(frozen=True, slots=True)
class Each:
    """`target | map(…)`: each item's attribute, or each item through a filter."""

    target: "Expression"
    attribute: "Expression | None"
    fallback: "Expression | None"
    name: str | None
    arguments: "tuple[Expression | None, ...]"


@dataclass(frozen=True, slots=True)
class Select:
    """`target | select(…)` and its kin: the items that pass a test (`name` `None`: that are true), or the others."""

    target: "Expression"
    keep: bool
    attribute: "Expression | None"
    name: str | None
    arguments: "tuple[Expression | None, ...]"


Expression: TypeAlias = (
    Literal
    | Read
    | Index
    | Part
    | ListOf
    | MapOf
    | Sign
    | Calculate
    | Compare
    | Both
    | Either
    | Not
    | Choice
    | Join
    | Filtered
    | Tested
    | Defaulted
    | Defined
    | Each
    | Select
)


@dataclass(frozen=True, slots=True)
class Text:
    """Literal text."""

    text: str


@dataclass(frozen=True, slots=True)
class Emit:
    """`{{ expression }}`."""

    expression: Expression


@dataclass(frozen=True, slots=True)
class Branch:
    """`{% if %}`, its `elif`s, its `else`."""

    cases: "tuple[tuple[Expression, Block], ...]"
    otherwise: "Block"


@dataclass(frozen=True, slots=True)
class Loop:
    """`{% for targets in items if test %}`; `uses_loop` tells whether the body reads `loop`."""

    targets: tuple[str, ...]
    unpack: bool
    items: Expression
    test: Expression | None
    body: "Block"
    otherwise: "Block"
    uses_loop: bool
    weight: int


@dataclass(frozen=True, slots=True)
class Assign:
    """`{% set targets = expression %}`."""

    targets: tuple[str, ...]
    unpack: bool
    expression: Expression


@dataclass(frozen=True, slots=True)
class Capture:
    """`{% set name %}text{% endset %}`."""

    target: str
    body: "Block"


@dataclass(frozen=True, slots=True)
class With:
    """`{% with name = value %}`."""

    assigns: tuple[Assign, ...]
    body: "Block"


Statement: TypeAlias = Text | Emit | Branch | Loop | Assign | Capture | With
Block: TypeAlias = tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Indexed:
    """What a chain of keys starts from, and the keys that are known from its text.

    Behind a computed key, which is known only when the template runs, no key leads anywhere certain: `keys` ends before
    the first of those. `computed` holds their expressions, the last one first.
    """

    base: "Expression"
    keys: tuple[str, ...]
    computed: "tuple[Expression, ...]"


def indexed(expression: "Expression") -> Indexed:
    """Take `a.b[0]` apart; an expression without keys is its own base."""
    keys: list[str] = []
    computed: list[Expression] = []
    while isinstance(expression, Index):
        if isinstance(expression.key, Literal) and isinstance(expression.key.value, str | int):
            keys.append(str(expression.key.value))
        else:
            keys.clear()
            computed.append(expression.key)
        expression = expression.target
    return Indexed(base=expression, keys=tuple(reversed(keys)), computed=tuple(computed))
