"""`provider: scripted`: a model that answers from a script. For tests, demos, CI and a first run without a key."""

import re
from collections.abc import Sequence

from tuvl.clock import Clock, SystemClock
from tuvl.errors import ModelError
from tuvl.llm.identity import ModelIdentity
from tuvl.llm.messages import CallNamed, DeltaSink, Message, ModelReply, ModelRequest, Price, TextPiece, ToolCall
from tuvl.llm.script import RETRYABLE, ScriptedReply
from tuvl.values import JsonValue


class ScriptedModel:
    """Answers each request with the first rule that fits, else with the next reply that is no rule.

    A rule (a reply with `when`) is never used up; the other replies are used once each, in order. The position
    belongs to this instance, so a run makes one of its own; the replies themselves may be shared. A request that
    finds no reply is a `ModelError` of type `script_exhausted`.
    """

    def __init__(
        self,
        replies: Sequence[ScriptedReply],
        *,
        name: str = "scripted",
        price: Price | None = None,
        script: str | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._rules = tuple(reply for reply in replies if reply.when is not None)
        self._ordered = tuple(reply for reply in replies if reply.when is None)
        self._position = 0
        self._turn = 0
        self._name = name
        self._price = price
        self._script = script or name
        self._clock = clock or SystemClock()

    @property
    def name(self) -> str:
        """The preset's name."""
        return self._name

    @property
    def identity(self) -> ModelIdentity:
        """The preset's name, of no provider."""
        return ModelIdentity("scripted", self._name)

    @property
    def price(self) -> Price | None:
        """What its tokens are said to cost."""
        return self._price

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Give the reply that the script holds for this request; raises `ModelError`."""
        self._turn += 1
        scripted = self._next(request)
        if scripted.delay_s:
            await self._clock.sleep(scripted.delay_s)
        reply = play(scripted, model=self._name, turn=self._turn)
        if request.on_delta is not None:
            await speak(reply, request.on_delta, pause_s=scripted.word_delay_s, clock=self._clock)
        return reply

    @property
    def state(self) -> JsonValue:
        """How far the script has been read, for a run that goes on in another process."""
        return [self._position, self._turn]

    def restore(self, state: JsonValue) -> None:
        """Go on from where the script had been read to."""
        if isinstance(state, list):
            self._position, self._turn = (int(str(number)) for number in state)

    async def aclose(self) -> None:
        """Nothing is held."""

    def _next(self, request: ModelRequest) -> ScriptedReply:
        for rule in self._rules:
            if rule.when is not None and rule.when.holds(request.messages):
                return rule
        if self._position < len(self._ordered):
            self._position += 1
            return self._ordered[self._position - 1]
        used = f"{len(self._ordered)} used in order"
        rules = f", {len(self._rules)} rules that do not fit" if self._rules else ""
        raise ModelError(
            f"script {self._script!r} has no reply for model call {self._turn} ({used}{rules}); add one to the script",
            type="script_exhausted",
            retryable=False,
        )


def play(scripted: ScriptedReply, *, model: str, turn: int) -> ModelReply:
    """Make a model's reply of a scripted one; `turn` makes the ids of calls that have none."""
    failure = scripted.failure
    if failure is not None:
        raise ModelError(
            failure.message,
            type=failure.type,
            retryable=failure.type in RETRYABLE if failure.retryable is None else failure.retryable,
            status=failure.status,
            retry_after_s=failure.retry_after_s,
        )
    calls = scripted.calls
    if calls and not all(call.id for call in calls):
        calls = tuple(
            call if call.id else _with_id(call, f"call_{turn}_{number}") for number, call in enumerate(calls, 1)
        )
    return ModelReply(
        message=Message(
            role="assistant", content=scripted.text, tool_calls=calls, provider=scripted.provider or _NOTHING
        ),
        finish_reason=scripted.finish_reason or ("tool_calls" if calls else "stop"),
        usage=scripted.usage,
        model=model,
    )


async def speak(reply: ModelReply, sink: DeltaSink, *, pause_s: float = 0.0, clock: Clock | None = None) -> None:
    """Give a reply to a sink word by word, with so many seconds before each but the first."""
    text = reply.message.content or ""
    for number, word in enumerate(_BETWEEN_WORDS.split(text) if text else ()):
        if number and pause_s and clock is not None:
            await clock.sleep(pause_s)
        await sink(TextPiece(text=word))
    for call in reply.message.tool_calls:
        await sink(CallNamed(name=call.name))


_BETWEEN_WORDS = re.compile(r"(?<=\s)(?=\S)")

_NOTHING: dict[str, None] = {}


def _with_id(call: ToolCall, call_id: str) -> ToolCall:
    return ToolCall(id=call_id, name=call.name, arguments=call.arguments, provider=call.provider)
