"""Checks plain data against the language, without pydantic: every mistake of a document at once, each with its place.

The table is compiled from the shipped JSON Schemas; what is left to other rules is listed in `left_open`.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from tuvl.dataclass import dataclass
from tuvl.spec import misplaced
from tuvl.spec.removed import REMOVED_KINDS, replacement
from tuvl.spec.schema_files import KINDS, PROSE, load_schema
from tuvl.spec.table import LARGEST, AnyOfNode, ChoiceNode, ListNode, MapNode, Node, ObjectNode, ScalarNode, Table
from tuvl.spec.wording import found, hint_for, number, wanted
from tuvl.suggest import certain, closest
from tuvl.values import KeyPath, shorten


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeProblem:
    """One thing a document says that the language does not: TV101 to TV106, or TV108.

    `at_key` says that the key at `path` is meant, not its value. A missing field has the path of the mapping that
    lacks it. `fixable`: the suggested field name can be put in place of the one that is there; no other can be meant.
    """

    code: str
    path: KeyPath
    message: str
    hint: str | None = None
    at_key: bool = False
    fixable: bool = False
    suggestion: str | None = None


@cache
def table(kind: str) -> Table:
    """Return the compiled table of a document kind, or of `PROSE`."""
    return Table(load_schema(kind))


def shape_problems(data: object, *, kind: str | None, project_default_model: bool = False) -> list[ShapeProblem]:
    """Return what is wrong with a document's shape, in the order of its text; never raises for any JSON value.

    `kind` is what the document's `kind:` says, or `PROSE` for the front matter of a markdown artifact. With
    `project_default_model` an agent may leave `model` out.
    """
    if kind not in KINDS and kind != PROSE:
        return [_unknown_document_kind(kind)]
    walk = _Walk(data, project_default_model)
    walk.document(table(kind).root)
    return walk.problems


def _unknown_document_kind(kind: str | None) -> ShapeProblem:
    if kind in REMOVED_KINDS:
        message = f"{kind!r} is a step kind of an older version, not a document kind"
        return ShapeProblem(code="TV106", path=("kind",), message=message, hint=REMOVED_KINDS[kind])
    near = closest(kind, KINDS) if isinstance(kind, str) else None
    message = f"unknown document kind {shorten(kind, 40)!r}" if isinstance(kind, str) else "`kind` must name a document"
    hint = f"did you mean {near!r}?" if near else f"the kinds are {', '.join(KINDS)}"
    return ShapeProblem(code="TV104", path=("kind",), message=message, hint=hint)


class _Walk:
    """One pass over one document."""

    def __init__(self, data: object, project_default_model: bool) -> None:
        self.data = data
        self.problems: list[ShapeProblem] = []
        self._default_model = project_default_model
        self._parents: list[ObjectNode] = []
        self._checks: dict[type, Callable[[Any, Any, KeyPath], None]] = {
            ScalarNode: self._scalar,
            ListNode: self._list,
            MapNode: self._map,
            ObjectNode: self._object,
            ChoiceNode: self._choice,
            AnyOfNode: self._any_of,
        }

    def document(self, root: ObjectNode) -> None:
        """Check the whole document."""
        self._check(root, self.data, ())

    def _check(self, node: Node, value: Any, path: KeyPath) -> None:
        check = self._checks.get(type(node))
        if check is not None:
            check(node, value, path)

    def _scalar(self, node: ScalarNode, value: Any, path: KeyPath) -> None:
        if type(value) not in node.types or not node.fits(value):
            self._wrong(node, value, path)

    def _list(self, node: ListNode, value: Any, path: KeyPath) -> None:
        if type(value) is not list or len(value) < node.min_items:
            self._wrong(node, value, path)
            return
        check = self._checks.get(type(node.item))
        if check is not None:
            for index, item in enumerate(value):
                check(node.item, item, (*path, index))

    def _map(self, node: MapNode, value: Any, path: KeyPath) -> None:
        if type(value) is not dict:
            self._wrong(node, value, path)
            return
        for key, item in value.items():
            if len(key) < node.min_key_length:
                self._add("TV102", (*path, key), f"a key of {self._place(path)} is empty", at_key=True)
            self._check(node.value, item, (*path, key))

    def _any_of(self, node: AnyOfNode, value: Any, path: KeyPath) -> None:
        kind = type(value)
        branches = [branch for branch in node.branches if kind in branch.types]
        if len(branches) == 1 and not isinstance(branches[0], ScalarNode):
            self._check(branches[0], value, path)
        elif not any(isinstance(branch, ScalarNode) and branch.fits(value) for branch in branches):
            self._wrong(node, value, path)

    def _choice(self, node: ChoiceNode, value: Any, path: KeyPath) -> None:
        if type(value) is not dict:
            self._wrong(node, value, path)
            return
        tag = value.get(node.field)
        case = node.cases.get(tag, node.otherwise) if isinstance(tag, str) else node.otherwise
        if case is None:
            self._undecided(node, value, path)
            case = node.merged
        self._check(case, value, path)

    def _undecided(self, node: ChoiceNode, value: Mapping[str, Any], path: KeyPath) -> None:
        field = node.field
        if node.left:
            return
        if field not in value:
            one_of = ", ".join(node.cases)
            self._missing(field, path, hint=f"`{field}` is one of {one_of}")
            return
        tag = value[field]
        at = (*path, field)
        if field == "kind" and isinstance(tag, str):
            self._unknown_step_kind(tag, node, at)
            return
        near = closest(tag, node.cases) if isinstance(tag, str) else None
        choices = ", ".join(f"`{case}`" for case in node.cases)
        message = f"{self._place(at)} must be one of {choices}, not {found(tag, at)}"
        self._add("TV102", at, message, f"did you mean {near!r}?" if near else None)

    def _unknown_step_kind(self, tag: str, node: ChoiceNode, at: KeyPath) -> None:
        if tag in REMOVED_KINDS:
            self._add("TV106", at, f"the step kind {tag!r} is no more", REMOVED_KINDS[tag])
            return
        near = closest(tag, node.cases)
        hint = f"did you mean {near!r}?" if near else f"the kinds are {', '.join(node.cases)}"
        self._add("TV104", at, f"unknown step kind {shorten(tag, 40)!r}", hint)

    def _object(self, node: ObjectNode, value: Any, path: KeyPath) -> None:
        if type(value) is not dict:
            self._wrong(node, value, path)
            return
        self._parents.append(node)
        fields, checks = node.fields, self._checks
        elsewhere: set[str] = set()
        for key, item in value.items():
            child = fields.get(key)
            if child is not None:
                check = checks.get(type(child))
                if check is not None:
                    check(child, item, (*path, key))
            elif key not in node.left and not node.open:
                elsewhere |= self._unknown(node, key, value, path)
        for key in node.required:
            if key not in value and key not in elsewhere:
                self._missing(key, path)
        if node.given_by_project and not self._default_model:
            for key in node.given_by_project:
                if value.get(key) is None:
                    self._missing(key, path, hint="name a model, or give the project a `default_model` in tuvl.yaml")
        if node.alternatives or node.needs:
            self._rules(node, value, path)
        self._parents.pop()

    def _rules(self, node: ObjectNode, value: Mapping[str, Any], path: KeyPath) -> None:
        for names, least, most in node.alternatives:
            given = [name for name in names if value.get(name) is not None]
            listed = ", ".join(f"`{name}`" for name in names)
            if len(given) < least:
                word = "exactly one" if most == 1 else "at least one"
                self._add("TV103", path, f"{self._place(path)} needs {word} of {listed}", at_key=_has_key(path))
            elif len(given) > most:
                both = " and ".join(f"`{name}`" for name in given)
                message = f"{both} exclude each other in {self._place(path)}"
                self._add("TV102", (*path, given[-1]), message, f"keep one of {listed}", at_key=True)
        for need in node.needs:
            decided = value.get(need.field)
            if (isinstance(decided, str) and decided in need.values) != need.otherwise:
                for name in need.fields:
                    if name not in value:
                        reason = f" (`{need.field}` is {shorten(decided, 40)!r})" if isinstance(decided, str) else ""
                        self._missing(name, path, reason=reason)

    def _unknown(self, node: ObjectNode, key: str, value: Mapping[str, Any], path: KeyPath) -> set[str]:
        """Report an unknown field; return the blocks it belongs into, which are then not reported missing."""
        at = (*path, key)
        for definition in node.definitions:
            instead = replacement(definition, key)
            if instead:
                self._add("TV106", at, f"{key!r} in {self._place(path)} is no more", instead, at_key=True)
                return set()
        if not path and key in misplaced.fields_below(node.fields.get("spec")):
            message = f"{key!r} stands beside `kind:`; it belongs under `spec:`"
            self._add("TV105", at, message, f"move it under `spec:` and indent it: `spec.{key}`", at_key=True)
            return {"spec"}
        home = misplaced.home(key, self._parents)
        near = closest(key, node.fields)
        guess = f"did you mean {near!r}?" if near else None
        hint = " ".join(part for part in (home.words if home else None, guess) if part)
        self.problems.append(
            ShapeProblem(
                code="TV101",
                path=at,
                message=f"unknown field {shorten(key, 60)!r} in {self._place(path)}",
                hint=hint or f"known are {', '.join(sorted(node.fields))}",
                at_key=True,
                fixable=home is None and near is not None and near not in value and certain(key, node.fields) == near,
                suggestion=near if home is None else None,
            )
        )
        return {home.block} if home and home.block else set()

    def _missing(self, key: str, path: KeyPath, *, hint: str | None = None, reason: str = "") -> None:
        self._add("TV103", path, f"`{key}` is missing in {self._place(path)}{reason}", hint, at_key=_has_key(path))

    def _wrong(self, node: Node, value: Any, path: KeyPath) -> None:
        if isinstance(node, ScalarNode) and node.is_name and isinstance(value, str):
            message = f"{self._place(path)} may not be {shorten(value, 80)!r}"
            self._add("TV108", path, message, f"allowed is {node.words}")
            return
        if isinstance(value, int | float) and not -LARGEST <= value <= LARGEST:
            self._add("TV102", path, f"{self._place(path)} is the number {number(value)}, which is out of range")
            return
        message = f"{self._place(path)} must be {wanted(node)}, not {found(value, path)}"
        self._add("TV102", path, message, hint_for(node, value, path))

    def _add(self, code: str, path: KeyPath, message: str, hint: str | None = None, *, at_key: bool = False) -> None:
        self.problems.append(ShapeProblem(code=code, path=path, message=message, hint=hint, at_key=at_key))

    def _place(self, path: KeyPath) -> str:
        """Name a place the way the author thinks of it: `agent.tools[0]` of step 'triage'."""
        return misplaced.place(self.data, path)


def _has_key(path: KeyPath) -> bool:
    return bool(path) and isinstance(path[-1], str)
