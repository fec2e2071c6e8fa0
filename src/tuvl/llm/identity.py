"""Who answers: the provider and the model as telemetry knows them, of any `ChatModel`."""

from typing import NamedTuple, Protocol, runtime_checkable

from tuvl.llm.messages import ChatModel


class ModelIdentity(NamedTuple):
    """`provider` is the name that OpenTelemetry's conventions give it, `model` what the provider calls the model."""

    provider: str
    model: str


@runtime_checkable
class Identified(Protocol):
    """A model that knows more of itself than its name."""

    @property
    def identity(self) -> ModelIdentity:
        """Who answers."""
        ...


UNKNOWN_PROVIDER = "unknown"

_CONVENTIONAL = {
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "vertex_ai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
"""What LiteLLM calls a provider → what the conventions call it, where that is not the same."""


def identity_of_string(name: str) -> ModelIdentity:
    """Read a provider string: `openai/gpt-4.1` is the model `gpt-4.1` of `openai`."""
    provider, slash, model = name.partition("/")
    if not slash:
        return ModelIdentity(UNKNOWN_PROVIDER, name)
    return ModelIdentity(_CONVENTIONAL.get(provider, provider), model)


def identity_of(model: ChatModel) -> ModelIdentity:
    """Ask a model who answers; one that does not say goes by its name."""
    return model.identity if isinstance(model, Identified) else identity_of_string(model.name)
