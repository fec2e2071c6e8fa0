"""Which document of one state is which of the other: by kind, name and version, and workflows that were renamed."""

from collections.abc import Sequence

from tuvl.changes.site import Doc
from tuvl.dataclass import dataclass
from tuvl.values import canonical


@dataclass(frozen=True, slots=True, kw_only=True)
class DocPair:
    """One document in both states, or in one of them."""

    kind: str
    name: str
    old: Doc | None
    new: Doc | None
    renamed: bool = False

    @property
    def counts(self) -> bool:
        """Whether both states are switched on, so that their contents are compared."""
        return self.old is not None and self.new is not None and self.old.enabled and self.new.enabled


def pair_documents(old: Sequence[Doc], new: Sequence[Doc], *, files: bool) -> list[DocPair]:
    """Pair documents; with `files` two files were named, and the one workflow of each belongs to the other."""
    before, after = _by_key(old), _by_key(new)
    pairs = [
        DocPair(kind=doc.kind, name=doc.name, old=before.get(key), new=doc)
        for key, doc in after.items()
        if key in before
    ]
    gone = [doc for key, doc in before.items() if key not in after]
    come = [doc for key, doc in after.items() if key not in before]
    for one, other in _renamed(gone, come, files=files):
        pairs.append(DocPair(kind="Workflow", name=other.name, old=one, new=other, renamed=True))
        gone.remove(one)
        come.remove(other)
    pairs += [DocPair(kind=doc.kind, name=doc.name, old=doc, new=None) for doc in gone]
    pairs += [DocPair(kind=doc.kind, name=doc.name, old=None, new=doc) for doc in come]
    return sorted(pairs, key=lambda pair: (pair.kind, pair.name, pair.old is None, pair.new is None))


def _by_key(docs: Sequence[Doc]) -> dict[tuple[str, ...], Doc]:
    found: dict[tuple[str, ...], Doc] = {}
    for doc in docs:
        version = doc.head.get("version", 1) if doc.kind in ("Artifact", "ProseFrontMatter") else None
        key = (doc.kind, doc.name, str(version if version is not None else doc.head.get("schema_version", "v1")))
        number = 1
        # Two documents of one key are a finding of their own; they are paired in their order.
        while (numbered := (*key, str(number))) in found:
            number += 1
        found[numbered] = doc
    return found


def _renamed(gone: Sequence[Doc], come: Sequence[Doc], *, files: bool) -> list[tuple[Doc, Doc]]:
    old = [doc for doc in gone if doc.kind == "Workflow"]
    new = [doc for doc in come if doc.kind == "Workflow"]
    if files and len(old) == len(new) == 1:
        return [(old[0], new[0])]
    pairs: list[tuple[Doc, Doc]] = []
    by_spec: dict[str, list[Doc]] = {}
    for doc in new:
        by_spec.setdefault(canonical(doc.data.get("spec")), []).append(doc)
    for doc in old:
        twins = by_spec.get(canonical(doc.data.get("spec")), [])
        versions = [other for other in new if other.name == doc.name and all(other is not pair[1] for pair in pairs)]
        twin = next((other for other in twins if all(other is not pair[1] for pair in pairs)), None)
        twin = twin or (versions[0] if len(versions) == 1 else None)
        if twin is not None:
            pairs.append((doc, twin))
    return pairs
