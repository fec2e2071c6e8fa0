"""The ledger of an agent: its trace, and the audit and conversation that its fields ask for."""

from collections.abc import Sequence

from tuvl.agent.ledger import Ledger
from tuvl.agent.recorded import once_audit, once_conversation
from tuvl.agent.stored import StoredAudit, StoredConversation
from tuvl.agent.transcript import Transcript
from tuvl.dataclass import dataclass
from tuvl.errors import StepError
from tuvl.llm.messages import Message
from tuvl.plan.model import AgentPlan
from tuvl.steps.agent_nodes import HelperNode, message_data
from tuvl.steps.base import StepScope
from tuvl.templating.render import Template
from tuvl.values import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeConversation:
    """Hands each turn to a Functional step, as `ctx.args["messages"]`; what the step returns is not looked at."""

    node: HelperNode

    async def append(self, messages: Sequence[Message]) -> None:
        """Hand over a turn; a node that fails ends the agent."""
        try:
            await self.node.call({"messages": list[JsonValue](message_data(message) for message in messages)})
        except StepError as error:
            raise StepError(error.message, type="conversation_failed", detail=error.detail) from error


def ledger_of(agent: AgentPlan, scope: StepScope, transcript: Transcript) -> Ledger:
    """Return the ledger of one run of an agent; raises `StepError` for a conversation without an id."""
    services = scope.services
    if isinstance(agent.conversation, str):
        node = HelperNode(services=services, step=agent.conversation, field="conversation")
        conversation, sink = None, NodeConversation(node=node)
        return Ledger(
            transcript=transcript,
            audit=once_audit(_audit(agent, scope, conversation), services.journal),
            conversation=once_conversation(sink, services.journal),
        )
    conversation = None if agent.conversation is None else _id(agent.conversation, scope)
    stored = None
    if conversation is not None and services.records is not None:
        stored = StoredConversation(
            services.records, step_id=scope.place, conversation=conversation, clock=services.clock
        )
    return Ledger(
        transcript=transcript,
        audit=once_audit(_audit(agent, scope, conversation), services.journal),
        conversation=once_conversation(stored, services.journal),
    )


def _audit(agent: AgentPlan, scope: StepScope, conversation: str | None) -> StoredAudit | None:
    records = scope.services.records
    if records is None or not (agent.audit or conversation is not None):
        return None
    # A conversation sums up what its turns used, so that its calls are kept too, without what was said.
    return StoredAudit(
        records, step_id=scope.place, model=agent.model.name, audited=agent.audit, conversation=conversation
    )


def _id(template: Template, scope: StepScope) -> str:
    given = template.render_text(scope.values).strip()
    if not given:
        raise StepError("agent.conversation.id gave an empty text; a conversation needs an id", type="bad_value")
    return given
