"""Compares two states of what workflows use: artifacts, models, stores, configuration, nodes, scenarios."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tuvl.analysis.nodes import NodeFacts
from tuvl.analysis.steps import mapping
from tuvl.changes.change import CODES, Change
from tuvl.changes.differences import compare_directed
from tuvl.changes.findings import Findings, Spot
from tuvl.changes.node_code import code_of, imported_code
from tuvl.changes.policy import Location
from tuvl.changes.prices import compare_prices
from tuvl.changes.site import Doc, Side
from tuvl.changes.walk import Walk, object_node
from tuvl.errors import UsageError
from tuvl.project.loading import read_file
from tuvl.spec.schema_files import KINDS, PROSE
from tuvl.spec.shape import table
from tuvl.values import canonical, dump_json

_TEXTS = {"prompt": "prompt-changed", "steering": "steering-changed", "skill": "skill-changed"}


def compare_documents(old: Doc, new: Doc) -> Findings:
    """Compare two documents of one kind."""
    findings = Findings(old, new)
    if new.kind == "WorkflowTest":
        if canonical(old.document.data) != canonical(new.document.data):
            findings.say("test-changed", f"scenario {new.name!r}", Spot((), ()), shown=(None, None))
        return findings
    kind = new.kind
    if kind in KINDS or kind == PROSE:
        Walk(kind, findings).document(old.data, new.data)
        _described(findings, old, new)
    if kind == PROSE:
        _body(findings, old, new)
    elif kind == "AgentModel":
        _provider(findings, old, new)
        _script(findings, old, new)
        compare_prices(findings, old, new)
    elif kind == "DataSource":
        _connection(findings, old, new)
    return findings


def _described(findings: Findings, old: Doc, new: Doc) -> None:
    was, now = old.head.get("description"), new.head.get("description")
    if was != now:
        path = ("description",) if new.body is not None else ("metadata", "description")
        # A model reads of a skill what it is for.
        code = "skill-changed" if new.data.get("type") == "skill" else "described"
        findings.say(code, "description", Spot(path, path, "description"), was, now, on_old=now is None)


def _body(findings: Findings, old: Doc, new: Doc) -> None:
    if (old.body or "").strip() == (new.body or "").strip():
        return
    code = _TEXTS.get(str(new.data.get("type")), "prompt-changed")
    before, after = (old.body or "").splitlines(), (new.body or "").splitlines()
    same = 0
    while same < min(len(before), len(after)) and before[same] == after[same]:
        same += 1
    findings.say(code, f"text of {new.name!r}", Spot((), ()), old.body, new.body)
    first = findings.changes.pop()
    line = new.body_line + min(same, max(0, len(after) - 1))
    findings.changes.append(_at_line(first, line))


def _at_line(change: Change, line: int) -> Change:
    return replace(change, line=line, column=1)


def _connection(findings: Findings, old: Doc, new: Doc) -> None:
    """Compare where a store is, apart from who calls: a URL, or its parts."""
    was, now = old.spec.get("connection"), new.spec.get("connection")
    path = ("spec", "connection")
    spot = Spot(path, path, "connection")
    if isinstance(was, dict) and isinstance(now, dict):
        block = object_node(table("DataSource").root.fields["spec"], {})
        Walk("DataSource", findings).pair(block.fields["connection"] if block is not None else None, was, now, spot)
    else:
        compare_directed(findings, Location("store-moved", "credential-changed"), was, now, spot)


def _provider(findings: Findings, old: Doc, new: Doc) -> None:
    """Another provider is another address; a script sends nothing anywhere."""
    was, now = old.spec.get("provider"), new.spec.get("provider")
    if was != now:
        code = "model-changed" if now == "scripted" else "provider-moved"
        findings.say(code, "provider", Spot(("spec", "provider"), ("spec", "provider")), was, now, on_old=now is None)


def _script(findings: Findings, old: Doc, new: Doc) -> None:
    was, now = old.spec.get("script"), new.spec.get("script")
    spot = Spot(("spec", "script"), ("spec", "script"), "script")
    before, after = _script_text(old, was), _script_text(new, now)
    if before != after:
        shown = (None if was is None else str(was), None if now is None else str(now))
        findings.say("model-changed", "replies of the script", spot, shown=shown, on_old=now is None)
    elif was != now:
        findings.say("spelled-otherwise", "script: the same replies", spot, was, now)


def _script_text(doc: Doc, script: object) -> bytes | None:
    if not isinstance(script, str) or not script:
        return None
    try:
        return read_file(Path(doc.document.file).absolute().parent / script)
    except UsageError:
        return None


def compare_nodes(old: Side, new: Side, before: NodeFacts | None, after: NodeFacts | None) -> list[Change]:
    """Compare a node: what its decorator declares, and the code that it runs."""
    if before is None or after is None:
        there = before or after
        if there is None:
            return []
        what = f"node {there.name!r} is {'not declared any more' if after is None else 'declared now'}"
        side = old if after is None else new
        return [replace(_of_node(side, there, what, None, None), old_side=after is None)]
    found = []
    for name in ("reads", "writes", "signals", "effects"):
        was, now = _declared(before, name), _declared(after, name)
        if was != now:
            found.append(_of_node(new, after, f"node {after.name!r} declares other {name}", was, now))
    if not found and before.is_async == after.is_async:
        was_text, text = _text(old, before), _text(new, after)
        if was_text != text:
            code, what = _code_change(was_text, text, after.name)
            found.append(_of_node(new, after, what, None, None, code=code))
    elif not found:
        found.append(_of_node(new, after, f"code of node {after.name!r}", None, None))
    found += _imported(old, new, before, after)
    return found


def _imported(old: Side, new: Side, before: NodeFacts, after: NodeFacts) -> Iterator[Change]:
    """Tell of other files that the file of a node imports."""
    was, now = imported_code(old.index, before), imported_code(new.index, after)
    names = [name for name in dict.fromkeys((*now, *was)) if was.get(name) != now.get(name)]
    differing = [name for name in names if name not in was or name not in now or was[name].plain != now[name].plain]
    if names:
        told, code = (differing, "node-changed") if differing else (names, "spelled-otherwise")
        more = f" and {len(told) - 1} more" if len(told) > 1 else ""
        said = "" if differing else ": the same, in other words"
        what = f"code that node {after.name!r} imports: {told[0]}{more}{said}"
        yield _of_node(new, after, what, None, None, code=code)


def _declared(node: NodeFacts, name: str) -> str | None:
    match name:
        case "reads":
            value: object = node.reads
        case "writes":
            value = node.writes
        case "signals":
            value = node.signals
        case _:
            return node.effects
    return None if value is None else dump_json(list(value))  # type: ignore[call-overload]


def _of_node(
    side: Side, node: NodeFacts, what: str, was: str | None, now: str | None, *, code: str = "node-changed"
) -> Change:
    return Change(
        cls=CODES[code].cls,
        code=code,
        message=what,
        before=was,
        after=now,
        file=side.shown(node.file),
        line=node.line,
        column=1,
        path="",
    )


def _text(side: Side, node: NodeFacts) -> str:
    return side.index.text_of(node.file) or ""


def _code_change(old: str, new: str, name: str) -> tuple[str, str]:
    """Code and words for the files of a node that differ."""
    before, after = code_of(old, name), code_of(new, name)
    if before is None or after is None or before.function != after.function:
        return "node-changed", f"code of node {name!r}"
    if before.used != after.used:
        return "node-changed", f"code that node {name!r} uses"
    if before.written == after.written:
        return "layout-changed", f"comments or layout of the file of node {name!r}"
    if before.module == after.module:
        return "spelled-otherwise", f"the file of node {name!r}: the same code, in other words"
    return "unused-changed", f"the file of node {name!r}; it uses nothing of what changed there"


def has_authority(doc: Doc) -> bool:
    """Whether a workflow can do anything beyond its own context: an agent, a call, a write, another workflow."""
    steps = doc.spec.get("steps")
    kinds = {mapping(step).get("kind") for step in steps} if isinstance(steps, list) else set()
    custom = [
        step
        for step in (steps if isinstance(steps, list) else [])
        if mapping(step).get("kind") == "Functional"
        and mapping(step).get("runner") not in ("set", "wait", "fail", "log")
    ]
    return bool(kinds & {"Agent", "APICall", "MCP", "ModelOp", "Workflow"}) or bool(custom)
