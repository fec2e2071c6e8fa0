"""Compares two states of one workflow."""

from collections.abc import Mapping
from typing import Any

from tuvl.analysis.called_models import called_models
from tuvl.analysis.language_models import model_facts
from tuvl.analysis.run_bounds import MAX_CONTEXT_BYTES, MAX_STEPS
from tuvl.analysis.steps import StepView, WorkflowView, mapping
from tuvl.analysis.surroundings import spec_of
from tuvl.changes.authority import compare_authority
from tuvl.changes.called import Called
from tuvl.changes.differences import members
from tuvl.changes.effects import compare_effects, compare_headers, compare_hosts, new_host
from tuvl.changes.ends import with_ends
from tuvl.changes.facts import Callees, WorkflowFacts
from tuvl.changes.findings import Findings, Spot
from tuvl.changes.fired import compare_fired
from tuvl.changes.guard_order import compare_guard_order
from tuvl.changes.handed_in import compare_handed, compare_scheduled
from tuvl.changes.outputs import compare_output, compare_response, compare_trigger
from tuvl.changes.renames import StepPairs, pair_steps
from tuvl.changes.replaced import compare_replaced
from tuvl.changes.routes import compare_exits, compare_outcomes, compare_routes
from tuvl.changes.shown import canonical_differs
from tuvl.changes.shown_keys import compare_shown_keys
from tuvl.changes.shown_to_person import compare_shown
from tuvl.changes.site import Doc, doc_of
from tuvl.changes.tools import compare_descriptions, compare_tools
from tuvl.changes.walk import Inherited, Walk, object_node
from tuvl.project.index import ProjectIndex
from tuvl.spec.shape import table
from tuvl.spec.table import ListNode, Node
from tuvl.values import canonical

_ENVELOPE = ("id", "kind", "description", "routes", "hooks", "timeout_s", "effects", "danger", "auth")


def compare_workflows(old: Doc, new: Doc, called: Called | None = None) -> Findings:
    """Compare two states of a workflow: its contract, and each step, with what is `called` in both states."""
    called = called or Called(Callees(old.side.index), Callees(new.side.index))
    pairs = pair_steps(WorkflowView(old.data), WorkflowView(new.data))
    before = Doc(old.side, old.document, pairs.old.data, old.body, old.body_line)
    findings = Findings(before, new, workflow=new.name, spelled_otherwise=pairs.respelled)
    facts = (
        WorkflowFacts(pairs.old, old.side.index, called.callees[0]),
        WorkflowFacts(pairs.new, new.side.index, called.callees[1]),
    )
    Walk("Workflow", findings, _limits(*(side.index for side in (old.side, new.side)))).document(before.data, new.data)
    described = tuple(mapping(data.get("metadata")).get("description") for data in (old.data, new.data))
    if described[0] != described[1]:
        spot = Spot(("metadata", "description"), ("metadata", "description"), "description")
        findings.say("workflow-described", "description", spot, *described, on_old=described[1] is None)
    compare_trigger(findings, old.spec, new.spec)
    _data_models(findings)
    _steps(findings, pairs, facts)
    within = _within_callers(findings, pairs, facts, called)
    values = compare_authority(findings, *within, called)
    compare_replaced(findings, *within, called)
    if values is not None:
        compare_handed(findings, values)
    compare_scheduled(findings, called)
    compare_output(findings, *facts)
    compare_hosts(findings, *facts)
    return findings


def _within_callers(
    findings: Findings, pairs: StepPairs, facts: tuple[WorkflowFacts, WorkflowFacts], called: Called
) -> tuple[StepPairs, tuple[WorkflowFacts, WorkflowFacts]]:
    """Both states with the ends by which those that run the workflow go on to a write, where it differs at all."""
    names = (findings.old.name, findings.new.name)
    differs = canonical_differs(findings.old.data, findings.new.data) or not called.are_same(names[1])
    ends = called.ends(*names) if differs else {}
    if not ends:
        return pairs, facts
    pairs = pair_steps(*(WorkflowView(with_ends(each.view.data, each.index, ends)) for each in facts))
    old, new = facts
    return pairs, (WorkflowFacts(pairs.old, old.index, old.callees), WorkflowFacts(pairs.new, new.index, new.callees))


def _data_models(findings: Findings) -> None:
    """Note the data models that nodes may use, so that what they say is compared too."""
    names = [members(doc.spec.get("context")).values() for doc in (findings.old, findings.new)]
    for name in (each for each in names[0] if each in names[1]):
        documents = [doc.side.index.data_model(str(name).partition("@")[0]) for doc in (findings.old, findings.new)]
        if documents[0] is not None and documents[1] is not None:
            findings.link(doc_of(findings.old.side, documents[0]), doc_of(findings.new.side, documents[1]))


