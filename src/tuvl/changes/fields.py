"""Which field of the language is compared how: one row a field, by the definition it belongs to.

Definitions share rows under a common name (`Step`, `Agent`, `Document`, `Metadata`). A field without a row that is a
block of its own is compared field by field, and any other counts as changed behaviour, so that nothing is passed over.
"""

from collections.abc import Mapping

from tuvl.changes.policy import (
    Block,
    Cap,
    Elsewhere,
    Entries,
    Gate,
    Location,
    Mapped,
    Members,
    Named,
    Narrowing,
    Policy,
    Prose,
    Rank,
    References,
    Says,
    Settings,
    Statuses,
    Subschema,
    Toggle,
    Weights,
)

SHARED: Mapping[str, tuple[str, ...]] = {
    "Document": ("Workflow", "Artifact", "AgentModel", "ModelDefinition", "DataSource", "ProjectConfig"),
    "Metadata": ("ArtifactMetadata", "ProjectMetadata"),
    "Step": (
        "FunctionalStep",
        "SetStep",
        "WaitStep",
        "FailStep",
        "LogStep",
        "ApiCallStep",
        "McpStep",
        "ModelOpStep",
        "RouterStep",
        "ResponseStep",
        "HumanStep",
        "CompletionStep",
        "AutonomousStep",
        "WorkflowStep",
        "ForEachStep",
    ),
    "Agent": ("CompletionAgent", "AutonomousAgent"),
    "Response": ("ToolResponse", "HttpResponse"),
    "Hook": ("LogHook", "NotifyHook"),
    "Server": ("StdioServer", "RemoteServer"),
    "Rule": ("IterationReached", "ToolRepeated", "BudgetFraction", "NoProgress"),
}
"""Common name → definitions that share its rows."""

_CAP = Cap()
_REACTIONS = ("abort", "pause", "steer")
_JUDGE = ("abort", "pause", "ignore")

_DOCUMENT: Mapping[str, Mapping[str, Policy]] = {
    "Document": {"version": Says("relabelled"), "enabled": Elsewhere("pairs"), "kind": Elsewhere("pairs")},
    "Metadata": {
        "name": Elsewhere("pairs"),
        "schema_version": Elsewhere("pairs"),
        "description": Elsewhere("documents"),
        "group": Says("relabelled"),
        "required_scope": Gate(),
        "required_group": Gate(),
        "version": Says("relabelled"),
    },
}

_WORKFLOW: Mapping[str, Mapping[str, Policy]] = {
    "WorkflowSpec": {
        "input": Subschema("input-tightened", "input-loosened", "input-added", "described"),
        "durable": Says(),
        "limits": Block(),
        "context": Members(added="data-model-added", removed="field-changed"),
        "hooks": References("hook-changed", "hook-changed", "hook-changed"),
        "supervisor": Block(added="supervisor-changed", removed="supervisor-weakened"),
        "trigger": Block(added="trigger-added", removed="trigger-removed"),
        "steps": Elsewhere("workflows"),
        "output": Elsewhere("outputs"),
    },
    "Limits": dict.fromkeys(
        ("max_context_bytes", "max_steps", "timeout_s", "max_tokens", "max_cost_usd", "concurrency"), _CAP
    ),
    "Trigger": {
        "path": Elsewhere("triggers"),
        "method": Elsewhere("triggers"),
        "schedule": Says("trigger-scheduled", removed="field-changed"),
        "timezone": Says("trigger-scheduled"),
        "input": Says(),
        "public": Toggle(on="trigger-opened", off="trigger-closed"),
    },
    "Supervisor": {
        "watches": Members(added="supervisor-changed", removed="supervisor-weakened"),
        "rules": Entries(("when", "tool"), added="supervisor-changed", removed="supervisor-weakened"),
        "judge": Block(added="supervisor-changed", removed="supervisor-weakened"),
        "steer_message": Prose("supervisor-changed"),
    },
    "Rule": {
        "when": Says("supervisor-changed"),
        "tool": Says("supervisor-changed"),
        "gte": _CAP,
        "count": _CAP,
        "gt": _CAP,
        "then": Rank(_REACTIONS, "supervisor-weakened", "supervisor-changed"),
    },
    "Judge": {
        "model": Named("judge-changed", "AgentModel"),
        "criteria": Prose("criteria-changed", weighs=True),
        "every_n_iterations": _CAP,
        "on_violation": Rank(_REACTIONS, "supervisor-weakened", "supervisor-changed"),
        "on_judge_error": Rank(_JUDGE, "supervisor-weakened", "supervisor-changed"),
    },
}

