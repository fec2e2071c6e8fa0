"""Jinja's syntax tree → ours."""

from collections.abc import Iterable
from typing import cast

from jinja2 import nodes

from tuvl.templating.expressions import ExpressionConverter
from tuvl.templating.tree import Assign, Block, Branch, Capture, Emit, Loop, Read, Statement, Text, With

_STATEMENTS: dict[type[nodes.Node], str] = {
    nodes.Extends: "extends",
    nodes.Block: "block",
    nodes.Include: "include",
    nodes.Import: "import",
    nodes.FromImport: "from … import",
    nodes.Macro: "macro",
    nodes.CallBlock: "call",
    nodes.FilterBlock: "filter",
    nodes.Scope: "autoescape",
}


class Converter(ExpressionConverter):
    """Converts one template; `problems` collects what the language does not have."""

    def block(self, statements: Iterable[nodes.Node]) -> Block:
        """Convert a list of statements."""
        self._enter()
        result: list[Statement] = []
        for statement in statements:
            result += self._statement(statement)
        self._depth -= 1
        return tuple(result)

    def _statement(self, node: nodes.Node) -> list[Statement]:
        self._nodes += 1
        match node:
            case nodes.Output():
                return [self._output(part) for part in node.nodes]
            case nodes.If():
                return [self._branch(node)]
            case nodes.For():
                return [self._loop(node)]
            case nodes.Assign():
                return [self._assign(node.target, node.node)]
            case nodes.AssignBlock():
                return self._capture(node)
            case nodes.With():
                assigns = [self._assign(target, value) for target, value in zip(node.targets, node.values, strict=True)]
                return [With(tuple(assigns), self.block(node.body))]
        name = _STATEMENTS.get(type(node), type(node).__name__)
        self.problem(node, f"`{{% {name} %}}` is not available; if, for, set and with are")
        return []

    def _output(self, node: nodes.Node) -> Statement:
        self._nodes += 1
        if isinstance(node, nodes.TemplateData):
            return Text(node.data)
        return Emit(self.expression(node))

    def _branch(self, node: nodes.If) -> Statement:
        cases = [(self.expression(case.test), self.block(case.body)) for case in (node, *node.elif_)]
        return Branch(tuple(cases), self.block(node.else_))

    def _loop(self, node: nodes.For) -> Statement:
        if node.recursive:
            self.problem(node, "recursive loops are not available")
        targets, unpack = self._targets(node.target)
        items = self.expression(node.iter)
        reads, weight = self._loop_reads, self._nodes
        test = self.expression(node.test) if node.test is not None else None
        body = self.block(node.body)
        uses_loop = self._loop_reads > reads
        weight = self._nodes - weight
        return Loop(targets, unpack, items, test, body, self.block(node.else_), uses_loop, weight)

    def _assign(self, target: nodes.Node, value: nodes.Node) -> Assign:
        targets, unpack = self._targets(target)
        return Assign(targets, unpack, self.expression(value))

    def _capture(self, node: nodes.AssignBlock) -> list[Statement]:
        targets, unpack = self._targets(node.target)
        body = self.block(node.body)
        if unpack:
            self.problem(node, "`{% set %}` of a block takes one name")
            return []
        capture: list[Statement] = [Capture(targets[0], body)]
        if node.filter is not None:
            filtered = self._filter(node.filter, base=Read(targets[0]))
            capture.append(Assign(targets, False, filtered))
        return capture

    def _targets(self, node: nodes.Node) -> tuple[tuple[str, ...], bool]:
        if isinstance(node, nodes.Name):
            return (node.name,), False
        if isinstance(node, nodes.Tuple) and all(isinstance(item, nodes.Name) for item in node.items):
            return tuple(cast(nodes.Name, item).name for item in node.items), True
        self.problem(node, "only names can be set")
        return ("_",), False
