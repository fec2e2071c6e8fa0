"""Compares two states of a project, or two files: which documents belong together, and what each change concerns."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from functools import cached_property

from tuvl.changes.called import Called
from tuvl.changes.change import CLASSES, CODES, Change
from tuvl.changes.documents import compare_documents, compare_nodes, has_authority
from tuvl.changes.facts import Callees
from tuvl.changes.files import compare_files
from tuvl.changes.findings import TOP, Findings, Spot
from tuvl.changes.inheriting import concerning
from tuvl.changes.pairs import DocPair, pair_documents
from tuvl.changes.severities import compare_severities
from tuvl.changes.site import Doc, Side, doc_of, stops_short
from tuvl.changes.workflows import compare_workflows
from tuvl.dataclass import dataclass
from tuvl.values import canonical

_PairKey = tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What changed, gravest first, and the workflows that were compared."""

    changes: tuple[Change, ...]
    used_by: tuple[tuple[str, ...], ...]
    """For each change the workflows that it concerns."""
    workflows: tuple[DocPair, ...]
    touched: frozenset[str]
    """Names of the workflows that a change concerns."""
    differing: tuple[tuple[Doc | None, Doc | None], ...]
    """A document of each file that differs, in both states."""
    compared: tuple[tuple[Doc, Doc], ...] = ()
    """All documents that were compared in both states."""


@dataclass
class _Work:
    """A comparison under way."""

    old: Side
    new: Side
    done: dict[_PairKey, list[Change]] = field(default_factory=dict)
    uses: dict[_PairKey, list[_PairKey]] = field(default_factory=dict)
    seen: set[tuple[int, int]] = field(default_factory=set)
    documents: list[tuple[Doc, Doc]] = field(default_factory=list)

    @cached_property
    def called(self) -> Called:
        """The workflows that steps run, each followed once for all that run it."""
        return Called(Callees(self.old.index), Callees(self.new.index))

    def visit(self, old: Doc, new: Doc) -> _PairKey:
        """Compare two documents and all they refer to, each pair once."""
        start = _key(old, new)
        waiting = [(old, new)]
        while waiting:
            before, after = waiting.pop()
            key = _key(before, after)
            if key in self.done:
                continue
            findings = compare_pair(before, after, self.called)
            self.done[key] = findings.changes
            self.documents.append((before, after))
            self.seen |= {before.key, after.key}
            uses = self.uses.setdefault(key, [])
            for one, other in findings.links:
                self.seen |= {each.key for each in (one, other) if each is not None}
                if one is not None and other is not None and one.kind == other.kind:
                    uses.append(_key(one, other))
                    waiting.append((one, other))
            uses += [self._node(name) for name in findings.nodes]
        return start

    def _node(self, name: str) -> _PairKey:
        key: _PairKey = ("node", name)
        if key not in self.done:
            before, after = (side.index.nodes.declared.get(name) for side in (self.old, self.new))
            self.done[key] = compare_nodes(self.old, self.new, before, after)
        return key

    def reached(self, start: _PairKey) -> Iterator[_PairKey]:
        """Yield the pairs that a pair depends on, itself included."""
        seen: set[_PairKey] = set()
        waiting = [start]
        while waiting:
            key = waiting.pop()
            if key not in seen:
                seen.add(key)
                yield key
                waiting.extend(self.uses.get(key, ()))


def _key(old: Doc, new: Doc) -> _PairKey:
    return (*old.key, *new.key)


def compare_pair(old: Doc, new: Doc, called: Called | None = None) -> Findings:
    """Compare two states of one document; where they differ at all, something is said."""
    if old.kind == new.kind == "Workflow":
        findings = compare_workflows(old, new, called)
    else:
        findings = compare_documents(old, new)
    differs = canonical(old.document.data) != canonical(new.document.data)
    if differs and not findings.changes:
        code = "spelled-otherwise" if findings.spelled_otherwise else "field-changed"
        what = "the same, written otherwise" if findings.spelled_otherwise else "the document differs"
        findings.say(code, f"{what} ({new.kind} {new.name!r})", TOP, shown=(None, None))
    return findings


def compare(old: Side, new: Side, old_roots: Sequence[Doc], new_roots: Sequence[Doc], *, files: bool) -> Comparison:
    """Compare the documents of two states; with `files` two files were named rather than folders."""
    work = _Work(old, new)
    users: dict[_PairKey, set[str]] = {}
    extra: list[tuple[Change, tuple[str, ...]]] = []
    pairs = pair_documents(old_roots, new_roots, files=files)
    workflows = [pair for pair in pairs if pair.kind == "Workflow"]
    for pair in workflows:
        if not _hidden(work, pair):
            extra += [(change, (pair.name,)) for change in _presence(pair)]
        if pair.old is not None and pair.new is not None and pair.counts:
            for key in work.reached(work.visit(pair.old, pair.new)):
                users.setdefault(key, set()).add(pair.name)
    names = tuple(sorted({pair.name for pair in workflows}))
    config = _configuration(work)
    extra += [concerning(change, names, new) for change in config]
    extra += [(change, names) for change in compare_severities(old, new)]
    extra += [(change, ()) for change in _others(work, pairs, files=files)]
    told = [(change, tuple(sorted(users.get(key, ())))) for key, changes in work.done.items() for change in changes]
    told += extra
    told += [
        (change, tuple(sorted(users.get(key, ()))))
        for key, change in compare_files(work.documents, [change for change, _ in told], moved=not files)
    ]
    ordered = sorted(_unique(told), key=lambda each: _order(each[0]))
    return Comparison(
        changes=tuple(change for change, _ in ordered),
        used_by=tuple(concerned for _, concerned in ordered),
        workflows=tuple(workflows),
        touched=frozenset(name for _, concerned in ordered for name in concerned),
        differing=tuple(_differing(work, workflows)),
        compared=tuple(work.documents),
    )


