"""All that is kept of a run while it goes: the trace in memory, and the audit and conversation of those who asked."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tuvl.agent.decide import CallTools, Finish
from tuvl.agent.exits import Exit
from tuvl.agent.ports import Audit, CompletionRecord, ConversationSink, ToolCallRecord
from tuvl.agent.transcript import Transcript
from tuvl.errors import StepError
from tuvl.llm.messages import Message
from tuvl.redaction import redact
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
            async with must_be_kept("audit"):
                await self.audit.completion(record)

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
            record = ToolCallRecord(iteration=self.transcript.turn, call=call, observation=observation)
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
            async with must_be_kept("conversation"):
                await self.conversation.append(messages)


@asynccontextmanager
async def must_be_kept(sink: str) -> AsyncIterator[None]:
    """Turn whatever a sink of this name raises into the error that ends the run."""
    try:
        yield
    except StepError:
        raise
    except Exception as error:
        said = shorten(redact(str(error))) or type(error).__name__
        raise StepError(f"the {sink} could not be written: {said}", type=f"{sink}_failed") from error
