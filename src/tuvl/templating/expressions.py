"""Jinja's expressions → ours."""

from collections.abc import Sequence
from math import isfinite

from jinja2 import nodes

from tuvl.suggest import did_you_mean
from tuvl.templating.calls import Operation
from tuvl.templating.filters import FILTERS, LANGUAGE_FILTERS, LANGUAGE_TESTS, TEST_TABLE
from tuvl.templating.tree import (
    Arithmetic,
    Both,
    Calculate,
    Choice,
    Compare,
    Comparison,
    Defaulted,
    Defined,
    Each,
    Either,
    Expression,
    Filtered,
    Index,
    Join,
    ListOf,
    Literal,
    MapOf,
    Not,
    Part,
    Read,
    Select,
    Sign,
    Tested,
)

MAX_TREE_DEPTH = 100
"""Nesting of a template past which it is refused."""

_NOTHING = Literal(None)
_ARITHMETIC: dict[type[nodes.BinExpr], Arithmetic] = {
    nodes.Add: "+",
    nodes.Sub: "-",
    nodes.Mul: "*",
    nodes.Div: "/",
    nodes.FloorDiv: "//",
    nodes.Mod: "%",
    nodes.Pow: "**",
}
_COMPARISONS: dict[str, Comparison] = {
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "lteq": "<=",
    "gt": ">",
    "gteq": ">=",
    "in": "in",
    "notin": "not in",
}
_SELECTS = {"select": (True, False), "reject": (False, False), "selectattr": (True, True), "rejectattr": (False, True)}


