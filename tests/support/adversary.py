"""A model that costs as much as it is allowed to, and the bill: every byte of a text is a token."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from tuvl.errors import ModelError
from tuvl.llm.messages import Message, ModelReply, ModelRequest, Price, ToolCall, Usage
from tuvl.values import dump_json

PRICE = Price(input_per_mtok=3.0, output_per_mtok=15.0)
TOOL = "big"


def size(text: str | None) -> int:
    return len((text or "").encode())


def bill(request: ModelRequest) -> int:
    """Tokens of a request: every byte of what the provider is sent, roles and ids included."""
    total = 0
    for message in request.messages:
        total += size(message.role) + size(message.content) + size(message.tool_call_id)
        total += sum(size(call.id) + size(call.name) + size(call.arguments) for call in message.tool_calls)
    for tool in request.tools:
        total += size(tool.name) + size(tool.description) + size(dump_json(tool.parameters))
    return total


@dataclass
class Bill:
    """What all models of a run have cost so far, attempts that failed included."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    @property
    def cost_usd(self) -> float:
        return (self.input_tokens * PRICE.input_per_mtok + self.output_tokens * PRICE.output_per_mtok) / 1e6


@dataclass
class Adversary:
    """Replies with moves in turn, the last one for ever; each attempt but the last of `attempts` fails.

    A move is `calls` (as many as `calls`, of the tool `big`), `unknown`, `malformed`, `answer` (one that no contract
    takes), `done` or `blank`. Replies are padded to `output` bytes unless `short`.
    """

    bill: Bill
    moves: Sequence[str]
    output: int
    calls: int = 1
    attempts: int = 1
    short: bool = False
    name: str = "default"
    price: Price | None = PRICE
    asked: int = 0
    attempt: int = 0
    said: list[str] = field(default_factory=list)

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.bill.calls += 1
        self.attempt += 1
        inputs = bill(request)
        self.bill.input_tokens += inputs
        if self.attempt < self.attempts:
            self.bill.output_tokens += self.output  # nobody tells, and it is paid for all the same
            raise ModelError("overloaded", type="server_error", retryable=True)
        self.attempt = 0
        move = self.moves[min(self.asked, len(self.moves) - 1)]
        self.asked += 1
        message = self._message(move)
        outputs = size(message.content) + sum(size(call.name) + size(call.arguments) for call in message.tool_calls)
        assert outputs <= self.output, (move, outputs, self.output)
        self.bill.output_tokens += outputs
        usage = Usage(input_tokens=inputs, output_tokens=outputs, total_tokens=inputs + outputs)
        return ModelReply(message=message, finish_reason="tool_calls" if message.tool_calls else "stop", usage=usage)

    async def aclose(self) -> None:
        pass

    def _message(self, move: str) -> Message:
        match move:
            case "calls" | "unknown" | "malformed":
                return self._asking(move)
            case "done":
                return self._saying('{"outcome": "done", "result": "PAD"}')
            case "judged":
                return self._saying('{"pass": true, "reason": "PAD"}')
            case "blank":
                return Message(role="assistant", content=" ")
            case _:
                return self._saying("no JSON PAD")

    def _saying(self, text: str) -> Message:
        room = 0 if self.short else self.output - size(text) + len("PAD")
        return Message(role="assistant", content=text.replace("PAD", "x" * max(0, room)))

    def _asking(self, move: str) -> Message:
        name = "none" if move == "unknown" else TOOL
        arguments = "{" if move == "malformed" else json.dumps({"q": "PAD"})
        count = max(1, min(self.calls, self.output // (len(name) + len(arguments))))
        spare = 0 if self.short else self.output - count * (len(name) + len(arguments) - 3)
        made = [
            ToolCall(id=f"c{self.asked}_{number}", name=name, arguments=arguments.replace("PAD", ""))
            for number in range(1, count + 1)
        ]
        # All that is left goes into the first call, whose arguments come back in every later request.
        first = arguments.replace("PAD", "x" * min(spare, 60_000)) if move != "malformed" else arguments
        made[0] = ToolCall(id=made[0].id, name=name, arguments=first)
        return Message(role="assistant", tool_calls=tuple(made))