_STEPS: Mapping[str, Mapping[str, Policy]] = {
    "Step": {
        "id": Elsewhere("renames"),
        "kind": Elsewhere("workflows"),
        "mode": Elsewhere("workflows"),
        "description": Elsewhere("tools"),
        "routes": Elsewhere("routes"),
        "hooks": References("hook-changed", "hook-changed", "hook-changed"),
        "timeout_s": _CAP,
        "effects": Elsewhere("effects"),
        "danger": Toggle(on="danger-marked", off="danger-unmarked"),
        "idempotency_key": Narrowing(narrower="field-changed", wider="write-repeatable"),
        "auth": Block(),
    },
    "StepAuth": {"required_scope": Gate(), "required_group": Gate()},
    "FunctionalStep": {"runner": Elsewhere("effects"), "params": Mapped()},
    "SetStep": {"runner": Elsewhere("effects"), "values": Mapped()},
    "WaitStep": {"runner": Elsewhere("effects"), "seconds": Says()},
    "FailStep": {"runner": Elsewhere("effects"), "message": Says()},
    "LogStep": {"runner": Elsewhere("effects"), "message": Says(), "level": Says()},
    "Http": {
        "url": Elsewhere("effects"),
        "method": Elsewhere("effects"),
        "headers": Mapped(),
        "query": Mapped(),
        "json": Says(),
        "form": Says(),
        "body": Says(),
        "timeout": _CAP,
        "follow_redirects": Toggle(on="redirects-followed", off="field-changed"),
        "max_response_bytes": _CAP,
        "auth": Says("credential-changed"),
    },
    "HttpRetry": {"attempts": _CAP, "backoff": Says(), "on": Members(added="bound-raised", removed="bound-lowered")},
    "Response": {
        "output_key": Says(),
        "extract": Entries(("as",), added="field-changed", removed="field-changed"),
        "expect_status": Statuses(added="result-loosened", removed="result-tightened"),
    },
    "McpCall": {
        "server": References("mcp-changed", "mcp-changed", "mcp-changed"),
        "tool": Says("mcp-tool-changed"),
        "timeout": _CAP,
        "arguments": Mapped(),
    },
    "ModelOpStep": {
        "model": Named("field-changed", "ModelDefinition"),
        "operation": Elsewhere("effects"),
        "payload": Says(),
        "record_id": Says(),
        "filters": Mapped(removed="bound-removed", changed="filter-changed"),
        "include": Members(added="data-model-added", removed="field-changed"),
        "limit": _CAP,
        "order_by": Says(),
        "output": Says(),
    },
    "RouterStep": {"condition": Says(), "match": Says(), "when": Says()},
    "ResponseStep": {"source": Elsewhere("outputs"), "mapping": Elsewhere("outputs")},
    "WorkflowStep": {"workflow": Named("workflow-called", "Workflow"), "input": Mapped(), "output_key": Says()},
    "ForEachStep": {
        "items": Says(),
        "as": Says(),
        "step": Says(),
        "concurrency": _CAP,
        "max_items": _CAP,
        "output_key": Says(),
    },
    "HumanStep": {
        "ui": Block(),
        "human_feedback": Entries(("name",), added="field-changed", removed="field-changed"),
        "output_key": Says(),
        "signal_from": Says(),
        "auth": Block(),
    },
    "HumanUi": {
        **dict.fromkeys(("title", "instruction"), Says()),
        "display_context": Elsewhere("shown_to_person"),
    },
    "FeedbackField": {
        **dict.fromkeys(("name", "type", "label", "choices"), Says()),
        "required": Toggle(on="approval-tightened", off="approval-weakened"),
    },
    "Extract": dict.fromkeys(("path", "as"), Says()),
    "HumanAuth": {
        "required_group": Gate(asked="approval-tightened", dropped="approval-weakened"),
        "assignee_user": Gate(asked="approval-tightened", dropped="approval-weakened"),
    },
}

