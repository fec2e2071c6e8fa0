"""Writes that may be made twice: on a retry, or when a durable run goes on after its process died."""

from collections.abc import Iterator

from tuvl.analysis.effects import effects_of
from tuvl.analysis.fault import Fault
from tuvl.analysis.steps import StepView, WorkflowView, mapping
from tuvl.analysis.surroundings import Surroundings

_REPEATABLE = ("GET", "HEAD", "PUT", "DELETE", "OPTIONS")
_KINDS = ("APICall", "MCP")


def unrepeatable_writes(step: StepView, workflow: WorkflowView, project: Surroundings) -> Iterator[Fault]:
    """A write of a step that no key makes harmless to repeat."""
    if step.kind not in _KINDS or step.data.get("idempotency_key") is not None:
        return
    if effects_of(step, project) != "write":
        return
    method = step.get("http", "method") or "GET"
    if step.kind == "APICall" and method in _REPEATABLE:
        return
    attempts = mapping(step.get("http", "retry")).get("attempts")
    hint = f'add `idempotency_key: "{step.id}-{{{{ <a key of the input> }}}}"`'
    if isinstance(attempts, int) and attempts > 1:
        yield Fault(
            (*step.path, "http", "retry"),
            f"step {step.id!r} asks for {attempts} attempts at a {method}, which is made once without an "
            "`idempotency_key`: a second one might act twice",
            hint,
        )
    elif workflow.spec.get("durable") is True:
        yield Fault(
            (*step.path, "id"),
            f"step {step.id!r} writes without an `idempotency_key`; a durable run whose process is lost meanwhile "
            "waits for a person",
            hint if step.kind == "APICall" else "mark the step `effects: read` if it changes nothing, or accept it",
        )