def _unique(told: Iterable[tuple[Change, tuple[str, ...]]]) -> list[tuple[Change, tuple[str, ...]]]:
    found: dict[Change, set[str]] = {}
    for change, concerned in told:
        found.setdefault(change, set()).update(concerned)
    return [(change, tuple(sorted(concerned))) for change, concerned in found.items()]


def _order(change: Change) -> tuple[object, ...]:
    return (
        CLASSES.index(change.cls),
        change.file,
        change.line,
        change.column,
        change.code,
        change.message,
        change.before or "",
        change.after or "",
    )


def _differing(work: _Work, workflows: Sequence[DocPair]) -> Iterator[tuple[Doc | None, Doc | None]]:
    for old, new in work.documents:
        if old.side.index.text_of(old.document.file) != new.side.index.text_of(new.document.file):
            yield old, new
    for pair in workflows:
        if pair.old is None or pair.new is None:
            yield pair.old, pair.new


def _hidden(work: _Work, pair: DocPair) -> bool:
    """Whether a document that is in one state only may stand in a file of the other that cannot be read."""
    if pair.old is not None and pair.new is not None:
        return False
    other = work.new if pair.new is None else work.old
    return any(each.loaded is None or stops_short(each.loaded) for each in other.index.hiding(pair.name))


def _presence(pair: DocPair) -> Iterator[Change]:
    """Tell of a workflow that is new, gone, renamed or switched off."""
    old, new = pair.old, pair.new
    was, now = old is not None and old.enabled, new is not None and new.enabled
    if new is not None and now and not was:
        findings = Findings(old or new, new, workflow=new.name)
        code = "workflow-added" if has_authority(new) else "workflow-introduced"
        findings.say(code, f"workflow {new.name!r} is new{_holds(new)}", _at("metadata", "name"))
        yield from findings.changes
    elif old is not None and was and not now:
        findings = Findings(old, new or old, workflow=old.name)
        if new is None:
            findings.say("workflow-removed", f"workflow {old.name!r} is gone", _at("metadata", "name"), on_old=True)
        else:
            findings.say("workflow-disabled", f"workflow {old.name!r} is switched off", _at("enabled"))
        yield from findings.changes
    elif old is not None and new is not None and was and now and pair.renamed:
        findings = Findings(old, new, workflow=new.name)
        names = (_full_name(old), _full_name(new))
        findings.say("workflow-renamed", "the workflow has another name", _at("metadata", "name"), shown=names)
        yield from findings.changes
    elif old is not None and new is not None and not was and not now and _says(old) != _says(new):
        findings = Findings(old, new, workflow=new.name)
        what = f"workflow {new.name!r} changed, and is switched off"
        findings.say("unused-changed", what, _at("metadata", "name"), shown=(None, None))
        yield from findings.changes


def _at(*path: str) -> Spot:
    return Spot(path, path)


def _full_name(doc: Doc) -> str:
    version = doc.head.get("schema_version", "v1")
    return doc.name if version == "v1" else f"{doc.name} ({version})"


def _holds(doc: Doc) -> str:
    steps = doc.spec.get("steps")
    kinds = [str(step.get("kind")) for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
    counts = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
    return f" ({', '.join(f'{count} {kind}' for kind, count in counts.items())})" if counts else ""


def _configuration(work: _Work) -> list[Change]:
    documents = [side.index.config_document for side in (work.old, work.new)]
    if any(side.index.config_faults for side in (work.old, work.new)) or documents == [None, None]:
        return []
    before, after = documents
    old = doc_of(work.old, before) if before is not None else None
    new = doc_of(work.new, after) if after is not None else None
    if old is not None and new is not None:
        work.visit(old, new)
        return work.done.pop(_key(old, new))
    there = old or new
    if there is None:
        return []
    nothing = Doc(there.side, there.document, {})
    findings = compare_documents(old or nothing, new or nothing)
    return [replace(change, old_side=new is None) for change in findings.changes]


def _others(work: _Work, pairs: Sequence[DocPair], *, files: bool) -> Iterator[Change]:
    """Tell of documents that no workflow uses, as far as they differ; of files that were named, in full."""
    for pair in pairs:
        if pair.kind in ("Workflow", "ProjectConfig"):
            continue
        docs = [doc for doc in (pair.old, pair.new) if doc is not None]
        if any(doc.key in work.seen for doc in docs):
            continue
        if pair.old is not None and pair.new is not None:
            if files:
                work.visit(pair.old, pair.new)
            elif _says(pair.old) != _says(pair.new):
                yield _unused(pair.old, pair.new, "changed")
        elif docs and not _hidden(work, pair):
            yield _unused(docs[0], docs[0], "is gone" if pair.new is None else "is new", gone=pair.new is None)


def _says(doc: Doc) -> tuple[str, str | None]:
    return canonical(doc.document.data), doc.body


def _unused(old: Doc, new: Doc, what: str, *, gone: bool = False) -> Change:
    findings = Findings(old, new)
    is_test = new.kind == "WorkflowTest"
    code = "test-changed" if is_test else "unused-changed"
    kind = "artifact" if new.body is not None else "scenario" if is_test else new.kind
    said = f"{kind} {new.name!r} {what}" + ("" if is_test else "; no workflow uses it")
    findings.say(code, said, TOP, shown=(None, None), on_old=gone)
    return replace(findings.changes[0], cls=CODES[code].cls)