_AGENTS: Mapping[str, Mapping[str, Policy]] = {
    "Agent": {
        "model": Named("model-changed", "AgentModel"),
        "context_injection": Members(added="context-injected", removed="field-changed", order="order-changed"),
        "skills": References("skill-changed", "skill-changed", "skill-changed"),
        "guardrails": Block(),
        "retry": Block(),
        "timeout_s": _CAP,
        "max_output_tokens": _CAP,
        "temperature": Says("model-settings-changed"),
        "outcome": Block(),
        "system": Prose("prompt-changed"),
        "prompt": Prose("prompt-changed"),
        "steering": Prose("steering-changed"),
        "tools": Elsewhere("tools"),
        "max_iterations": _CAP,
        "token_budget": _CAP,
        "cost_budget_usd": _CAP,
        "budget_check": Rank(("after_call", "turn_start"), "bound-raised", "bound-lowered"),
        "max_wall_clock_s": _CAP,
        "max_tool_calls": _CAP,
        "max_calls_per_turn": _CAP,
        "max_consecutive_tool_failures": _CAP,
        "max_repeated_calls": _CAP,
        "tool_concurrency": _CAP,
        "dedup_within_turn": Toggle(on="field-changed", off="bound-removed"),
        "arg_validation": Rank(("strict", "lenient", "none"), "arguments-unchecked"),
        "tool_error_policy": Rank(("fail", "report"), "bound-raised", "bound-lowered"),
        "tool_result_max_chars": _CAP,
        "tool_result_max_bytes": _CAP,
        "answer_retries": _CAP,
        "conclude": Block(added="field-changed", removed="field-changed"),
        "steer_mode": Says(),
        "compaction": Block(added="field-changed", removed="bound-removed"),
        "trim": Says("tool-helped"),
        "heartbeat_s": Says(),
        "stream": Says(),
        "conversation": Says("conversation-changed", removed="field-changed"),
        "audit": Toggle(on="field-changed", off="audit-off"),
        "continue_on_stop": Says("tool-helped"),
        "max_continuations": _CAP,
        "tool_surface": Narrowing(narrower="tool-helped", wider="tool-offered"),
        "reserve": Block(added="tool-helped", removed="quota-removed"),
        "context_limits": Block(),
    },
    "Guardrails": dict.fromkeys(
        ("input", "tools", "output"), References("guardrail-added", "guardrail-removed", "guardrail-changed")
    ),
    "Retry": {
        "attempts": _CAP,
        "on": Members(added="bound-raised", removed="bound-lowered"),
        "backoff": Says(),
        "max_backoff_s": _CAP,
    },
    "Outcome": {
        "write": Says(),
        "enum": Elsewhere("routes"),
        "format": Rank(("text", "json"), "context-written"),
        "map": Mapped(),
        "schema": Subschema("result-tightened", "result-loosened", "result-tightened", "prompt-changed"),
    },
    "ToolEntry": {
        "ref": Elsewhere("tools"),
        "description": Elsewhere("tools"),
        "parameters": Elsewhere("tools"),
        "writes_context": Toggle(on="context-written", off="field-changed"),
        "timeout_s": _CAP,
        "max_calls": _CAP,
        "max_result_chars": _CAP,
        "approval": Elsewhere("tools"),
        "on_timeout": Rank(("fail", "report"), "bound-raised", "bound-lowered"),
    },
    "Compaction": {
        "model": Named("model-changed", "AgentModel"),
        **dict.fromkeys(("max_tokens", "trigger_percent", "target_percent"), _CAP),
        **dict.fromkeys(("reserve", "recent_tail", "preserve", "calibrate"), Says()),
    },
    "Conclude": {
        **dict.fromkeys(("margin", "deadline_s", "notice"), Says()),
        "offer_tools": Toggle(on="tool-offered", off="field-changed"),
    },
    "Reserve": {
        "reserve": Says("tool-helped"),
        "refund": Says("tool-helped"),
        "observe_request": Gate(asked="tool-helped", dropped="quota-removed"),
    },
    "ContextLimits": {"max_bytes": _CAP, "max_messages": _CAP},
}

_ARTIFACTS: Mapping[str, Mapping[str, Policy]] = {
    "GuardrailSpec": {"type": Says(), "checks": Entries(("check",), "guardrail-tightened", "guardrail-weakened")},
    "JsonSchemaCheck": {
        "check": Says(),
        "schema": Subschema("guardrail-tightened", "guardrail-weakened", "guardrail-tightened", "described"),
    },
    "RegexDenyCheck": {
        "check": Says(),
        "patterns": Members(added="guardrail-tightened", removed="guardrail-weakened"),
    },
    "MaxCharsCheck": {"check": Says(), "limit": _CAP},
    "PiiMaskCheck": {
        "check": Says(),
        "fields": Members(added="guardrail-tightened", removed="guardrail-weakened", absent_is_other=True),
    },
    "LlmJudgeCheck": {
        "check": Says(),
        "model": Named("judge-changed", "AgentModel"),
        "criteria": Prose("criteria-changed", weighs=True),
        "on_judge_error": Rank(("violation", "ignore"), "guardrail-weakened", "guardrail-tightened"),
    },
    "Hook": dict.fromkeys(("type", "on", "action", "target"), Says("hook-changed")),
    "NotifyHook": {"on": Says("hook-fired")},
    "Server": {
        "type": Says(),
        "transport": Says("mcp-changed"),
        "command": Says("mcp-changed"),
        "args": Says("mcp-changed"),
        "env": Mapped("mcp-changed"),
        "url": Says("mcp-changed"),
        "headers": Mapped("mcp-changed"),
    },
    "ProseFrontMatter": {
        "name": Elsewhere("pairs"),
        "type": Says(),
        "version": Says("relabelled"),
        "description": Elsewhere("documents"),
        "template": Says("prompt-changed"),
        "enabled": Elsewhere("pairs"),
    },
}