def _limits(old: ProjectIndex, new: ProjectIndex) -> Inherited:
    """What a limit is that the workflow leaves to the project."""
    defaults: Mapping[str, object] = {"max_steps": MAX_STEPS, "max_context_bytes": MAX_CONTEXT_BYTES}
    general = [mapping(spec_of(index.config).get("limits")) for index in (old, new)]
    names = ("max_context_bytes", "max_steps", "timeout_s", "max_tokens", "max_cost_usd")
    return {
        ("Limits", name): (general[0].get(name, defaults.get(name)), general[1].get(name, defaults.get(name)))
        for name in names
    }


def _steps(findings: Findings, pairs: StepPairs, facts: tuple[WorkflowFacts, WorkflowFacts]) -> None:
    told: tuple[set[str], set[str]] = (set(), set())
    former = {name: earlier for earlier, name in pairs.renames.items()}
    for before, after in pairs.matched:
        spot = Spot(before.path, after.path, "", after.id)
        if after.id in former:
            findings.say("step-renamed", "the step has another id", spot.at("id"), former[after.id], after.id)
        _pair(findings, pairs, facts, (before, after), spot, told)
    for step in pairs.removed:
        code = "human-step-removed" if step.kind == "HumanInTheLoop" else "step-removed"
        findings.say(code, f"the step is gone ({step.kind})", Spot(step.path, (), "", step.id), on_old=True)
    for step in pairs.added:
        _added(findings, pairs, facts, step)
    order = [step.id for step, _ in pairs.matched]
    earlier = [step.id for step in sorted((one for one, _ in pairs.matched), key=lambda step: step.index)]
    if order != earlier:
        findings.say("reordered", "steps in another order", Spot(("spec", "steps"), ("spec", "steps")))
    compare_exits(findings, pairs, facts, told)
    compare_fired(findings, pairs, facts)
    _models(findings, facts)
    _odd_steps(findings, facts)


def _odd_steps(findings: Findings, facts: tuple[WorkflowFacts, WorkflowFacts]) -> None:
    """Tell of entries that are no steps, or steps with an id of another, as of any other value."""
    odd = [_odd(each.view) for each in facts]
    if canonical(odd[0]) != canonical(odd[1]):
        spot = Spot(("spec", "steps"), ("spec", "steps"))
        findings.say("field-changed", "entries that are no step, or one twice", spot, *odd)


def _odd(view: WorkflowView) -> list[Any]:
    steps = view.spec.get("steps")
    if not isinstance(steps, list):
        return [steps]
    kept = {step.index for step in view.by_id.values()}
    return [entry for index, entry in enumerate(steps) if index not in kept]


def _pair(
    findings: Findings,
    pairs: StepPairs,
    facts: tuple[WorkflowFacts, WorkflowFacts],
    steps: tuple[StepView, StepView],
    spot: Spot,
    told: tuple[set[str], set[str]],
) -> None:
    before, after = steps
    replaced = before.kind != after.kind
    if replaced or before.mode != after.mode:
        shown = (f"{before.kind} {before.mode or ''}".strip(), f"{after.kind} {after.mode or ''}".strip())
        code = "human-step-removed" if before.kind == "HumanInTheLoop" else "step-replaced"
        findings.say(code, "a step of another kind or mode", spot.at("kind"), shown=shown)
    inherited = _inherited(facts, before, after)
    _fields(findings, steps, spot, inherited, only=_ENVELOPE if replaced else None)
    compare_descriptions(findings, facts, before, after, spot)
    compare_routes(findings, facts, before, after, spot)
    compare_effects(findings, *facts, before, after, spot)
    if after.kind == "Agent":
        earlier = None if replaced else before
        compare_shown_keys(findings, facts, earlier, after, spot)
        compare_tools(findings, pairs, facts, earlier, after, spot)
        if earlier is not None:
            compare_guard_order(findings, facts, before, after, spot)
            gone, come = compare_outcomes(findings, facts, before, after, spot)
            told[0].update(gone)
            told[1].update(come)
    elif after.kind == "HumanInTheLoop" and not replaced:
        compare_shown(findings, facts, before, after, spot)
    elif after.kind == "Response" and not replaced:
        compare_response(findings, before, after, spot)


def step_node() -> Node | None:
    """The definition of a step, by its kind."""
    spec = object_node(table("Workflow").root.fields["spec"], {})
    steps = spec.fields["steps"] if spec is not None else None
    return steps.item if isinstance(steps, ListNode) else None


