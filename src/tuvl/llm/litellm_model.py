"""The LiteLLM lane: every other provider. The only importer of LiteLLM, and only when a model is first called."""

import asyncio
import logging
import os
import sys
import threading
import warnings
from dataclasses import replace
from importlib import import_module
from types import ModuleType

from tuvl.clock import Clock, SystemClock
from tuvl.errors import ModelError
from tuvl.llm.failures import bad_response, connection_failure, mask, status_failure, timeout_failure
from tuvl.llm.identity import ModelIdentity, identity_of_string
from tuvl.llm.litellm_answer import HttpAnswer, ProviderAnswer, read_whole, unstreamed
from tuvl.llm.litellm_errors import (
    ANSWERED,
    ENDED_EARLY,
    NETWORK,
    UNCONNECTED,
    UNREADABLE,
    causes,
    no_reply,
    own_words,
    retry_after,
)
from tuvl.llm.litellm_stream import ChunkStream, read_chunk_stream
from tuvl.llm.messages import DeltaSink, ModelReply, ModelRequest, Price, Usage
from tuvl.llm.pricing import table_price
from tuvl.llm.settings import CallSettings, asks_for_json, stream_options
from tuvl.llm.wire import encode_message, encode_tool, error_reply, parse_reply, read_json
from tuvl.values import JsonObject, JsonValue

_OFFLINE = {
    "LITELLM_OFFLINE_MODE": "true",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    # Its development mode reads a `.env` file into this process's environment.
    "LITELLM_MODE": "PRODUCTION",
}
"""What keeps LiteLLM from fetching tables of its own; some of these are read again later, so they stay set."""

_NO_TIMEOUT_S = 86_400
"""The engine bounds every call itself; a client's own timeout must not come first."""

_loading = threading.Lock()


class LiteLLMModel:
    """Calls `provider/model` through LiteLLM, with its retries, fallbacks, callbacks and parameter dropping off."""

    def __init__(self, settings: CallSettings, *, clock: Clock | None = None) -> None:
        self._settings = settings
        self._clock = clock or SystemClock()

    @property
    def name(self) -> str:
        """The preset's name, or the provider string."""
        return self._settings.name

    @property
    def identity(self) -> ModelIdentity:
        """Provider and model of the provider string."""
        return identity_of_string(self._settings.model)

    @property
    def price(self) -> Price | None:
        """The preset's price, else that of LiteLLM's table."""
        return self._settings.price or table_price(self._settings.model)

    async def prepare(self) -> None:
        """Import LiteLLM, off the event loop: it takes seconds the first time."""
        await asyncio.to_thread(_litellm)

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Make one call; raises `ModelError`."""
        await self.prepare()
        litellm = _litellm()
        _quiet()
        answer = ProviderAnswer()
        try:
            response = await litellm.acompletion(**self._arguments(litellm, request), logger_fn=answer)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # guest boundary: LiteLLM lets errors of a hundred providers' code out
            read = None if ANSWERED in causes(error) else answer.reply(model=self.name)
            if read is None:
                raise self._failure(litellm, error) from error
            return read
        if request.on_delta is not None and isinstance(response, ChunkStream):
            return await self._stream(litellm, response, request.on_delta)
        data = _plain(read_json(response.model_dump_json(exclude_none=True, warnings=False)))
        reply = parse_reply(data, model=self.name)
        return self._with_cost(litellm, response, reply)

    async def aclose(self) -> None:
        """The connections are LiteLLM's own; `close_connections` lets go of them all."""

    async def _stream(self, litellm: ModuleType, stream: ChunkStream, sink: DeltaSink) -> ModelReply:
        whole = unstreamed(stream)
        if whole is not None:
            return await self._whole(litellm, stream, whole)
        reply, used = await read_chunk_stream(
            stream, sink, model=self.name, failure=lambda error: self._stream_failure(litellm, error)
        )
        return reply if used is None else self._with_cost(litellm, used, reply)

    async def _whole(self, litellm: ModuleType, stream: ChunkStream, answer: HttpAnswer) -> ModelReply:
        """Read the reply of a server that was asked to stream and does not."""
        try:
            return await read_whole(answer, model=self.name)
        except ModelError:
            raise
        except Exception as error:  # guest boundary: the connection below belongs to LiteLLM
            raise self._stream_failure(litellm, error) from error
        finally:
            await stream.aclose()

    def _stream_failure(self, litellm: ModuleType, error: Exception) -> ModelError:
        """Sort the error of a stream that had begun: one that the provider sent in it, or a lost connection."""
        inside = getattr(error, "original_exception", None)  # LiteLLM wraps it for fallbacks of its own
        chain = causes(error) | (causes(inside) if isinstance(inside, Exception) else {})
        sent = getattr(chain.get("APIError"), "body", None)
        if sent:
            return error_reply({"error": sent}, self.name)
        if chain.keys() & NETWORK or ENDED_EARLY in str(error):
            return connection_failure(self.name, "the stream ended before the reply did")
        return self._failure(litellm, inside if isinstance(inside, Exception) else error)

    def _arguments(self, litellm: ModuleType, request: ModelRequest) -> JsonObject:
        settings = self._settings
        arguments: JsonObject = {
            "model": settings.model,
            "messages": [encode_message(message) for message in request.messages],
            **settings.parameters(request),
            "num_retries": 0,
            "max_retries": 0,
            "drop_params": False,
            "timeout": _NO_TIMEOUT_S,
        }
        if request.tools:
            arguments["tools"] = [encode_tool(tool) for tool in request.tools]
        if settings.api_base is not None:
            arguments["api_base"] = settings.api_base
        if settings.api_key is not None:
            arguments["api_key"] = settings.api_key
        if request.json_answer and asks_for_json(request.messages):
            supported = litellm.get_supported_openai_params(model=settings.model)
            if "response_format" in (supported or ()):
                arguments["response_format"] = {"type": "json_object"}
        arguments.update(settings.extra)
        options = stream_options(arguments)
        if request.on_delta is not None:
            arguments["stream"] = True
            arguments.update(options)
        return arguments

    def _with_cost(self, litellm: ModuleType, response: object, reply: ModelReply) -> ModelReply:
        """Price the call by LiteLLM's own reckoning, which knows tiers and cache writes, if the preset has no price."""
        usage = reply.usage
        if usage is None or usage.estimated or self._settings.price is not None:
            return reply
        if table_price(self._settings.model) is None:
            return reply
        return replace(reply, usage=replace(usage, cost_usd=self._cost(litellm, response, usage)))

    def _cost(self, litellm: ModuleType, response: object, usage: Usage) -> float | None:
        try:
            cost = litellm.completion_cost(completion_response=response, model=self._settings.model)
        except Exception:  # noqa: BLE001 - guest boundary: a table that cannot price a call must not fail it
            price = self.price
            return price.cost(usage) if price else None
        return float(cost)

    def _failure(self, litellm: ModuleType, error: Exception) -> ModelError:
        """Sort an error by what is at its bottom: LiteLLM reports much of its own trouble as a server's 500."""
        text = own_words(error)
        status = getattr(error, "status_code", None)
        chain = causes(error)
        if isinstance(error, litellm.ContextWindowExceededError):
            message = f"model {self.name!r} answered 400: {mask(text)}"
            return ModelError(message, type="context_overflow", retryable=False, status=400)
        nothing = None if ANSWERED in chain else no_reply(self.name, text, chain)
        if nothing is not None:
            return nothing
        if ANSWERED not in chain and (missing := self._missing_keys(litellm)):
            return ModelError(
                f"model {self.name!r} needs a key: set {' and '.join(missing)}, or `api_key` in its preset",
                type="authentication",
                retryable=False,
            )
        if isinstance(status, int) and status >= 300 and (ANSWERED in chain or not chain.keys() & UNREADABLE):
            if ANSWERED not in chain and chain.keys() & NETWORK:
                return connection_failure(
                    self.name, "the connection to the provider failed", sent=not chain.keys() & UNCONNECTED
                )
            if ANSWERED not in chain and isinstance(error, litellm.Timeout):
                return timeout_failure(self.name, None)
            return status_failure(self.name, status, text, retry_after_s=retry_after(error, self._clock.now()))
        return bad_response(self.name, f"LiteLLM could not make or read the call: {text}")

    def _missing_keys(self, litellm: ModuleType) -> list[str]:
        """Name the environment variables a provider wants and does not find; LiteLLM itself calls that a 500."""
        if self._settings.api_key is not None:
            return []
        try:
            found = litellm.validate_environment(model=self._settings.model, api_base=self._settings.api_base)
        except Exception:  # noqa: BLE001 - guest boundary: this only helps to word another error
            return []
        return [str(name) for name in found.get("missing_keys") or ()]


