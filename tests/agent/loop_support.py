"""Builders for tests of the loop: a scripted model, tools as functions, and a runner with sane defaults."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from tuvl.agent.asking import Asker, Sampling
from tuvl.agent.closing import Closing
from tuvl.agent.exits import Exit
from tuvl.agent.gates import OpenGates
from tuvl.agent.history import Preparation
from tuvl.agent.ledger import Ledger
from tuvl.agent.limits import Bounds, Budget
from tuvl.agent.loop import AgentStepRunner
from tuvl.agent.offer import Offer
from tuvl.agent.outcome import OutcomeContract
from tuvl.agent.transcript import Transcript
from tuvl.clock import SystemClock
from tuvl.control import RunControl
from tuvl.errors import StepError
from tuvl.llm.messages import ChatModel, Message, ModelReply, ModelRequest, Price, ToolCall, ToolSpec, Usage
from tuvl.llm.meter import Meter
from tuvl.plan.model import AgentLimits, OutcomePlan, RunLimits
from tuvl.tools.schema import ValueSchema
from tuvl.tools.tool import ToolFailure, ToolOutcome, ToolPlan
from tuvl.tools.toolbox import Toolbox, ToolPolicy


def usage(total: int) -> Usage:
    return Usage(input_tokens=total, output_tokens=0, total_tokens=total)


def say(text, *, tokens=10, finish="stop") -> ModelReply:
    return ModelReply(
        message=Message(role="assistant", content=text),
        finish_reason=finish,
        usage=None if tokens is None else usage(tokens),
    )


def ask(*calls, tokens=10, text=None, finish="tool_calls") -> ModelReply:
    """A reply with calls, each `(name, arguments)` or `(name, arguments, id)`; a dict is sent as JSON text."""
    made = []
    for index, (name, arguments, *rest) in enumerate(calls):
        raw = json.dumps(arguments) if isinstance(arguments, dict) else arguments
        made.append(ToolCall(id=rest[0] if rest else f"c{index + 1}", name=name, arguments=raw))
    return ModelReply(
        message=Message(role="assistant", content=text, tool_calls=tuple(made)),
        finish_reason=finish,
        usage=None if tokens is None else usage(tokens),
    )


@dataclass
class Model:
    """Answers from a list; one request too many fails the test. Functions in the list are called with the request."""

    replies: list
    name: str = "test/model"
    price: Price | None = None
    requests: list[ModelRequest] = field(default_factory=list)

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.requests.append(replace(request, messages=list(request.messages)))
        assert self.replies, f"request {len(self.requests)} was not expected"
        reply = self.replies.pop(0)
        if callable(reply):
            reply = reply(request)
            if isinstance(reply, Awaitable):
                reply = await reply
        if isinstance(reply, Exception):
            raise reply
        return reply

    async def aclose(self) -> None:
        pass


def tool(ref: str, *, parameters: dict | None = None, **policy) -> ToolPlan:
    schema = parameters or {"type": "object", "properties": {}}
    return ToolPlan(
        ref=ref,
        kind=policy.pop("kind", "Functional"),
        spec=ToolSpec(name=ref, description=f"does {ref}", parameters=schema),
        arguments=ValueSchema(schema),
        **policy,
    )


class Loop:
    """A loop ready to run; what went on is kept in its attributes."""

    def __init__(
        self,
        model: ChatModel | list,
        *,
        tools: dict[str, object] | None = None,
        plans: dict[str, ToolPlan] | None = None,
        enum: tuple[str, ...] = (),
        policy: ToolPolicy | None = None,
        limits: RunLimits | None = None,
        gates=None,
        control: RunControl | None = None,
        emit: Callable[[object], None] | None = None,
        schema: dict | None = None,
        preparation: Preparation | None = None,
        surface=None,
        continuation=None,
        interruptible: bool = False,
        audit=None,
        conversation=None,
        **bounds,
    ) -> None:
        self.model = Model(model) if isinstance(model, list) else model
        self.functions = tools if tools is not None else {"lookup": {"found": 1}}
        self.ran: list[tuple[str, dict]] = []
        self.merged: list[dict] = []
        self.events: list[object] = []
        self.meter = Meter()
        self.control = control or RunControl()
        gates = gates or OpenGates()
        clock = SystemClock()
        self.transcript = Transcript("agent")
        plans = {name: tool(name) for name in self.functions} | (plans or {})
        emit = emit or self.events.append
        self.toolbox = Toolbox(
            tuple(plans.values()),
            dispatch=self._dispatch,
            merge=lambda delta: self.merged.append(dict(delta)),
            policy=policy or ToolPolicy(default_timeout_s=5),
            gate=gates,
            control=self.control,
            clock=clock,
            emit=emit,
        )
        preparation = preparation or Preparation()
        run_bounds = Bounds(
            AgentLimits(**bounds),
            meter=Meter(parent=self.meter),
            clock=clock,
            around=(Budget.of_run(limits or RunLimits(), self.meter),),
        )
        ledger = Ledger(transcript=self.transcript, audit=audit, conversation=conversation)
        contract = OutcomeContract(
            plan=OutcomePlan(write="result", enum=enum, schema=ValueSchema(schema) if schema else None)
        )
        self.runner = AgentStepRunner(
            asker=Asker(
                model=self.model,
                toolbox=self.toolbox,
                offer=Offer(declared=tuple(plans), surface=surface, conclusion=preparation.conclusion),
                bounds=run_bounds,
                control=self.control,
                ledger=ledger,
                clock=clock,
                sampling=Sampling(interruptible=interruptible),
            ),
            toolbox=self.toolbox,
            bounds=run_bounds,
            closing=Closing(
                contract=contract,
                gates=gates,
                retries_left=run_bounds.limits.answer_retries,
                continuation=continuation,
                continuations_left=3 if continuation else 0,
            ),
            gates=gates,
            control=self.control,
            ledger=ledger,
            emit=emit,
            preparation=preparation,
        )

    async def _dispatch(self, ref: str, arguments: dict) -> ToolOutcome:
        self.ran.append((ref, arguments))
        function = self.functions[ref]
        try:
            result = function(**arguments) if callable(function) else function
            if isinstance(result, Awaitable):
                result = await result
        except StepError as error:
            return ToolOutcome(signal="error", failure=ToolFailure(type=error.type, message=error.message))
        except Exception as error:
            return ToolOutcome(
                signal="error",
                failure=ToolFailure(type=type(error).__name__, message=str(error) or type(error).__name__, cause=error),
            )
        return result if isinstance(result, ToolOutcome) else ToolOutcome(delta=result or {})

    async def run(self) -> Exit:
        before = asyncio.all_tasks()
        ended = await self.runner.run("You are a test.", "Begin.")
        assert asyncio.all_tasks() == before, "a task outlived the run"
        return ended

    def sent(self, request: int) -> list[Message]:
        """Messages of a request, counted from 1."""
        return list(self.model.requests[request - 1].messages)

    def results(self, request: int) -> list[Message]:
        return [message for message in self.sent(request) if message.role == "tool"]

    def entries(self, type: str) -> list[dict]:
        return [entry for entry in self.transcript.entries if entry["type"] == type]


def boom(**_arguments):
    raise RuntimeError("no stock")
