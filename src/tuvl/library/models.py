"""Which language model a loop calls: a provider string, a server, or any `ChatModel`."""

import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import field
from typing import Protocol, TypeAlias, runtime_checkable

from tuvl.dataclass import dataclass
from tuvl.errors import ModelError, StepError, UsageError
from tuvl.given import instance, not_negative, positive, text
from tuvl.http.base_url import base_url_problem
from tuvl.http.client import HttpClient
from tuvl.llm.direct import DirectModel
from tuvl.llm.identity import ModelIdentity, identity_of
from tuvl.llm.litellm_model import LiteLLMModel, close_connections
from tuvl.llm.messages import ChatModel, ModelReply, ModelRequest, Price
from tuvl.llm.retrying import NeedsPreparation
from tuvl.llm.settings import CallSettings
from tuvl.redaction import redact, register_secret
from tuvl.values import JsonObject, shorten


@dataclass(frozen=True, slots=True, kw_only=True)
class _Provider:
    """What is known of a model at a provider."""

    model: str
    """Name of the model at the provider."""
    api_key: str | None = field(default=None, repr=False)
    """Key; it is kept out of every text."""
    name: str | None = None
    """What messages call it; default `model`."""
    temperature: float | None = None
    """Sampling temperature, when a loop says nothing."""
    max_tokens: int | None = None
    """Most tokens of one reply, when a loop says nothing."""
    price: Price | None = None
    """Price; without it a cost bound is refused where the price is not known otherwise."""
    extra: JsonObject = field(default_factory=dict)
    """Further parameters, passed to the provider as they are; none that the engine sets, or bounds reckon with."""

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        where = type(self).__name__
        text(where, "model", self.model)
        positive(where, "max_tokens", self.max_tokens, whole=True, optional=True)
        not_negative(where, "temperature", self.temperature, optional=True)
        if self.api_key is not None and not isinstance(self.api_key, str):
            raise UsageError(f"{where}: api_key is of type {type(self.api_key).__name__!r}; write a text")
        instance(where, "name", self.name, str, optional=True)
        instance(where, "price", self.price, Price, optional=True)
        instance(where, "extra", self.extra, Mapping)

    def _settings(self, model: str, api_base: str | None) -> CallSettings:
        if self.api_key:
            register_secret(self.api_key)
        return CallSettings(
            name=self.name or model,
            model=model,
            api_base=api_base,
            api_key=self.api_key,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            price=self.price,
            extra=self.extra,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAICompatible(_Provider):
    """A model behind a server that speaks the chat-completions dialect; called directly, without LiteLLM."""

    api_base: str
    """Base URL of the API, such as `http://127.0.0.1:8080/v1`."""

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        _Provider.__post_init__(self)
        text("OpenAICompatible", "api_base", self.api_base)
        problem = base_url_problem(self.api_base)
        if problem is not None:
            raise UsageError(f"OpenAICompatible: api_base {problem}")

    def bind(self, http: HttpClient) -> ChatModel:
        """Return a model for one run, over this client."""
        return DirectModel(self._settings(self.model, self.api_base), http)

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Callable[[], ChatModel]]:
        """Keep connections from run to run: `async with server.connected() as model:`."""
        http = HttpClient()
        try:
            yield lambda: self.bind(http)
        finally:
            await http.aclose()


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteLLM(_Provider):
    """A model at any provider that LiteLLM knows: `LiteLLM(model="anthropic/…", api_key=…)`."""

    api_base: str | None = None
    """Base URL, where it is not the provider's own."""

    def bind(self) -> ChatModel:
        """Return a model for one run."""
        return LiteLLMModel(self._settings(self.model, self.api_base))

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Callable[[], ChatModel]]:
        """Keep connections from run to run: `async with provider.connected() as model:`."""
        async with _litellm_in_use():
            yield self.bind


class _LiteLLMUsers:
    """How many runs use LiteLLM right now: it keeps its connections for the whole process."""

    count = 0
    lock = threading.Lock()


