"""What steps do outside the run: writes, hosts, nodes, operations on records."""

from collections.abc import Mapping
from typing import Any

from tuvl.analysis.effects import effects_of
from tuvl.analysis.signals import BUILT_IN_NODES
from tuvl.analysis.steps import StepView, mapping
from tuvl.changes.deeds import deeds_of
from tuvl.changes.facts import WorkflowFacts, host_of
from tuvl.changes.findings import Findings, Spot
from tuvl.values import canonical

_WHERE = {
    "APICall": ("http", "method"),
    "MCP": ("mcp", "tool"),
    "ModelOp": ("operation",),
    "Functional": ("runner",),
}


_TO_ANOTHER = frozenset({"host", ":authority", "forwarded", "x-forwarded-host", "x-host", "x-original-host"})
"""Headers by which a server behind the address takes a call for one to another host."""
_FRAMING = frozenset({"transfer-encoding", "content-length", "connection", "upgrade", "te", "trailer", "expect"})
"""Headers that say where a request ends; what they say otherwise may be taken for a second one."""
_AS_ANOTHER = frozenset(
    {"x-http-method-override", "x-http-method", "x-method-override", "x-original-url", "x-rewrite-url"}
)
"""Headers by which a call is taken for one of another method, or of another path."""


def compare_effects(
    findings: Findings, old: WorkflowFacts, new: WorkflowFacts, before: StepView, after: StepView, spot: Spot
) -> None:
    """Compare what one step does."""
    _writes(findings, old, new, before, after, spot)
    _url(findings, old, new, before, after, spot)
    if after.kind == "APICall":
        compare_headers(findings, before, after, spot)
    if before.kind == after.kind == "APICall":
        _method(findings, old, new, before, after, spot)
    elif before.kind == after.kind == "Functional":
        _runner(findings, old, new, before, after, spot)
    elif after.kind == "ModelOp":
        _model(findings, old, new, after, spot)


def compare_headers(findings: Findings, before: StepView | None, after: StepView, spot: Spot) -> None:
    """Tell of headers by which a call becomes another than its URL and method say."""
    was = {str(name).lower(): value for name, value in _headers(before).items()} if before is not None else {}
    for name, value in _headers(after).items():
        lower = str(name).lower()
        if lower in was and canonical(was[lower]) == canonical(value):
            continue
        place = spot.at("http").at("headers").at(name)
        if lower in _TO_ANOTHER:
            findings.say(
                "host-added", f"header {name!r} names a host of its own", place, was.get(lower), value, may=True
            )
        elif lower in _FRAMING:
            said = f"header {name!r} may hide a second request to any host"
            findings.say("host-added", said, place, was.get(lower), value, may=True)
        elif lower in _AS_ANOTHER:
            said = f"header {name!r} may make another call of it"
            findings.say("operation-changed", said, place, was.get(lower), value, may=True)


def _headers(step: StepView) -> Mapping[str, Any]:
    return mapping(step.get("http", "headers")) if step.kind == "APICall" else {}


def _method(
    findings: Findings, old: WorkflowFacts, new: WorkflowFacts, before: StepView, after: StepView, spot: Spot
) -> None:
    was, now = before.get("http", "method") or "GET", after.get("http", "method") or "GET"
    if was == now:
        return
    place = spot.at("http").at("method")
    if effects_of(_bare(before)) == effects_of(_bare(after)) == "write":
        findings.say("operation-changed", "http.method: a write of another kind", place, was, now)
    elif old.acts(before) == new.acts(after):
        # What begins or ends to write is told as that.
        findings.say("field-changed", "http.method", place, was, now)


def _runner(
    findings: Findings, old: WorkflowFacts, new: WorkflowFacts, before: StepView, after: StepView, spot: Spot
) -> None:
    was, now = before.data.get("runner"), after.data.get("runner")
    if was != now:
        acts = old.acts(before) and new.acts(after)
        sure = all(_says_effects(facts, step) for facts, step in ((old, before), (new, after)))
        code = "operation-changed" if acts else "node-changed"
        findings.say(code, "runs another node", spot.at("runner"), was, now, may=acts and not sure)
    elif isinstance(now, str) and now not in BUILT_IN_NODES:
        findings.nodes.append(now)


def _says_effects(facts: WorkflowFacts, step: StepView) -> bool:
    """Whether the files say what a Functional step does outside, so that nothing is taken in doubt."""
    node = facts.index.nodes.declared.get(str(step.data.get("runner")))
    return step.data.get("effects") is not None or (node is not None and node.effects is not None)


