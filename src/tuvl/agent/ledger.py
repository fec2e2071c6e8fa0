"""All that is kept of a run while it goes: the trace in memory, and the audit and conversation of those who asked."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Literal

from tuvl.agent.decide import CallTools, Finish
from tuvl.agent.exits import Exit
from tuvl.agent.ports import (
    Audit,
    CompletionRecord,
    ConversationSink,
    SideAudit,
    SideCallRecord,
    ToolCallRecord,
)
from tuvl.agent.transcript import Transcript
from tuvl.control import Intervention
from tuvl.dataclass import dataclass
from tuvl.errors import StepError
from tuvl.guardrails.guard import JudgeCall
from tuvl.llm.messages import Message, Usage
from tuvl.redaction import redact
from tuvl.tools.batch import place_in_batch
from tuvl.tools.result import Observation
from tuvl.tools.toolbox import RequestedCall
from tuvl.values import shorten


@dataclass(kw_only=True)
class Ledger:
    """Records one run. What cannot be recorded did not happen by the rules: a sink that fails ends the run."""

    transcript: Transcript
    audit: Audit | None = None
    conversation: ConversationSink | None = None

    async def opened(self, messages: Sequence[Message]) -> None:
        """Store the opening turn."""
        await self._append(messages)

    async def replied(self, record: CompletionRecord) -> None:
        """Record a model call."""
        self.transcript.reply(record.iteration, record.reply, record.usage, record.duration_ms)
        if self.audit is not None:
            reply = replace(record.reply, message=self.transcript.masks.message(record.reply.message))
            async with must_be_kept("audit"):
                await self.audit.completion(replace(record, reply=reply))

    async def summarized(self, messages: int, *, model: str, usage: Usage, duration_ms: float) -> None:
        """Record that so many messages became a summary, and the model call that made it."""
        self.transcript.summarized(messages, usage, duration_ms)
        await self._beside("summary", model=model, usage=usage, duration_ms=duration_ms)

    async def judged(self, call: JudgeCall) -> None:
        """Record a judge's call; in the trace it stands where the call does that it looked at."""
        place = place_in_batch().index if call.post.site == "tools" else None
        self.transcript.judged(call, place=place)
        await self._beside("judge", model=call.model, usage=call.usage, duration_ms=call.duration_ms, judge=call)

    def intervened(self, said: Intervention, message: str) -> None:
        """Record what a supervisor did, in the trace; whoever keeps runs keeps it apart from the audit."""
        self.transcript.intervened(said, message)

    async def decided(self, move: Finish | CallTools) -> None:
        """Store an assistant turn, before its calls run."""
        self.transcript.move(move)
        await self._append([move.message])

    def started(self, call: RequestedCall) -> None:
        """Note that a call's step begins."""
        self.transcript.started(call)

    async def answered(self, call: RequestedCall, observation: Observation) -> None:
        """Record an answered call."""
        self.transcript.observation(observation)
        if self.audit is not None:
            masks = self.transcript.masks
            record = ToolCallRecord(
                iteration=self.transcript.turn, call=masks.call(call), observation=masks.observation(observation)
            )
            async with must_be_kept("audit"):
                await self.audit.tool_call(record)

    async def observed(self, messages: Sequence[Message]) -> None:
        """Store the results of a turn's calls."""
        await self._append(messages)

    def interrupted(self, why: str) -> None:
        """Give every unanswered call its result in the trace."""
        self.transcript.interrupt(why)

    def closed(self, ended: Exit) -> None:
        """Say in the trace how the run ended."""
        self.transcript.close(ended)

    async def _append(self, messages: Sequence[Message]) -> None:
        if self.conversation is not None:
            kept = [self.transcript.masks.message(message) for message in messages]
            async with must_be_kept("conversation"):
                await self.conversation.append(kept)

    async def _beside(
        self,
        purpose: Literal["judge", "summary"],
        *,
        model: str,
        usage: Usage | None,
        duration_ms: float,
        judge: JudgeCall | None = None,
    ) -> None:
        if not isinstance(self.audit, SideAudit):
            return
        async with must_be_kept("audit"):
            await self.audit.side_call(
                SideCallRecord(
                    iteration=self.transcript.turn,
                    purpose=purpose,
                    model=model,
                    usage=usage,
                    duration_ms=duration_ms,
                    judge=judge,
                )
            )


@asynccontextmanager
async def must_be_kept(sink: str) -> AsyncIterator[None]:
    """Turn whatever a sink of this name raises into the error that ends the run."""
    try:
        yield
    except Exception as error:
        failed = f"{sink}_failed"
        if isinstance(error, StepError) and error.type == failed:
            raise
        said = shorten(redact(str(error))) or type(error).__name__
        raise StepError(f"the {sink} could not be written: {said}", type=failed) from error
