"""What can be written and checked but not be run yet: the one table. A run that needs any of it refuses at once."""

from collections.abc import Iterator, Mapping

from tuvl.analysis.steps import StepView, WorkflowView, items, mapping

KINDS: Mapping[str, str] = {
    "HumanInTheLoop": "questions to a person",
    "Workflow": "workflows as steps",
    "ForEach": "steps for each item of a list",
}
"""Step kind → what it stands for."""

WORKFLOW_FIELDS: Mapping[str, object] = {"durable": False, "hooks": [], "supervisor": None}
"""Field of `spec:` → the value with which it asks for nothing."""

STEP_FIELDS: Mapping[str, object] = {"hooks": []}
"""Field of a step → the value with which it asks for nothing."""

AGENT_FIELDS: Mapping[str, object] = {
    "audit": False,
    "compaction": None,
    "conclude": None,
    "context_limits": None,
    "continue_on_stop": None,
    "conversation": None,
    "guardrails": {},
    "heartbeat_s": None,
    "reserve": None,
    "steer_mode": "boundary",
    "stream": False,
    "tool_concurrency": 1,
    "tool_surface": None,
    "trim": None,
}
"""Field of `agent:` → the value with which it asks for nothing."""

TOOL_FIELDS: Mapping[str, object] = {"approval": "never"}
"""Field of an entry of `tools[]` → the value with which it asks for nothing."""


def not_yet(workflow: WorkflowView) -> Iterator[str]:
    """What the workflow asks for and this version cannot do, each naming the step and the field."""
    for name in _asked(workflow.spec, WORKFLOW_FIELDS):
        yield f"`spec.{name}` is not available in this version"
    for step in workflow.steps:
        yield from _of_step(step)


def _of_step(step: StepView) -> Iterator[str]:
    if step.kind is not None and step.kind in KINDS:
        yield f"step {step.id!r}: kind {step.kind!r} ({KINDS[step.kind]}) is not available in this version"
    for name in _asked(step.data, STEP_FIELDS):
        yield f"step {step.id!r}: field {name!r} is not available in this version"
    for name in _asked(step.agent, AGENT_FIELDS):
        yield f"step {step.id!r}: field 'agent.{name}' is not available in this version"
    for index, entry in enumerate(items(step.agent.get("tools"))):
        for name in _asked(mapping(entry), TOOL_FIELDS):
            yield f"step {step.id!r}: field 'agent.tools[{index}].{name}' is not available in this version"


def _asked(data: Mapping[str, object], fields: Mapping[str, object]) -> Iterator[str]:
    for name, nothing in fields.items():
        value = data.get(name)
        if value is not None and value != nothing and value not in ([], {}):
            yield name
