"""The conversation of one run: one list that only grows, prepared before each model call."""

from collections.abc import Iterable, Sequence

from tuvl.agent.compaction import Compactor, estimates
from tuvl.agent.conclude import Conclusion
from tuvl.agent.groups import paired
from tuvl.agent.ports import Trim
from tuvl.dataclass import dataclass
from tuvl.errors import StepError
from tuvl.llm.messages import Message, Usage
from tuvl.llm.meter import estimate_tokens
from tuvl.plan.model import ContextLimits
from tuvl.values import json_size


@dataclass(kw_only=True)
class Preparation:
    """What may be done to the history before a call; each part is off when it is `None`."""

    compactor: Compactor | None = None
    conclusion: Conclusion | None = None
    trim: Trim | None = None
    limits: ContextLimits | None = None


class History:
    """Messages of one run. A model reads the live list during its call: nothing is copied for a turn."""

    def __init__(self, opening: Sequence[Message], preparation: Preparation) -> None:
        self.messages: list[Message] = list(opening)
        self._preparation = preparation
        # Weighed only where somebody asks for the weight: a plain run pays nothing for it.
        self._tokens = estimates(self.messages) if preparation.compactor else []
        self._bytes = sum(map(_size, self.messages)) if preparation.limits else 0

    @classmethod
    def opening(cls, system: str, user: str, preparation: Preparation) -> "History":
        """Begin a conversation."""
        return cls([Message(role="system", content=system), Message(role="user", content=user)], preparation)

    def extend(self, messages: Iterable[Message]) -> None:
        """Add messages."""
        for message in messages:
            self.append(message)

    def append(self, message: Message) -> None:
        """Add one message."""
        self.messages.append(message)
        if self._preparation.compactor:
            self._tokens.append(estimate_tokens(message))
        if self._preparation.limits:
            self._bytes += _size(message)

    async def prepare(self, turn: int) -> Sequence[Message]:
        """Make the history ready for a call: compacted, with the notice to finish when due, trimmed, in its limits."""
        await self._compact(force=False)
        conclusion = self._preparation.conclusion
        notice = conclusion.notice(turn) if conclusion else None
        if notice is not None:
            self.append(notice)
        return await self.ready()

    async def ready(self) -> Sequence[Message]:
        """Return what is sent of the history as it is now: trimmed, in its limits."""
        messages = await self._trimmed()
        self._check_limits(messages)
        return messages

    async def recover(self) -> bool:
        """After a provider's prompt-too-long error: compact by force, and say whether another attempt makes sense."""
        return await self._compact(force=True)

    def observe(self, usage: Usage) -> None:
        """Learn from what the provider counted."""
        compactor = self._preparation.compactor
        if compactor is not None and compactor.plan.calibrate:
            compactor.calibration.observe(sum(self._tokens), usage)

    async def _compact(self, *, force: bool) -> bool:
        compactor = self._preparation.compactor
        if compactor is None:
            return False
        shorter = await compactor.compact(self.messages, self._tokens, force=force)
        if shorter is None:
            return False
        self.messages = shorter
        self._tokens = estimates(shorter)
        self._bytes = sum(map(_size, shorter)) if self._preparation.limits else 0
        return True

    async def _trimmed(self) -> Sequence[Message]:
        trim = self._preparation.trim
        if trim is None:
            return self.messages
        messages = await trim.trimmed(self.messages)
        if not paired(messages):
            raise StepError("trim left a tool call without its result, or a result without its call", type="trim")
        return messages

    def _check_limits(self, messages: Sequence[Message]) -> None:
        limits = self._preparation.limits
        if limits is None:
            return
        size = self._bytes if messages is self.messages else sum(map(_size, messages))
        for name, bound, value in (
            ("max_messages", limits.max_messages, len(messages)),
            ("max_bytes", limits.max_bytes, size),
        ):
            if bound is not None and value > bound:
                raise StepError(
                    f"the request has {value} {name.removeprefix('max_')}; context_limits.{name} is {bound}",
                    type="context_limit",
                    detail={"limit": f"context_limits.{name}", "bound": bound, "used": value},
                )


def _size(message: Message) -> int:
    calls = sum(len(call.name) + json_size(call.arguments) for call in message.tool_calls)
    return len((message.content or "").encode()) + calls