def _model(findings: Findings, old: WorkflowFacts, new: WorkflowFacts, after: StepView, spot: Spot) -> None:
    model = after.data.get("model")
    if isinstance(model, str) and model not in old.data_models:
        findings.say("data-model-added", f"touches {model!r}", spot.at("model"), None, model)


def _writes(
    findings: Findings, old: WorkflowFacts, new: WorkflowFacts, before: StepView, after: StepView, spot: Spot
) -> None:
    was, now = old.acts(before), new.acts(after)
    # What a step calls counts as well, so that a write is not told as gone where another workflow does it now.
    both = bool(deeds_of(old, before)) and bool(deeds_of(new, after))
    said_old, said_new = before.data.get("effects"), after.data.get("effects")
    place = spot.at("effects") if said_new is not None and said_new != said_old else _below(spot, after)
    operation = (str(after.data.get("model")), str(after.data.get("operation")))
    other = (before.data.get("model"), before.data.get("operation")) != (
        after.data.get("model"),
        after.data.get("operation"),
    )
    if _relabelled(after) and said_old != "read":
        findings.say("write-relabelled", "declared to read, and writes", spot.at("effects"), said_old, said_new)
    elif now and not was and _relabelled(before) and before.kind == after.kind:
        findings.say("field-changed", "no longer declared to read", spot.at("effects"), said_old, on_old=True)
    elif now and not was and both:
        findings.say("operation-changed", "writes itself, in place of what it called", place)
    elif now and not was:
        findings.say("write-added", "writes", place, *_effects(old, new, before, after))
    elif was and not now and not both:
        findings.say("effect-dropped", "no longer writes", place, *_effects(old, new, before, after))
    elif said_old != said_new:
        findings.say("field-changed", "effects", spot.at("effects"), said_old, said_new, on_old=said_new is None)
    if after.kind == before.kind == "ModelOp" and other:
        grave = now and was and operation not in old.writes
        if before.data.get("operation") != after.data.get("operation"):
            code = "operation-changed" if grave else "field-changed"
            shown = (before.data.get("operation"), after.data.get("operation"))
            findings.say(code, "operation", spot.at("operation"), *shown)
        elif grave:
            findings.say("operation-changed", f"writes {operation[0]!r}", spot.at("model"), before.data.get("model"))


def _effects(old: WorkflowFacts, new: WorkflowFacts, before: StepView, after: StepView) -> tuple[str, str]:
    return _effect(old, before), _effect(new, after)


def _effect(facts: WorkflowFacts, step: StepView) -> str:
    """What a step does by itself; of kinds that only call others `effects_of` says what these may do."""
    found = effects_of(step, facts.index)
    return found if found == "read" or facts.acts(step) else "nothing"


def _relabelled(step: StepView) -> bool:
    """Whether a step is said to read although its kind writes; of a node only its author knows."""
    if step.data.get("effects") != "read" or step.kind == "Functional":
        return False
    return step.kind in _WHERE and effects_of(_bare(step)) == "write"


def _bare(step: StepView) -> StepView:
    """The step without what it says of its effects."""
    return StepView(step.index, step.path, {key: value for key, value in step.data.items() if key != "effects"})


def _below(spot: Spot, step: StepView) -> Spot:
    for key in _WHERE.get(step.kind or "", ()):
        spot = spot.at(key)
    return spot


def _url(
    findings: Findings, old: WorkflowFacts, new: WorkflowFacts, before: StepView, after: StepView, spot: Spot
) -> None:
    was, now = before.get("http", "url"), after.get("http", "url")
    if after.kind != "APICall" or was == now:
        return
    place = spot.at("http").at("url")
    host = new_host(old, new, after)
    if host is not None:
        findings.say("host-added", f"calls {host!r}", place, was, now)
    elif before.kind == after.kind:
        findings.say("url-changed", "http.url", place, was, now)


def new_host(old: WorkflowFacts, new: WorkflowFacts, step: StepView) -> str | None:
    """The host a step calls, if no step of the old state called it."""
    url = new.urls.get((*step.path, "http", "url"))
    if url is None or host_of(url) in old.hosts:
        return None
    # The same host at its usual port, encrypted now, is none that was not called.
    sealed = url.scheme == "https" and url.port == 443 and f"http://{host_of(url)}" in old.hosts
    return None if sealed else host_of(url)


def compare_hosts(findings: Findings, old: WorkflowFacts, new: WorkflowFacts) -> None:
    """Tell the hosts that are no longer called."""
    for host, url in old.hosts.items():
        if host not in new.hosts:
            findings.say("host-removed", f"{host!r} is no longer called", Spot(url.path, url.path), on_old=True)
