"""Whether two schemas say the same in the same words, and what each amounts to, looked up once."""

from collections.abc import Iterator
from dataclasses import field

from tuvl.analysis.schema_facts import pointed
from tuvl.changes.schema_place import NOTES, At
from tuvl.changes.schema_simple import simplified
from tuvl.dataclass import dataclass
from tuvl.values import canonical


@dataclass(slots=True)
class Sameness:
    """Two schemas in which places are held against each other."""

    roots: tuple[object, object]
    _refs: dict[str, bool] = field(default_factory=dict)
    """`$ref` → whether it means the same in both, all that it refers to in turn included."""
    _whole: list[bool] = field(default_factory=list)

    def is_same(self, old: object, new: object) -> bool:
        """Whether two places have the same words, and these mean the same by what they refer to."""
        if type(old) is not type(new) or canonical(old) != canonical(new):  # type: ignore[arg-type]  # documents hold JSON
            return False
        refs = set(_refs_in(old))
        return not refs or self._roots_are_same() or all(map(self._means_same, refs))

    def _roots_are_same(self) -> bool:
        if not self._whole:
            self._whole.append(canonical(self.roots[0]) == canonical(self.roots[1]))  # type: ignore[arg-type]
        return self._whole[0]

    def _means_same(self, ref: str) -> bool:
        if ref not in self._refs:
            waiting, seen, same = [ref], {ref}, True
            while waiting and same:
                found = [pointed(root, waiting[-1]) for root in self.roots]
                name = waiting.pop()
                one, other = (None if each is None else each[0] for each in found)
                # What is named in another way than by where it stands may be anywhere, and another thing.
                same = None not in found and self._refs.get(name) is not False
                same = same and canonical(one) == canonical(other)  # type: ignore[arg-type]
                more = set(_refs_in(one)) - seen if same else set()
                seen |= more
                waiting.extend(more)
            # All that were met mean the same when each has the same words; otherwise only this one is known not to.
            self._refs.update(dict.fromkeys(seen, True) if same else {ref: False})
        return self._refs[ref]


def _refs_in(value: object) -> Iterator[str]:
    """Yield all that a value refers to; what is found while it is held against a value is told as going nowhere."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            ref = part.get("$ref")
            if isinstance(ref, str):
                yield ref
            if "$dynamicRef" in part or "$recursiveRef" in part:
                yield ""
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)


@dataclass(slots=True)
class Simplified:
    """What schemas amount to; both are kept, since they are told apart by their identity."""

    _made: dict[tuple[int, int], tuple[object, object]] = field(default_factory=dict)

    def of(self, at: At, root: object) -> At:
        """Follow a `$ref` within the schema, and write what it leads to the plain way."""
        for _ in range(32):
            table = at.table
            ref = table.get("$ref")
            if not isinstance(ref, str) or table.keys() - {"$ref", *NOTES, "$defs"}:
                break
            target = pointed(root, ref)
            if target is None:
                break
            at = At(target[0], target[1], at.where)
        key = (id(root), id(at.schema))
        if key not in self._made:
            simple = simplified(at.schema, lambda ref: (pointed(root, ref) or (None,))[0])
            same = canonical(simple) == canonical(at.schema)  # type: ignore[arg-type]  # documents hold JSON
            self._made[key] = (at.schema, at.schema if same else simple)
        return At(self._made[key][1], at.path, at.where)
