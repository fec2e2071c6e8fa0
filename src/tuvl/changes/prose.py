"""Compares texts and references: what a reference leads to counts, not how it is written."""

from tuvl.analysis.steps import items
from tuvl.artifacts.reference import ArtifactRef, is_reference
from tuvl.changes.findings import Findings, Spot
from tuvl.changes.policy import Named, Prose, References
from tuvl.changes.site import Doc, Side, doc_of, doc_of_artifact
from tuvl.dataclass import dataclass
from tuvl.values import canonical


@dataclass(frozen=True, slots=True)
class _Source:
    """What stands at a site for prose: the text, and the artifact it comes from."""

    written: object
    doc: Doc | None
    text: str | None
    template: bool

    @property
    def missing(self) -> bool:
        """Whether it is a reference that leads nowhere."""
        return is_reference(self.written) and self.doc is None


def _source(side: Side, value: object) -> _Source:
    if not is_reference(value):
        return _Source(value, None, value if isinstance(value, str) else None, True)
    view = side.index.resolve(str(value))
    doc = doc_of_artifact(side, view)
    return _Source(value, doc, None if view is None else view.body, view is not None and view.template)


def compare_prose(findings: Findings, policy: Prose, old: object, new: object, spot: Spot) -> None:
    """Compare the texts at one site; artifacts of one place are compared as documents, where their files differ."""
    code = policy.code
    before, after = _source(findings.old.side, old), _source(findings.new.side, new)
    if before.doc is not None and after.doc is not None:
        findings.link(before.doc, after.doc)
        _reference(findings, policy, before, after, spot)
        return
    findings.link(before.doc, after.doc)
    if canonical(old) == canonical(new):  # type: ignore[arg-type]  # documents hold JSON
        if before.missing != after.missing:
            findings.say(code, f"{spot.label} leads {'nowhere' if after.missing else 'somewhere'} now", spot, old, new)
        return
    same = before.text is not None and before.text.strip() == (after.text or "").strip()
    if same and (before.template == after.template or "{" not in str(before.text)):
        findings.say("spelled-otherwise", f"{spot.label}: the same text", spot, old, new)
        return
    shown_old = before.text if before.text is not None else old
    shown_new = after.text if after.text is not None else new
    findings.say(code, spot.label, spot, shown_old, shown_new, on_old=new is None)


def _reference(findings: Findings, policy: Prose, before: _Source, after: _Source, spot: Spot) -> None:
    same = before.text == after.text and before.template == after.template
    if before.written == after.written and (same or not policy.weighs):
        return
    shown = (str(before.written), str(after.written))
    if same:
        findings.say("relabelled", f"{spot.label}: another version or name of the same text", spot, shown=shown)
    else:
        what = "another artifact" if before.written != after.written else "another text of the artifact"
        findings.say(policy.code, f"{spot.label}: {what}", spot, shown=shown)


def compare_references(findings: Findings, policy: References, old: object, new: object, spot: Spot) -> None:
    """Compare references as sets, each known again by its name; what they lead to is compared where it stands."""
    before = _by_name(items(old) if not isinstance(old, str) else [old])
    after = _by_name(items(new) if not isinstance(new, str) else [new])
    single = isinstance(old, str) or isinstance(new, str)
    for name, (index, written) in before.items():
        if name not in after:
            doc = _find(findings.old.side, written)
            twin = next(
                (each for key, each in after.items() if key not in before and _same(findings, doc, each[1])), None
            )
            below = spot if single else spot.at(index, label="")
            if twin is not None:
                other = spot if single else spot.at(index, twin[0], label="")
                findings.say("relabelled", f"{spot.label}: another name of the same", other, written, twin[1])
                findings.link(doc, _find(findings.new.side, twin[1]))
            else:
                findings.say(policy.removed, f"{spot.label}: {name!r} is gone", below, written, None, on_old=True)
                findings.link(doc, None)
    for name, (index, written) in after.items():
        doc = _find(findings.new.side, written)
        below = spot if single else spot.at(index, label="")
        if name in before:
            _again(findings, policy, before[name], (index, written), spot, single=single)
        elif not any(
            key not in after and _same(findings, _find(findings.old.side, was[1]), written)
            for key, was in before.items()
        ):
            findings.say(policy.added, f"{spot.label}: {name!r} is new", below, None, written)
            findings.link(None, doc)
    order = [name for name in before if name in after]
    if order != [name for name in after if name in before]:
        findings.say("order-changed", f"{spot.label} in another order", spot)


def _again(
    findings: Findings,
    policy: References,
    old: tuple[int, object],
    new: tuple[int, object],
    spot: Spot,
    *,
    single: bool,
) -> None:
    """Compare a reference with the one of the same name: its version, and what it leads to."""
    below = spot if single else spot.at(old[0], new[0], label="")
    before, after = _find(findings.old.side, old[1]), _find(findings.new.side, new[1])
    findings.link(before, after)
    if (before is None) != (after is None):
        nowhere = after is None and is_reference(new[1])
        findings.say(
            policy.changed, f"{spot.label} leads {'nowhere' if nowhere else 'somewhere'} now", below, old[1], new[1]
        )
    elif old[1] != new[1]:
        same = before is not None and after is not None and content(before) == content(after)
        code = "relabelled" if same else policy.changed
        findings.say(code, f"{spot.label}: another version", below, old[1], new[1])


def _same(findings: Findings, old: Doc | None, written: object) -> bool:
    new = _find(findings.new.side, written)
    return old is not None and new is not None and content(old) == content(new)


def content(doc: Doc) -> tuple[str, str | None]:
    """What a document says, its name, version and description aside."""
    if doc.body is not None:
        front = {key: value for key, value in doc.data.items() if key in ("type", "template")}
        return canonical(front), doc.body
    return canonical(doc.data.get("spec")), None


def _by_name(entries: list[object]) -> dict[str, tuple[int, object]]:
    found: dict[str, tuple[int, object]] = {}
    for index, entry in enumerate(entries):
        reference = ArtifactRef.parse(entry) if isinstance(entry, str) else None
        name = reference.name if reference is not None else canonical(entry)  # type: ignore[arg-type]
        found.setdefault(name, (index, entry))
    return found


def _find(side: Side, written: object) -> Doc | None:
    return doc_of_artifact(side, side.index.resolve(written)) if isinstance(written, str) else None


def compare_named(findings: Findings, policy: Named, old: object, new: object, spot: Spot) -> None:
    """Compare which document is named; what it says is compared where it stands."""
    before, after = _named(findings.old.side, policy.kind, old), _named(findings.new.side, policy.kind, new)
    findings.link(before, after)
    if canonical(old) != canonical(new):  # type: ignore[arg-type]  # documents hold JSON
        findings.say(policy.code, spot.label, spot, old, new, on_old=new is None)
    elif (before is None) != (after is None):
        gone = after is None
        code = "field-changed" if gone else policy.code
        findings.say(code, f"{spot.label}: {old!r} is {'not found any more' if gone else 'found now'}", spot)


def _named(side: Side, kind: str, name: object) -> Doc | None:
    if not isinstance(name, str) or "/" in name:
        return None
    document = side.index.find(kind, name)
    return None if document is None else doc_of(side, document)
