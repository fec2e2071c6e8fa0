"""References and models that may mean something else tomorrow."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tuvl.analysis.fault import Fault
from tuvl.analysis.references import artifact_references
from tuvl.analysis.steps import WorkflowView, items, mapping, text
from tuvl.values import KeyPath

_PIN = re.compile(r"@[0-9]+$")
_DATED = re.compile(r"20[0-9]{2}-?[01][0-9]-?[0-3][0-9]|[-@](?:[0-9]{3,4})(?:$|[^0-9.])|@[0-9a-z]|:[0-9]|-v[0-9]+:")
_HOSTED = frozenset(
    {"openai", "anthropic", "gemini", "vertex_ai", "mistral", "cohere", "xai", "deepseek", "perplexity", "bedrock"}
)
"""Providers that give several snapshots of a model one name and move it."""


def floating_references(data: Mapping[str, Any], kind: str | None) -> Iterator[tuple[KeyPath, str]]:
    """References to artifacts without a version, and what they say."""
    for reference in artifact_references(data, kind):
        if reference.is_reference and _PIN.search(reference.text) is None:
            yield reference.path, reference.text


def floating_models(data: Mapping[str, Any], kind: str | None) -> Iterator[Fault]:
    """Models under a name that the provider moves from snapshot to snapshot."""
    for path, name in named_models(data, kind):
        if not isinstance(name, str) or "/" not in name:
            continue
        provider, _, model = name.partition("/")
        if not _floats(provider, model):
            continue
        yield Fault(
            path,
            f"{model!r} is a name that {provider!r} moves from one snapshot of the model to the next",
            "name a dated snapshot, as the provider lists them, so that a run tomorrow asks the model tested today",
        )


def _floats(provider: str, model: str) -> bool:
    if not model or "${" in model or provider in ("scripted", ""):
        return False
    if model.rpartition("-")[2] == "latest" or model.endswith(":latest"):
        return True
    return provider in _HOSTED and _DATED.search(model) is None


def named_models(data: Mapping[str, Any], kind: str | None) -> Iterator[tuple[KeyPath, object]]:
    """Places of a document that name a language model, and what stands there; `None` where nothing does.

    A preset names the model behind it, as `provider/model`.
    """
    spec = mapping(data.get("spec"))
    match kind:
        case "AgentModel":
            provider, model = text(spec.get("provider")), text(spec.get("model"))
            if provider and model:
                yield ("spec", "model"), f"{provider}/{model.removeprefix(provider + '/')}"
        case "ProjectConfig":
            yield ("spec", "default_model"), spec.get("default_model")
        case "Artifact":
            for index, check in enumerate(items(spec.get("checks"))):
                yield ("spec", "checks", index, "model"), mapping(check).get("model")
        case "Workflow":
            for step in WorkflowView(data).steps:
                if step.kind == "Agent":
                    yield (*step.path, "agent", "model"), step.agent.get("model")
                    compaction = mapping(step.agent.get("compaction"))
                    yield (*step.path, "agent", "compaction", "model"), compaction.get("model")
            judge = mapping(mapping(spec.get("supervisor")).get("judge"))
            yield ("spec", "supervisor", "judge", "model"), judge.get("model")