class ExpressionConverter:
    """Converts the expressions of one template; `problems` collects what the language does not have."""

    def __init__(self, *, many_lines: bool) -> None:
        self.problems: list[str] = []
        self._many_lines = many_lines
        self._depth = 0
        self._loop_reads = 0
        self._nodes = 0

    def problem(self, node: nodes.Node, message: str) -> None:
        """Note a problem, with its line when the template has several."""
        text = f"line {node.lineno}: {message}" if self._many_lines and node.lineno else message
        if text not in self.problems:
            self.problems.append(text)

    def _enter(self) -> None:
        self._nodes += 1
        self._depth += 1
        if self._depth > MAX_TREE_DEPTH:
            raise RecursionError

    def expression(self, node: nodes.Node) -> Expression:
        """Convert one expression; what cannot be converted becomes a problem and `null`."""
        self._enter()
        result = self._expression(node)
        self._depth -= 1
        return result

    def _expression(self, node: nodes.Node) -> Expression:  # noqa: C901  # one case for each member of a closed set
        match node:
            case nodes.Name():
                self._loop_reads += node.name == "loop"
                return Read(node.name)
            case nodes.Const():
                return self._const(node)
            case nodes.Getattr():
                return self._attribute(node)
            case nodes.Getitem():
                return self._item(node)
            case nodes.List() | nodes.Tuple():
                return ListOf(self._all(node.items))
            case nodes.Dict():
                return MapOf(tuple((self.expression(pair.key), self.expression(pair.value)) for pair in node.items))
            case nodes.Filter():
                return self._filter(node)
            case nodes.Test():
                return self._test(node)
            case nodes.Concat():
                return Join(self._all(node.nodes))
            case nodes.CondExpr():
                no = self.expression(node.expr2) if node.expr2 is not None else None
                return Choice(self.expression(node.test), self.expression(node.expr1), no)
            case nodes.Compare():
                rest = tuple((_COMPARISONS[operand.op], self.expression(operand.expr)) for operand in node.ops)
                return Compare(self.expression(node.expr), rest)
            case nodes.BinExpr() | nodes.UnaryExpr():
                return self._operator(node)
            case nodes.Call():
                return self._call(node)
        self.problem(node, f"`{type(node).__name__}` is not available")
        return _NOTHING

    def _all(self, parts: Sequence[nodes.Node]) -> tuple[Expression, ...]:
        return tuple(self.expression(part) for part in parts)

    def _operator(self, node: nodes.BinExpr | nodes.UnaryExpr) -> Expression:
        if isinstance(node, nodes.UnaryExpr):
            operand = self.expression(node.node)
            return Not(operand) if isinstance(node, nodes.Not) else Sign(isinstance(node, nodes.Neg), operand)
        left, right = self.expression(node.left), self.expression(node.right)
        if isinstance(node, nodes.And):
            return Both(left, right)
        if isinstance(node, nodes.Or):
            return Either(left, right)
        return Calculate(_ARITHMETIC[type(node)], left, right)

    def _const(self, node: nodes.Const) -> Expression:
        value = node.value
        if isinstance(value, float) and not isfinite(value):
            self.problem(node, "a number is too large")
        elif isinstance(value, str) and not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
            self.problem(node, "a text holds half a character (a lone surrogate)")
        elif value is None or isinstance(value, bool | int | float | str):
            return Literal(value)
        return _NOTHING

    def _attribute(self, node: nodes.Getattr) -> Expression:
        if node.attr.startswith("__"):
            self.problem(node, f"'.{node.attr}' is not available; names read data only, as in a['{node.attr}']")
        return Index(self.expression(node.node), Literal(node.attr))

    def _item(self, node: nodes.Getitem) -> Expression:
        target = self.expression(node.node)
        if isinstance(node.arg, nodes.Slice):
            start, stop, step = (
                self.expression(part) if part is not None else None
                for part in (node.arg.start, node.arg.stop, node.arg.step)
            )
            return Part(target, start, stop, step)
        if isinstance(node.arg, nodes.Tuple):
            self.problem(node, "one key at a time can be read")
            return _NOTHING
        return Index(target, self.expression(node.arg))

    def _call(self, node: nodes.Call) -> Expression:
        name = ""
        if isinstance(node.node, nodes.Name):
            name = node.node.name
        elif isinstance(node.node, nodes.Getattr):
            name = f".{node.node.attr}"
        advice = "; use the filter `| items`" if name == ".items" else "; filters are written `value | filter`"
        self.problem(node, f"'{name}()' is a call, and calls are not available{advice}")
        return _NOTHING

    # Filters and tests

    def _filter(self, node: nodes.Filter, *, base: Expression | None = None) -> Expression:
        # In `{% set x | upper %}…` the innermost filter has no target of its own.
        if node.node is not None:
            inner = node.node
            if base is not None and isinstance(inner, nodes.Filter):
                self._enter()
                target = self._filter(inner, base=base)
                self._depth -= 1
            else:
                target = self.expression(inner)
        else:
            target = base or _NOTHING
        if node.dyn_args is not None or node.dyn_kwargs is not None:
            self.problem(node, f"the arguments of {node.name!r} must be written out")
            return _NOTHING
        named = _named(node.kwargs)
        if node.name in ("default", "d"):
            language = Operation(("default_value", "boolean"), 0, False, lambda call: None)
            fallback, falsy = self._bind(node, node.name, language, node.args, named)
            return Defaulted(target, fallback, falsy)
        if node.name == "map":
            return self._map(node, target, named)
        if node.name in _SELECTS:
            return self._select(node, target, named)
        operation = FILTERS.get(node.name)
        if operation is None:
            self._unknown(node, "filter", node.name, [*FILTERS, *LANGUAGE_FILTERS])
            return _NOTHING
        return Filtered(target, node.name, self._bind(node, node.name, operation, node.args, named))

    def _map(self, node: nodes.Filter, target: Expression, named: dict[str, nodes.Expr]) -> Expression:
        if not node.args:
            language = Operation(("attribute", "default"), 1, False, lambda call: None)
            attribute, fallback = self._bind(node, "map", language, [], named)
            return Each(target, attribute, fallback, None, ())
        name, arguments = self._named_operation(node, "filter", node.args, named)
        return Each(target, None, None, name, arguments)

    def _select(self, node: nodes.Filter, target: Expression, named: dict[str, nodes.Expr]) -> Expression:
        keep, by_attribute = _SELECTS[node.name]
        arguments = list(node.args)
        attribute: Expression | None = None
        if by_attribute:
            if not arguments:
                self.problem(node, f"{node.name!r} needs the attribute's name")
                return _NOTHING
            attribute = self.expression(arguments.pop(0))
        if not arguments:
            return Select(target, keep, attribute, None, ())
        name, bound = self._named_operation(node, "test", arguments, named)
        return Select(target, keep, attribute, name, bound)

    def _named_operation(
        self, node: nodes.Filter, kind: str, arguments: Sequence[nodes.Expr], named: dict[str, nodes.Expr]
    ) -> tuple[str | None, tuple[Expression | None, ...]]:
        """Read `'name', argument, …`: a filter or test that another filter applies to each item."""
        table = FILTERS if kind == "filter" else TEST_TABLE
        first, *rest = arguments
        name = first.value if isinstance(first, nodes.Const) else None
        operation = table.get(name) if isinstance(name, str) else None
        if operation is None or not isinstance(name, str):
            self._unknown(node, kind, str(name) if name is not None else "…", list(table))
            return None, ()
        return name, self._bind(node, name, operation, rest, named)

    def _test(self, node: nodes.Test) -> Expression:
        target = self.expression(node.node)
        arguments = list(node.args or ())
        named = _named(node.kwargs)
        if node.dyn_args is not None or node.dyn_kwargs is not None:
            self.problem(node, f"the arguments of {node.name!r} must be written out")
            return _NOTHING
        if node.name in LANGUAGE_TESTS:
            if arguments or named:
                self.problem(node, f"{node.name!r} takes no arguments")
            return Defined(target) if node.name == "defined" else Not(Defined(target))
        operation = TEST_TABLE.get(node.name)
        if operation is None:
            self._unknown(node, "test", node.name, [*TEST_TABLE, *LANGUAGE_TESTS])
            return _NOTHING
        return Tested(target, node.name, self._bind(node, node.name, operation, arguments, named))

    def _unknown(self, node: nodes.Node, kind: str, name: str, known: Sequence[str]) -> None:
        hint = did_you_mean(name, known)
        self.problem(node, f"unknown {kind} {name!r}{'; ' + hint if hint else ''}")

    def _bind(
        self,
        node: nodes.Node,
        name: str,
        operation: Operation,
        arguments: Sequence[nodes.Expr],
        named: dict[str, nodes.Expr],
    ) -> tuple[Expression | None, ...]:
        """Bring arguments into the order of the parameters."""
        parameters = operation.parameters
        bound: list[Expression | None] = [self.expression(argument) for argument in arguments[: len(parameters)]]
        bound += [None] * (len(parameters) - len(bound))
        for key, value in named.items():
            if key not in parameters:
                takes = ", ".join(parameters) or "none"
                self.problem(node, f"{name!r} has no parameter {key!r}; it takes: {takes}")
            elif bound[parameters.index(key)] is not None:
                self.problem(node, f"{name!r} gets {key!r} twice")
            else:
                bound[parameters.index(key)] = self.expression(value)
        missing = [parameters[index] for index in range(operation.required) if bound[index] is None]
        if missing:
            self.problem(node, f"{name!r} needs {' and '.join(f'`{parameter}`' for parameter in missing)}")
        if operation.more:
            bound.append(ListOf(self._all(arguments[len(parameters) :])))
        elif len(arguments) > len(parameters):
            self.problem(node, f"{name!r} takes at most {len(parameters)} arguments")
        return tuple(bound)


def _named(pairs: Sequence[nodes.Node] | None) -> dict[str, nodes.Expr]:
    # Jinja's annotations call these pairs, its parser makes keywords.
    return {pair.key: pair.value for pair in pairs or () if isinstance(pair, nodes.Keyword)}
