"""What is wrong with the trigger, the dot paths, the conditions, the URLs and the headers of a workflow."""

from collections.abc import Iterator

from tuvl.analysis.dot_path import dot_path_problem
from tuvl.analysis.fault import Fault
from tuvl.analysis.header_faults import refused_headers
from tuvl.analysis.router_faults import undecidable_conditions
from tuvl.analysis.schedule_faults import bad_schedules
from tuvl.analysis.steps import StepView, WorkflowView, items, mapping
from tuvl.analysis.trigger_paths import bad_trigger_path
from tuvl.analysis.url_faults import unusable_url
from tuvl.values import KeyPath


def bad_expressions(workflow: WorkflowView) -> Iterator[Fault]:
    """Triggers that nothing comes to, paths that can never be followed, and calls that can never be made."""
    yield from bad_schedules(workflow)
    yield from bad_trigger_path(workflow)
    yield from _bad_path(workflow.spec.get("output"), ("spec", "output"))
    for step in workflow.steps:
        for path, value in _dot_paths(step):
            yield from _bad_path(value, (*step.path, *path))
        yield from unusable_url(step)
        yield from refused_headers(step)
        yield from undecidable_conditions(step)


def _bad_path(value: object, path: KeyPath) -> Iterator[Fault]:
    problem = dot_path_problem(value) if isinstance(value, str) else None
    if problem is not None:
        yield Fault(path, f"dot path {value!r}: {problem.message}", problem.hint)


def _dot_paths(step: StepView) -> Iterator[tuple[KeyPath, object]]:
    match step.kind:
        case "Router":
            for form in ("condition", "match"):
                yield (form, "field"), mapping(step.data.get(form)).get("field")
        case "Response":
            yield ("source",), step.data.get("source")
            for name, value in mapping(step.data.get("mapping")).items():
                yield ("mapping", name), value
        case "APICall" | "MCP":
            extracts = items(mapping(step.data.get("response")).get("extract"))
            for index, entry in enumerate(extracts):
                yield ("response", "extract", index, "path"), mapping(entry).get("path")