async def close_connections() -> None:
    """Let go of LiteLLM's connections, when it was ever imported; the runtime calls this at its end."""
    if _Loaded.module is not None:
        await _Loaded.module.close_litellm_async_clients()
        # A closed client must not be found again by the next engine of this process.
        _Loaded.module.in_memory_llm_clients_cache.flush_cache()
        worker = import_module("litellm.litellm_core_utils.logging_worker").GLOBAL_LOGGING_WORKER
        await worker.stop()


class _Loaded:
    """The imported module, once there is one."""

    module: ModuleType | None = None


def _litellm() -> ModuleType:
    with _loading:
        if _Loaded.module is None:
            for name, value in _OFFLINE.items():
                os.environ[name] = value
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                module = import_module("litellm")
            vars(module).update(
                suppress_debug_info=True,
                turn_off_message_logging=True,
                drop_params=False,
                modify_params=False,
                # A model may say the same thing many times over; how much it may say is the engine's to bound.
                REPEATED_STREAMING_CHUNK_LIMIT=sys.maxsize,
            )
            for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
                logging.getLogger(name).setLevel(logging.CRITICAL)
            _Loaded.module = module
        return _Loaded.module


def _quiet() -> None:
    """Silence warnings that nobody can do anything about. Filters of their own, since calls overlap."""
    warnings.filterwarnings("ignore", message="Pydantic serializer warnings", category=UserWarning)
    warnings.filterwarnings("ignore", message=".*`ReadOnly` qualifier", category=UserWarning)
    warnings.filterwarnings("ignore", module=r"(litellm|openai)(\.|$)")


def _plain(value: JsonValue) -> JsonValue:
    """Leave out what is null or empty: LiteLLM adds fields of its own to every message."""
    if isinstance(value, dict):
        cleaned = {key: _plain(item) for key, item in value.items() if item is not None}
        return {key: item for key, item in cleaned.items() if key != "provider_specific_fields" or item}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value
