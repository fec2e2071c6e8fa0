"""`AgentLoop`: the bounded tool loop for people who write Python, without YAML or files."""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from tuvl.agent.ports import Audit, ConversationSink
from tuvl.control import RunControl
from tuvl.dataclass import dataclass
from tuvl.errors import UsageError
from tuvl.events.types import Event
from tuvl.given import able, instance
from tuvl.leftovers import stop_tasks
from tuvl.library.definition import AgentDefinition, check_records
from tuvl.library.live_run import LiveRun
from tuvl.library.result import AgentResult
from tuvl.library.running import AgentRun
from tuvl.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLoop(AgentDefinition):
    """A bounded agent, defined once and run any number of times, also at once.

        loop = AgentLoop(model="openai/gpt-4.1-mini", tools=[lookup_order], outcomes=("resolved", "escalated"))
        result = await loop.run("Where is order A-1?")

    What cannot be meant (a bound of 0, a tool that a model could not be told of) is a `UsageError` here, not in a run.
    """

    async def run(
        self,
        task: str | Mapping[str, object],
        *,
        untrusted: Sequence[str] = (),
        control: RunControl | None = None,
        principal: Principal | None = None,
        audit: Audit | None = None,
        conversation: ConversationSink | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> AgentResult:
        """Run once, to an end; every end is a result. Cancelling the call cancels the run and passes on.

        Args:
            task: What to do: a text, or a mapping that the model reads as JSON.
            untrusted: Keys of the mapping whose content the model reads as delimited, untrusted text.
            control: Pauses, steers and aborts the run.
            principal: Whom it is for; tools may ask.
            audit: Record of this run, in place of the definition's.
            conversation: Store of this run, in place of the definition's.
            on_event: Gets each event at once, in the event loop: it must not block. One that raises is cut off.

        Raises:
            UsageError: The task cannot be given to a model, or another argument is not what it should be.
        """
        where = f"{type(self).__name__}.run"
        instance(where, "control", control, RunControl, optional=True)
        instance(where, "principal", principal, Principal, optional=True)
        check_records(where, audit, conversation)
        able(where, "on_event", on_event, "__call__")
        system, user = self.opening(task, untrusted)
        run = AgentRun(
            definition=self,
            control=control or RunControl(),
            principal=principal or Principal(),
            audit=self.audit if audit is None else audit,
            conversation=self.conversation if conversation is None else conversation,
            listener=on_event,
        )
        return await run.run(system, user)

    def run_sync(
        self,
        task: str | Mapping[str, object],
        *,
        untrusted: Sequence[str] = (),
        principal: Principal | None = None,
        audit: Audit | None = None,
        conversation: ConversationSink | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> AgentResult:
        """Do the same from code that is not asynchronous. Ctrl-C cancels the run."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            work = self.run(
                task,
                untrusted=untrusted,
                principal=principal,
                audit=audit,
                conversation=conversation,
                on_event=on_event,
            )
            with asyncio.Runner() as runner:
                try:
                    return runner.run(work)
                finally:
                    # Unlike the runner, this does not wait for ever for a tool that does not stop.
                    stop_tasks(runner.get_loop())
        raise UsageError("run_sync was called where an event loop is running; write `await loop.run(…)` there")

    def start(
        self,
        task: str | Mapping[str, object],
        *,
        untrusted: Sequence[str] = (),
        control: RunControl | None = None,
        principal: Principal | None = None,
        audit: Audit | None = None,
        conversation: ConversationSink | None = None,
    ) -> LiveRun:
        """Run once, beside the caller, with its events as they happen.

            async with loop.start("…") as run:
                async for event in run:
                    print(event.body)
                result = await run.result()

        Leaving the block before the end cancels the run. A reader that is slow misses the oldest events, and never
        slows the run.
        """

        async def start(listener: Callable[[Event], None]) -> AgentResult:
            return await self.run(
                task,
                untrusted=untrusted,
                control=control,
                principal=principal,
                audit=audit,
                conversation=conversation,
                on_event=listener,
            )

        return LiveRun(start)
