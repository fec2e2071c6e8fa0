"""Where an unknown field belongs, and how a place in a document is named."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tuvl.spec.table import AnyOfNode, ChoiceNode, ListNode, Node, ObjectNode
from tuvl.values import KeyPath, format_path


class Home(NamedTuple):
    """Where a field belongs: in words, and the block beside it that holds it (`None` when it is elsewhere)."""

    words: str
    block: str | None


def home(key: str, parents: Sequence[ObjectNode]) -> Home | None:
    """Return where a field that the innermost of `parents` does not know belongs, looking nearby first."""
    here = parents[-1]
    block = _block_with(key, here.fields)
    if block:
        return Home(f"it belongs under `{block}:`", block)
    for distance, outer in enumerate(reversed(parents[:-1]), start=1):
        if key in outer.fields:
            inner = parents[-distance]
            name = next((name for name, child in outer.fields.items() if _leads_to(child, inner)), None)
            return Home(f"it belongs one level up, beside `{name}:`" if name else "it belongs further up", None)
        block = _block_with(key, outer.fields)
        if block:
            return Home(f"`{block}:` further up takes it", None)
    return None


def _block_with(key: str, fields: Mapping[str, Node]) -> str | None:
    return next((name for name, child in fields.items() if key in fields_below(child)), None)


def fields_below(node: Node | None) -> Mapping[str, Node]:
    """Return the fields of the mapping a node takes; of all cases, where one field decides between several."""
    if isinstance(node, ChoiceNode):
        node = node.merged
    if isinstance(node, AnyOfNode):
        node = next((branch for branch in node.branches if isinstance(branch, ObjectNode)), None)
    return node.fields if isinstance(node, ObjectNode) else {}


def _leads_to(node: Node, inner: ObjectNode) -> bool:
    if isinstance(node, ListNode):
        node = node.item
    if isinstance(node, ChoiceNode):
        node = node.merged
    if isinstance(node, AnyOfNode):
        return any(_leads_to(branch, inner) for branch in node.branches)
    return isinstance(node, ObjectNode) and not set(inner.definitions).isdisjoint(node.definitions)


def place(data: object, path: KeyPath) -> str:
    """Name a place of a document the way its author thinks of it: `agent.tools[0]` of step 'triage'."""
    if not path:
        return "the document"
    if len(path) >= 3 and path[:2] == ("spec", "steps") and isinstance(path[2], int):
        step = _step_name(data, path[2])
        return step if len(path) == 3 else f"`{format_path(path[3:])}` of {step}"
    return f"`{format_path(path)}`"


def _step_name(data: object, index: int) -> str:
    try:
        name = data["spec"]["steps"][index]["id"]  # type: ignore[index]  # whatever is there, or is not
    except (KeyError, TypeError, IndexError):
        name = None
    return f"step {name!r}" if isinstance(name, str) and name else f"step {index + 1}"
