"""A history in parts that must not be torn: an assistant turn with calls, and the results that answer it."""

from collections.abc import Sequence

from tuvl.dataclass import dataclass
from tuvl.llm.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Messages that are kept or dropped together, and their estimated tokens."""

    messages: tuple[Message, ...]
    tokens: int

    @property
    def tools(self) -> frozenset[str]:
        """Names of the tools called in this group."""
        return frozenset(call.name for message in self.messages for call in message.tool_calls)


def grouped(messages: Sequence[Message], tokens: Sequence[int]) -> list[Group]:
    """Split a history into groups; `tokens` holds the estimate of each message."""
    groups: list[Group] = []
    begin = 0
    for index in range(1, len(messages) + 1):
        if index == len(messages) or messages[index].role != "tool":
            groups.append(Group(messages=tuple(messages[begin:index]), tokens=sum(tokens[begin:index])))
            begin = index
    return groups if messages else []


def paired(messages: Sequence[Message]) -> bool:
    """Whether every call has its result right behind it, in order, and no result stands alone."""
    waiting: list[str] = []
    for message in messages:
        if message.role == "tool":
            if not waiting or waiting.pop(0) != message.tool_call_id:
                return False
        elif waiting:
            return False
        else:
            waiting = [call.id for call in message.tool_calls]
    return not waiting
