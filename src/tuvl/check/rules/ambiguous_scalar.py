"""TV007 ambiguous-scalar."""

from collections.abc import Iterator

from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject
from tuvl.source.document import AmbiguousScalar
from tuvl.spec.schema_files import KINDS, PROSE
from tuvl.spec.shape import table
from tuvl.spec.table import AnyNode, AnyOfNode, ChoiceNode, ListNode, MapNode, Node, ObjectNode, ScalarNode
from tuvl.values import JsonValue, KeyPath


class AmbiguousScalarRule(Rule):
    """A value that other YAML tools read differently: `yes`, `010`, `1:30`, `1_000`, a date, a version such as `1.10`.

    Here the core rules of YAML 1.2 hold, so the run is not in doubt. A linter, a formatter or a colleague's script
    may read a boolean, another number or a date, and write that back. Quotes, or another spelling, mean the same to
    all. Where the language takes text only, the value is text and nothing is said.
    """

    code = "TV007"
    name = "ambiguous-scalar"
    severity = Severity.WARNING

    def visit_document(self, subject: Subject) -> Iterator[Finding]:
        """Look at the plain values of the document."""
        document = subject.document
        kind = document.kind if document.kind is not None else PROSE
        if not document.ambiguous or (kind not in KINDS and kind != PROSE):
            return
        root = table(kind).root
        for scalar in document.ambiguous:
            if _is_open(_node_at(root, document.data, scalar.path), scalar):
                yield self.finding_at(
                    document.file,
                    scalar.range,
                    _message(scalar),
                    hint=f'write "{scalar.text}" if it is meant as text',
                    path=scalar.path,
                )


def _message(scalar: AmbiguousScalar) -> str:
    if scalar.here == scalar.elsewhere:
        return f"{scalar.text} is {scalar.here}: as a version it has lost a zero"
    return f"{scalar.text} is {scalar.here} here, and {scalar.elsewhere} to other YAML tools"


def _is_open(node: Node | None, scalar: AmbiguousScalar) -> bool:
    """Whether the reading matters where the value stands."""
    if scalar.here == scalar.elsewhere:
        # A number to everyone; only where text may be meant has `1.10` lost something.
        named_version = any(isinstance(part, str) and "version" in part.lower() for part in scalar.path[-2:])
        return named_version if isinstance(node, AnyNode) else _takes(node, str) and _takes(node, float)
    if isinstance(node, AnyNode):
        return True
    if not isinstance(node, ScalarNode | AnyOfNode) or node.types <= {str, type(None)}:
        return False
    # A value of the wrong type is a finding of its own.
    return _takes(node, str) if scalar.here == "text" else _takes(node, int) or _takes(node, float)


def _takes(node: Node | None, type_: type) -> bool:
    return isinstance(node, ScalarNode | AnyOfNode) and type_ in node.types


def _node_at(root: Node, data: JsonValue, path: KeyPath) -> Node | None:
    node: Node | None = root
    value = data
    for part in path:
        node = _chosen(node, value)
        if node is None or isinstance(node, AnyNode):
            return node
        node = _child(node, part)
        if isinstance(value, dict):
            value = value.get(str(part))
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return None
    return _chosen(node, value) if isinstance(node, ChoiceNode) else node


def _chosen(node: Node | None, value: JsonValue) -> Node | None:
    """Settle a node with alternatives by the value that is there."""
    if isinstance(node, AnyOfNode):
        return next((branch for branch in node.branches if type(value) in branch.types), None)
    if isinstance(node, ChoiceNode):
        tag = value.get(node.field) if isinstance(value, dict) else None
        case = node.cases.get(tag, node.otherwise) if isinstance(tag, str) else node.otherwise
        return node.merged if case is None else _chosen(case, value)
    return node


def _child(node: Node, part: str | int) -> Node | None:
    if isinstance(node, ObjectNode):
        return node.fields.get(str(part))
    if isinstance(node, MapNode):
        return node.value
    return node.item if isinstance(node, ListNode) else None
