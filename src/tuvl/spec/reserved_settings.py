"""Settings under `extra:` of a language model that the engine sets itself, or reckons with; imports nothing heavy."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tuvl.values import KeyPath

BODY = "extra_body"
"""The setting whose fields go into the request as they are."""
HEADERS = "extra_headers"
"""The setting whose fields go into the headers of the request."""

_OF_THE_ENGINE = "it belongs to the engine"
_ONE_REPLY = "each call makes one reply, which is what bounds reckon with"
_RETRIES = "calls are made again by the `retry` of the agent alone, which bounds and budgets see"
_ONE_MODEL = "the preset's `provider` and `model` say what is called, which policies, prices and locks rely on"
_PRICE = "give the price as `price` of the preset"

_OF_THE_REQUEST: Mapping[str, str] = {
    **dict.fromkeys(("model", "messages", "tools", "functions", "stream"), _OF_THE_ENGINE),
    **dict.fromkeys(("n", "best_of", "candidate_count", "candidateCount", "num_completions"), _ONE_REPLY),
    **dict.fromkeys(("num_generations", "num_return_sequences"), _ONE_REPLY),
}
"""Refused wherever a setting goes into the request → why."""

_OF_THE_CALL: Mapping[str, str] = {
    **dict.fromkeys(("num_retries", "max_retries", "retry_policy", "retry_strategy"), _RETRIES),
    **dict.fromkeys(("fallbacks", "context_window_fallback_dict", "model_list", "deployment_id"), _ONE_MODEL),
    **dict.fromkeys(("custom_llm_provider", "base_model", "use_litellm_proxy"), _ONE_MODEL),
    **dict.fromkeys(("timeout", "request_timeout", "force_timeout"), "give it as `timeout` of the preset"),
    **dict.fromkeys(("tiered_pricing", "model_info"), _PRICE),
    "drop_params": _OF_THE_ENGINE,
}
"""Refused beside `extra_body`, where it steers the call → why."""

_COSTS = ("input_cost_", "output_cost_", "cache_read_", "cache_creation_", "cost_per_")
"""How the settings begin that give a price to LiteLLM."""


class ReservedSetting(NamedTuple):
    """A setting that `extra` may not have: where it stands below `extra`, and why."""

    path: KeyPath
    why: str

    @property
    def name(self) -> str:
        """How messages call it."""
        return ".".join(map(str, self.path))


def reserved_settings(extra: Mapping[str, Any]) -> Iterator[ReservedSetting]:
    """Yield the settings that would override what the engine sets, or what is proved of a run before it begins."""
    for name in extra:
        why = _OF_THE_REQUEST.get(name) or _OF_THE_CALL.get(name) or (_PRICE if name.startswith(_COSTS) else None)
        if why is not None:
            yield ReservedSetting((name,), why)
    body = extra.get(BODY)
    for name in body if isinstance(body, dict) else ():
        if name in _OF_THE_REQUEST:
            yield ReservedSetting((BODY, name), _OF_THE_REQUEST[name])


def header_fields(extra: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the settings there are whose fields go into the headers of requests."""
    return tuple(name for name in (HEADERS, "headers") if isinstance(extra.get(name), dict))


def sent_settings(extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the body of a request has of `extra`: its fields, and those of `extra_body` over them."""
    body = extra.get(BODY)
    fields = {name: value for name, value in extra.items() if name not in (BODY, HEADERS)}
    return {**fields, **(body if isinstance(body, dict) else {})}
