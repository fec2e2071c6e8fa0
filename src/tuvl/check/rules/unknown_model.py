"""TV206 unknown-model."""

from collections.abc import Iterator

from tuvl.analysis.references import judged_assertions
from tuvl.analysis.steps import WorkflowView, items, mapping
from tuvl.analysis.surroundings import hidden
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject
from tuvl.project.index import ProjectIndex
from tuvl.suggest import certain, closest
from tuvl.values import KeyPath


class UnknownModel(Rule):
    """A model is called by a name that is no AgentModel of the project, and no `provider/model` either.

    It is resolved when it is first used, so that `--model NAME=...` may still supply it; without that, the run fails
    at its first model call.
    """

    code = "TV206"
    name = "unknown-model"
    severity = Severity.WARNING

    def visit_document(self, subject: Subject) -> Iterator[Finding]:
        """Look up every model that the document names."""
        for name, path, what in _models(subject):
            if not isinstance(name, str) or not name or "/" in name or "${" in name:
                continue
            if subject.project.preset(name) is None:
                yield self.finding(
                    subject,
                    path,
                    f"{what} names the model {name!r}, which is no AgentModel of this project",
                    hint=_hint(name, subject.project),
                    replacement=None if hidden(name, subject.project) else certain(name, subject.project.presets),
                )


def _hint(name: str, project: ProjectIndex) -> str:
    near = closest(name, project.presets)
    otherwise = f"add a `kind: AgentModel` document named {name!r}, or write `provider/model`"
    return hidden(name, project) or (f"did you mean {near!r}?" if near else otherwise)


def _models(subject: Subject) -> Iterator[tuple[object, KeyPath, str]]:
    data = mapping(subject.document.data)
    spec = mapping(data.get("spec"))
    match subject.kind:
        case "Workflow":
            yield from _workflow_models(WorkflowView(data))
        case "ProjectConfig":
            yield spec.get("default_model"), ("spec", "default_model"), "the project"
        case "Artifact":
            for index, check in enumerate(items(spec.get("checks"))):
                yield mapping(check).get("model"), ("spec", "checks", index, "model"), f"check number {index + 1}"
        case "WorkflowTest":
            for index, entry in judged_assertions(data):
                yield entry.get("model"), ("spec", "expect", "judge", index, "model"), f"judge number {index + 1}"


def _workflow_models(workflow: WorkflowView) -> Iterator[tuple[object, KeyPath, str]]:
    judge = mapping(mapping(workflow.spec.get("supervisor")).get("judge"))
    yield judge.get("model"), ("spec", "supervisor", "judge", "model"), "the supervisor's judge"
    for step in workflow.steps:
        if step.kind == "Agent":
            path = (*step.path, "agent")
            yield step.agent.get("model"), (*path, "model"), f"step {step.id!r}"
            compaction = mapping(step.agent.get("compaction"))
            yield compaction.get("model"), (*path, "compaction", "model"), f"the compaction of step {step.id!r}"
