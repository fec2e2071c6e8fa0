"""What a preset says of its calls, in plain values; every lane reads the same."""

from collections.abc import Sequence
from dataclasses import field
from typing import cast

from tuvl.dataclass import dataclass
from tuvl.errors import ConfigError
from tuvl.http.headers import header_problem
from tuvl.llm.messages import Message, ModelRequest, Price
from tuvl.spec.reserved_settings import header_fields, reserved_settings
from tuvl.values import JsonObject, JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSettings:
    """One model at one provider. `api_key` is a secret: it goes into requests and nowhere else."""

    name: str
    """What messages call the model: the preset's name or the provider string."""
    model: str
    api_base: str | None = None
    api_key: str | None = field(default=None, repr=False)
    temperature: float | None = None
    max_tokens: int | None = None
    price: Price | None = None
    extra: JsonObject = field(default_factory=dict)

    def __post_init__(self) -> None:
        for setting in reserved_settings(self.extra):
            raise ConfigError(f"model {self.name!r}: `extra` may not set {setting.name!r}: {setting.why}")
        for field_ in header_fields(self.extra):
            for name in cast(JsonObject, self.extra[field_]):
                problem = header_problem(name)
                if problem is not None:
                    raise ConfigError(f"model {self.name!r}: header {name!r} {problem}")

    def parameters(self, request: ModelRequest) -> JsonObject:
        """Return the sampling parameters of one call: what the step says, else what the preset says."""
        found: dict[str, JsonValue] = {
            "temperature": self.temperature if request.temperature is None else request.temperature,
            "max_tokens": self.max_tokens if request.max_output_tokens is None else request.max_output_tokens,
        }
        return {name: value for name, value in found.items() if value is not None}


def stream_options(parameters: JsonObject) -> JsonObject:
    """Take `stream_options` out of the parameters of a call, and return what of it a streamed call sends.

    Without being asked, providers leave out of a stream what it used; `null` in a preset is for servers that refuse to
    be asked.
    """
    options = parameters.pop("stream_options", {"include_usage": True})
    return {} if options is None else {"stream_options": options}


def asks_for_json(messages: Sequence[Message]) -> bool:
    """Whether the messages name JSON: providers refuse a JSON answer that no message asks for."""
    return any("json" in (message.content or "").lower() for message in messages)