_MODELS: Mapping[str, Mapping[str, Policy]] = {
    "RateLimit": {"calls": _CAP, "per_seconds": Cap("bound-lowered", "bound-removed", "bound-raised")},
    "ModelSpec": {
        "provider": Elsewhere("documents"),
        "model": Says("model-changed"),
        "api_base": Location("provider-moved", "credential-changed"),
        "api_key": Says("credential-changed"),
        "temperature": Says("model-settings-changed"),
        "max_tokens": _CAP,
        "timeout": _CAP,
        "context_window": Says("model-settings-changed"),
        "rate_limit": Block(added="bound-lowered", removed="bound-removed"),
        "price": Elsewhere("prices"),
        "extra": Settings(),
        "script": Elsewhere("documents"),
        "replies": Says("model-changed"),
    },
    "ModelDefinitionSpec": {
        "tablename": Says("store-moved"),
        "datasource": Named("store-moved", "DataSource"),
        "fields": Entries(("name",), added="record-changed", removed="record-changed"),
        "relations": Entries(("name",), added="record-changed", removed="record-changed"),
        "access": Block(),
    },
    "DataField": {
        **dict.fromkeys(
            ("name", "type", "primary_key", "required", "unique", "index", "default", "enum_values"),
            Says("record-changed"),
        ),
        "secure": Toggle(on="field-changed", off="unmasked"),
        "description": Says("described"),
    },
    "Relation": dict.fromkeys(("name", "model", "foreign_key", "type"), Says("record-changed")),
    "Access": {
        **dict.fromkeys(
            ("read_scope", "write_scope", "delete_scope"), Gate(asked="access-tightened", dropped="access-loosened")
        ),
        **dict.fromkeys(
            ("read_groups", "write_groups", "delete_groups"),
            Members(added="access-loosened", removed="access-tightened", absent_is_all=True, empty_is_all=True),
        ),
    },
    "DataSourceSpec": {
        "type": Says("store-moved"),
        "connection": Elsewhere("documents"),
        "pooling": Block(),
    },
    "Connection": {
        **dict.fromkeys(("host", "port", "database"), Says("store-moved")),
        **dict.fromkeys(("username", "password"), Says("credential-changed")),
        "options": Mapped("store-moved"),
    },
    "Pooling": {"size": _CAP, "max_overflow": _CAP, "timeout_s": _CAP, "recycle_s": Says()},
}

_POLICY = Cap("policy-loosened", "policy-loosened", "policy-tightened")
_PROJECT: Mapping[str, Mapping[str, Policy]] = {
    "ProjectSpec": {
        "folders": Block(),
        "default_model": Says("model-changed"),
        "limits": Block(),
        "http": Block(),
        "policy": Block(),
        "artifact_sources": Entries(("name",), added="pack-changed", removed="field-changed"),
        "checks": Block(),
    },
    "Folders": dict.fromkeys(("workflows", "artifacts", "llms", "models", "datasources", "nodes", "tests"), Says()),
    "HttpPolicy": {
        "allow_hosts": Members(added="policy-loosened", removed="policy-tightened"),
        "deny_private": Toggle(on="policy-tightened", off="policy-loosened"),
    },
    "ApprovalPolicy": {"effects": Members(added="policy-tightened", removed="policy-loosened")},
    "Policy": {
        "max_cost_usd_per_run": _POLICY,
        "max_tokens_per_run": _POLICY,
        "allow_models": Members(added="policy-loosened", removed="policy-tightened", absent_is_all=True),
        "allow_hosts": Members(added="policy-loosened", removed="policy-tightened", absent_is_all=True),
        "require_approval": Block(),
        "require_pins": Toggle(on="policy-tightened", off="policy-loosened"),
    },
    "ArtifactSource": dict.fromkeys(("name", "url", "sha256"), Says("pack-changed")),
    "Checks": {"severity": Weights()},
}

FIELDS: Mapping[str, Mapping[str, Policy]] = {
    **_DOCUMENT,
    **_WORKFLOW,
    **_STEPS,
    **_AGENTS,
    **_ARTIFACTS,
    **_MODELS,
    **_PROJECT,
}
"""Definition, or the common name of several → field → how it is compared."""

_COMMON = {name: common for common, names in SHARED.items() for name in names}


def policy_of(definition: str, field: str) -> Policy | None:
    """How a field is compared; `None` for one without a row."""
    own = FIELDS.get(definition, {}).get(field)
    return own if own is not None else FIELDS.get(_COMMON.get(definition, ""), {}).get(field)