def _fields(
    findings: Findings,
    steps: tuple[StepView, StepView],
    spot: Spot,
    inherited: Inherited,
    *,
    only: tuple[str, ...] | None,
) -> None:
    one, other = object_node(step_node(), steps[0].data), object_node(step_node(), steps[1].data)
    if one is None or other is None:
        return
    old, new = steps[0].data, steps[1].data
    if only is not None:
        old, new = ({key: value for key, value in data.items() if key in only} for data in (old, new))
    Walk("Workflow", findings, inherited).blocks((one, other), old, new, spot)


def _inherited(facts: tuple[WorkflowFacts, WorkflowFacts], before: StepView, after: StepView) -> Inherited:
    """What holds for an agent where it leaves a field to its model or to the project."""
    if before.kind != "Agent" or after.kind != "Agent":
        return {}
    absent = [_left_to_model(each, step) for each, step in zip(facts, (before, after), strict=True)]
    return {
        (definition, field): (absent[0][field], absent[1][field])
        for definition in ("CompletionAgent", "AutonomousAgent")
        for field in absent[0]
    }


def _left_to_model(facts: WorkflowFacts, step: StepView) -> Mapping[str, object]:
    found: dict[str, object] = {"model": spec_of(facts.index.config).get("default_model")}
    if step.agent.get("timeout_s") is None or step.agent.get("max_output_tokens") is None:
        model = model_facts(step.agent.get("model"), facts.index)
        found |= {"timeout_s": model.timeout_s, "max_output_tokens": model.max_output}
    else:
        found |= {"timeout_s": None, "max_output_tokens": None}
    return found


def _models(findings: Findings, facts: tuple[WorkflowFacts, WorkflowFacts]) -> None:
    """Tell of models at another provider, and of those that the policy does not allow, wherever one is called."""
    before = {
        (each.step, each.site): facts[0].model_names(each.name) for each in called_models(facts[0].view, facts[0].index)
    }
    for called in called_models(facts[1].view, facts[1].index):
        was, now = before.get((called.step, called.site)), facts[1].model_names(called.name)
        if was is not None:
            # Whoever names no model is found here alone.
            findings.link(_preset(findings.old, was[0]), _preset(findings.new, now[0]))
        spot = Spot(called.path, called.path, "", called.step)
        if was == now:
            continue
        shown = (was[-1] if was else None, now[-1])
        if not facts[1].allows_model(now):
            what = f"model {now[-1]!r} is none that `policy.allow_models` allows"
            findings.say("model-beyond-policy", what, spot, shown=shown)
        elif was is not None and _provider(now) not in (_provider(was), "scripted", ""):
            findings.say("provider-moved", "a model of another provider is called", spot, shown=shown)


def _preset(doc: Doc, name: str) -> Doc | None:
    document = None if "/" in name else doc.side.index.find("AgentModel", name)
    return None if document is None else doc_of(doc.side, document)


def _provider(names: tuple[str, ...]) -> str:
    """The provider of a model by its names; nothing for a preset that is not there."""
    provider, slash, _ = names[-1].partition("/")
    return provider if slash or len(names) > 1 else ""


def _added(findings: Findings, pairs: StepPairs, facts: tuple[WorkflowFacts, WorkflowFacts], step: StepView) -> None:
    old, new = facts
    spot = Spot((), step.path, "", step.id)
    is_tool = step.id in new.tools
    if new.acts(step) and not is_tool:
        findings.say("write-added", f"a new step, and it writes ({step.kind})", spot)
    elif step.kind == "Workflow":
        findings.say("workflow-called", "a new step that runs a workflow", spot, None, step.data.get("workflow"))
    else:
        findings.say("step-added", f"a new step ({step.kind})", spot)
    if step.kind == "APICall":
        compare_headers(findings, None, step, spot)
    host = new_host(old, new, step)
    if host is not None:
        findings.say("host-added", f"calls {host!r}", spot.at("http").at("url"), None, step.get("http", "url"))
    if step.kind == "ModelOp" and isinstance(model := step.data.get("model"), str) and model not in old.data_models:
        findings.say("data-model-added", f"touches {model!r}", spot.at("model"), None, model)
    if step.kind == "MCP":
        shown = (None, f"{step.get('mcp', 'server')} {step.get('mcp', 'tool')}")
        findings.say("mcp-tool-changed", "calls a tool of an MCP server", spot.at("mcp"), shown=shown)
    if step.kind == "Agent":
        compare_tools(findings, pairs, facts, None, step, spot)
        compare_shown_keys(findings, facts, None, step, spot)