@asynccontextmanager
async def _litellm_in_use() -> AsyncIterator[None]:
    """Count a user; the last one lets go of LiteLLM's connections, while the event loop they belong to is there."""
    with _LiteLLMUsers.lock:
        _LiteLLMUsers.count += 1
    try:
        yield
    finally:
        with _LiteLLMUsers.lock:
            _LiteLLMUsers.count -= 1
            last = not _LiteLLMUsers.count
        if last:
            await close_connections()


ModelChoice: TypeAlias = str | OpenAICompatible | LiteLLM | ChatModel | Callable[[], ChatModel]
"""A provider string such as `openai/gpt-4.1`, a server, a model, or a function that makes one for each run."""


@runtime_checkable
class _Completes(Protocol):
    """What tells a model from a function that makes one."""

    async def complete(self, request: ModelRequest) -> ModelReply: ...


def check_model(choice: ModelChoice) -> None:
    """Refuse what is no model."""
    if isinstance(choice, str):
        if "/" not in choice:
            raise UsageError(
                f"model {choice!r} names no provider; write e.g. 'openai/{choice}', or use OpenAICompatible(…)"
            )
    elif isinstance(choice, _Completes) and not isinstance(choice, type):
        instance("model", "price", getattr(choice, "price", None), Price, optional=True)
    elif isinstance(choice, type) or not (
        isinstance(choice, OpenAICompatible | LiteLLM | _Completes) or callable(choice)
    ):
        raise UsageError(f"model is {choice!r}; give a string 'provider/model', a ChatModel, or a function making one")


def opened(choice: ModelChoice) -> AbstractAsyncContextManager[ChatModel]:
    """Return the model for one run; what was made for the run is closed at its end, and nothing else."""
    return _opened(choice)


@asynccontextmanager
async def _opened(choice: ModelChoice) -> AsyncIterator[ChatModel]:
    if isinstance(choice, OpenAICompatible):
        http = HttpClient()
        try:
            yield GuestModel(choice.bind(http))
        finally:
            await http.aclose()
    elif isinstance(choice, _Completes):
        yield GuestModel(choice)
    elif isinstance(choice, str | LiteLLM):
        litellm = LiteLLM(model=choice) if isinstance(choice, str) else choice
        async with _litellm_in_use():
            yield GuestModel(litellm.bind())
    else:
        model = choice()
        if not isinstance(model, _Completes):
            raise UsageError(f"the function that makes a model returned a {type(model).__name__!r}, not a ChatModel")
        try:
            yield GuestModel(model)
        finally:
            await model.aclose()


class GuestModel:
    """A model of somebody else's making: whatever it raises is a `ModelError`, with the original as its cause."""

    def __init__(self, inner: ChatModel) -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        """The model's name."""
        return self._inner.name

    @property
    def identity(self) -> ModelIdentity:
        """The model's provider and model."""
        return identity_of(self._inner)

    @property
    def price(self) -> Price | None:
        """The model's price; what is none is as unknown as no price."""
        price = getattr(self._inner, "price", None)
        return price if isinstance(price, Price) else None

    async def prepare(self) -> None:
        """Let the model load what it needs."""
        if isinstance(self._inner, NeedsPreparation):
            await self._inner.prepare()

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Make the call; raises `ModelError`."""
        try:
            reply = await self._inner.complete(request)
        except StepError:
            raise
        except TimeoutError as error:  # the model's own: that of its caller comes as a cancellation
            raise ModelError(f"model {self.name!r} timed out", type="timeout", retryable=True) from error
        except Exception as error:
            said = shorten(redact(str(error)))
            message = f"model {self.name!r} raised {type(error).__name__}" + (f": {said}" if said else "")
            raise ModelError(message, type="unknown", retryable=False) from error
        if not isinstance(reply, ModelReply):
            raise ModelError(
                f"model {self.name!r} returned a {type(reply).__name__!r}, not a ModelReply",
                type="bad_response",
                retryable=False,
            )
        return reply

    async def aclose(self) -> None:
        """The model belongs to whoever gave it."""
