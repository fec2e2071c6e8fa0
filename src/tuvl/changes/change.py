"""A change: its class, its code, its place, and what was there before and after."""

from enum import StrEnum

from tuvl.dataclass import dataclass


class ChangeClass(StrEnum):
    """What a change means, gravest first."""

    BREAKS = "breaks callers"
    WIDENS = "widens authority"
    BEHAVIOUR = "changes behaviour"
    COSMETIC = "cosmetic"


CLASSES: tuple[ChangeClass, ...] = tuple(ChangeClass)
GRAVE: frozenset[ChangeClass] = frozenset({ChangeClass.BREAKS, ChangeClass.WIDENS})
"""The classes that end `tuvl diff` with exit code 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change. `before` and `after` are short texts fit to be shown: nothing in them is secret."""

    cls: ChangeClass
    code: str
    """Stable name of the kind of change, a key of `CODES`."""
    message: str
    before: str | None = None
    after: str | None = None
    may: bool = False
    """Whether it only may be so: nobody can tell from the files."""
    file: str
    line: int
    column: int
    path: str
    """Key path in the document, `spec.steps[2].agent`."""
    old_side: bool = False
    """Whether the place is in the old state, as it is with what was removed."""
    workflow: str | None = None
    """The workflow that the change stands in; `None` where it stands in something that workflows use."""
    step: str | None = None


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of change."""

    cls: ChangeClass
    says: str


def _codes(cls: ChangeClass, **says: str) -> dict[str, Code]:
    return {name.replace("_", "-"): Code(cls, text) for name, text in says.items()}


CODES: dict[str, Code] = {
    **_codes(
        ChangeClass.BREAKS,
        workflow_removed="a workflow is gone",
        workflow_renamed="a workflow has another name or schema version",
        workflow_disabled="`enabled: false`",
        input_tightened="input that was accepted is refused, or may be",
        output_changed="the output is another value",
        output_removed="a key of the output is gone",
        exit_removed="a run no longer ends on this signal",
        outcome_removed="an agent no longer ends on this outcome",
        outcome_renamed="an outcome has another name",
        trigger_changed="path or method of the trigger",
        trigger_removed="no trigger any more",
        trigger_closed="no longer callable without a token",
        scope_required="a scope or group is asked for that was not, or another one",
        access_tightened="records need rights that they did not",
    ),
    **_codes(
        ChangeClass.WIDENS,
        workflow_added="a workflow with effects, hosts, models or tools of its own",
        workflow_called="a step runs another workflow",
        tool_added="an agent may call one more step",
        tool_offered="an agent is offered tools that another step kept from it, or may be",
        host_added="calls go to a host that they did not go to",
        write_added="a step changes something outside where none did, or is run by what did not run it",
        write_reached="a signal leads to a write that it did not lead to, or without a decision before it, or may",
        hook_fired="a hook runs its step at another time, or more often",
        write_relabelled="a step that writes is declared to read: it may be made again, an MCP tool unasked",
        write_repeatable="a write may be made twice, since nothing, or something else, tells a repetition",
        filter_changed="a step may touch other records",
        danger_unmarked="`danger: true` is gone",
        operation_changed="a write of another kind",
        mcp_tool_changed="another tool of an MCP server",
        mcp_changed="how an MCP server is started or reached",
        context_injected="a context key is given to a model that was not",
        context_written="what a tool changes, or a model answers, goes into the context of the run",
        conversation_changed="what an agent remembers of other runs, or where it is kept",
        data_model_added="a workflow may touch one more data model",
        guardrail_removed="a guardrail is gone",
        guardrail_weakened="a guardrail lets more pass, or may",
        criteria_changed="what a judge judges by, so that it may let more pass",
        judge_changed="another model judges, so that it may let more pass",
        approval_removed="a person is no longer asked",
        approval_weakened="a person is asked less often, or may be, or is shown less, or another person may answer",
        human_step_removed="a question to a person is gone",
        supervisor_weakened="a supervisor looks at less, less often, or reacts less",
        quota_removed="a quota is no longer asked",
        bound_raised="a bound is higher",
        bound_removed="a bound is gone",
        price_lowered="a token counts for less, or its price is no longer known, or known now",
        parameters_loosened="a tool takes arguments that it refused, or may",
        arguments_unchecked="arguments of tools are held against their schema less strictly",
        result_loosened="a result that was refused is accepted, or may be",
        scope_dropped="a scope or group is no longer asked for, or another one",
        access_loosened="records need fewer rights",
        unmasked="a field is no longer masked",
        model_beyond_policy="a model that `policy.allow_models` does not allow",
        policy_loosened="the project's policy allows more",
        redirects_followed="redirects are followed",
        trigger_scheduled="runs begin by themselves, or at other times",
        trigger_opened="callable without a token",
        provider_moved="what is sent to a model goes to another address",
        setting_unknown="a setting is passed to a provider, and nobody here knows what it does",
        store_moved="records are kept elsewhere",
        pack_changed="artifacts from elsewhere, or others",
        check_lowered="a check of `tuvl validate` weighs less",
        audit_off="no record is kept of what an agent does",
        field_unknown="a field that nobody here knows",
        danger_accepted="a comment hides a finding about bounds or security",
    ),
    **_codes(
        ChangeClass.BEHAVIOUR,
        field_changed="any other field",
        workflow_introduced="a workflow that does nothing outside",
        workflow_described="what MCP clients read of a workflow",
        input_loosened="input is accepted that was refused",
        input_added="a new optional property, where unknown ones were passed over",
        output_added="a new key of the output",
        exit_added="a run may end on one more signal",
        outcome_added="an agent has one more outcome",
        trigger_added="a way to start the workflow",
        step_added="a new step",
        step_removed="a step is gone",
        step_replaced="a step of another kind or mode",
        entry_changed="the run begins at another step",
        route_changed="a signal leads elsewhere",
        host_removed="no call goes there any more",
        effect_dropped="a step no longer writes",
        danger_marked="`danger: true`",
        url_changed="another path or query at the same host",
        tool_removed="an agent may no longer call a step",
        tool_renamed="a tool has another name",
        tool_described="what a model reads of a tool",
        tool_helped="an agent asks another step for help",
        order_changed="an order that a model reads, or that a run follows",
        parameters_tightened="a tool takes fewer arguments",
        parameters_described="what a model reads of a tool's arguments",
        result_tightened="a result that was accepted is refused",
        prompt_changed="what a model is told",
        steering_changed="instructions of an agent",
        skill_changed="instructions applied when relevant",
        model_changed="another model, provider or script",
        model_settings_changed="how a model is called",
        price_changed="the price that costs are reckoned with",
        credential_changed="where a credential comes from",
        guardrail_added="one more guardrail",
        guardrail_tightened="a guardrail lets less pass",
        guardrail_changed="another guardrail in the same place",
        approval_tightened="a person is asked more often, or fewer may answer",
        supervisor_changed="what a supervisor does",
        hook_changed="what observes a run",
        bound_lowered="a bound is lower, or new",
        policy_tightened="the project's policy allows less",
        node_changed="code of a Python node, or what it declares",
        record_changed="fields of a data model",
        check_raised="a check of `tuvl validate` weighs more",
        finding_accepted="a comment hides a finding of `tuvl validate`",
    ),
    **_codes(
        ChangeClass.COSMETIC,
        described="a description nobody's model reads",
        relabelled="a label or a version of the same content",
        step_renamed="a step has another id, and nothing else",
        reordered="the same in another order",
        spelled_otherwise="the same, written otherwise: a default written out, a text as an artifact",
        layout_changed="comments or layout",
        file_moved="the same in another file",
        test_changed="a scenario test",
        unused_changed="something that no workflow uses",
    ),
}
"""Every kind of change by its stable name."""
