"""What settings under `extra:` of a language model do, by their names; imports nothing heavy."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tuvl.values import KeyPath

_ADDRESS = re.compile(r"(?:^|_)(?:base|endpoint|url|uri|proxy|host)(?:$|_)")

CAPS = frozenset({"max_tokens", "max_completion_tokens", "max_output_tokens"})
"""Settings that bound how much one call may use."""

STYLES = frozenset(
    {
        "frequency_penalty",
        "logit_bias",
        "logprobs",
        "min_p",
        "parallel_tool_calls",
        "presence_penalty",
        "reasoning_effort",
        "repetition_penalty",
        "response_format",
        "seed",
        "stop",
        "stream_options",
        "temperature",
        "top_k",
        "top_logprobs",
        "top_p",
        "user",
        "verbosity",
    }
)
"""Settings that only say how a model answers."""


def is_address(name: str) -> bool:
    """Whether a setting of this name says where requests go: `api_base`, `base_url`, `azure_endpoint`."""
    return _ADDRESS.search(name.lower()) is not None


def addresses(spec: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    """Yield each text of a preset's `spec:` that says where requests go: `api_base`, and those under `extra`."""
    base = spec.get("api_base")
    if isinstance(base, str):
        yield ("api_base",), base
    yield from _below(spec.get("extra"), ("extra",))


def _below(value: object, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _below(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _below(inner, (*path, index))
    elif isinstance(value, str) and any(isinstance(part, str) and is_address(part) for part in path[1:]):
        yield path, value
