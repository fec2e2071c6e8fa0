"""The names and paths that a tree reads from outside itself."""

from typing import assert_never

from tuvl.templating.tree import (
    Assign,
    Block,
    Both,
    Branch,
    Calculate,
    Capture,
    Choice,
    Compare,
    Defaulted,
    Defined,
    Each,
    Either,
    Emit,
    Expression,
    Filtered,
    Index,
    Join,
    ListOf,
    Literal,
    Loop,
    MapOf,
    Not,
    Part,
    Read,
    Select,
    Sign,
    Statement,
    Tested,
    Text,
    With,
    indexed,
)


class Reads:
    """Collects what is read: `paths` in order, and the names read so that they may (`maybe`) or must be there.

    `certain` are those of the latter that every rendering reads, whichever way its conditions go.
    """

    def __init__(self) -> None:
        self.paths: dict[tuple[str, ...], None] = {}
        self.maybe: set[str] = set()
        self.surely: set[str] = set()
        self.asked: set[str] = set()
        self.certain: set[str] = set()
        self._conditions = 0

    def block(self, block: Block, bound: frozenset[str]) -> frozenset[str]:
        """Read statements in order; returns the names that are set after them."""
        for statement in block:
            bound = self._statement(statement, bound)
        return bound

    def _statement(self, statement: Statement, bound: frozenset[str]) -> frozenset[str]:
        match statement:
            case Text():
                return bound
            case Emit(expression):
                self.expression(expression, bound)
                return bound
            case Branch(cases, otherwise):
                return self._branch(cases, otherwise, bound)
            case Loop():
                self._loop(statement, bound)
                return bound
            case Assign(targets, _, expression):
                self.expression(expression, bound)
                return bound | frozenset(targets)
            case Capture(target, body):
                self.block(body, bound)
                return bound | {target}
            case With(assigns, body):
                inner = bound
                for assign in assigns:
                    inner = self._statement(assign, inner)
                self.block(body, inner)
                return bound
            case _:
                assert_never(statement)

    def _branch(
        self, cases: tuple[tuple[Expression, Block], ...], otherwise: Block, bound: frozenset[str]
    ) -> frozenset[str]:
        ends = []
        depth = self._conditions
        for test, body in cases:
            self.expression(test, bound)
            self._conditions = depth + 1  # only the first test is made for sure
            ends.append(self.block(body, bound))
        ends.append(self.block(otherwise, bound))
        self._conditions = depth
        return frozenset.intersection(*ends)

    def _loop(self, loop: Loop, bound: frozenset[str]) -> None:
        self.expression(loop.items, bound)
        self._conditions += 1
        inner = bound | frozenset(loop.targets)
        if loop.test is not None:
            self.expression(loop.test, inner)
        self.block(loop.body, inner | {"loop"})
        self.block(loop.otherwise, bound)
        self._conditions -= 1

    def expression(self, expression: Expression, bound: frozenset[str], *, may_miss: bool = False) -> None:
        """Read one expression; `may_miss` when a missing value does no harm there."""
        match expression:
            case Read() | Index():
                self._path(expression, bound, may_miss)
            case Defaulted(target, fallback, falsy):
                self.expression(target, bound, may_miss=True)
                self._perhaps((fallback, falsy), bound)
            case Both(first, second) | Either(first, second) | Choice(first, second, None):
                self.expression(first, bound)
                self._perhaps((second,), bound)
            case Choice(test, yes, no):
                self.expression(test, bound)
                self._perhaps((yes, no), bound)
            case Defined(target):
                if isinstance(target, Read) and target.name not in bound:
                    self.asked.add(target.name)
                self.expression(target, bound, may_miss=True)
            case _:
                self._all(parts_of(expression), bound)

    def _all(self, parts: "tuple[Expression | None, ...]", bound: frozenset[str]) -> None:
        for part in parts:
            if part is not None:
                self.expression(part, bound)

    def _perhaps(self, parts: "tuple[Expression | None, ...]", bound: frozenset[str]) -> None:
        """Read what is evaluated only when another value asks for it."""
        self._conditions += 1
        self._all(parts, bound)
        self._conditions -= 1

    def _path(self, expression: Read | Index, bound: frozenset[str], may_miss: bool) -> None:
        chain = indexed(expression)
        for key in chain.computed:
            self.expression(key, bound)
        if not isinstance(chain.base, Read):
            self.expression(chain.base, bound, may_miss=may_miss)
        elif chain.base.name not in bound:
            self.paths.setdefault((chain.base.name, *chain.keys))
            (self.maybe if may_miss else self.surely).add(chain.base.name)
            if not may_miss and not self._conditions:
                self.certain.add(chain.base.name)


def parts_of(expression: Expression) -> "tuple[Expression | None, ...]":  # noqa: C901  # one case for each member of a closed set
    """The expressions an expression is made of."""
    match expression:
        case Literal() | Read():
            return ()
        case Index(target, key):
            return (target, key)
        case Part(target, start, stop, step):
            return (target, start, stop, step)
        case ListOf(items) | Join(items):
            return items
        case MapOf(pairs):
            return tuple(part for pair in pairs for part in pair)
        case Sign(_, operand) | Not(operand) | Defined(operand):
            return (operand,)
        case Calculate(_, left, right) | Both(left, right) | Either(left, right):
            return (left, right)
        case Compare(first, rest):
            return (first, *(operand for _, operand in rest))
        case Choice(test, yes, no):
            return (test, yes, no)
        case Filtered(target, _, arguments) | Tested(target, _, arguments):
            return (target, *arguments)
        case Defaulted(target, fallback, falsy):
            return (target, fallback, falsy)
        case Each(target, attribute, fallback, _, arguments):
            return (target, attribute, fallback, *arguments)
        case Select(target, _, attribute, _, arguments):
            return (target, attribute, *arguments)
        case _:
            assert_never(expression)


def reads_of(block: Block) -> Reads:
    """Read a whole template."""
    reads = Reads()
    reads.block(block, frozenset())
    # Who asks whether a name is defined has provided for the case that it is not.
    reads.maybe |= reads.asked
    reads.surely -= reads.asked
    reads.certain -= reads.asked
    return reads
