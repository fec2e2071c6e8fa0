"""The language model that an agent or a judge calls, as a plan names it."""

from tuvl.dataclass import dataclass
from tuvl.spec.llm import AgentModel


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPlan:
    """Which model an agent calls: a preset of the project, or a provider string (`preset` is `None` then)."""

    name: str
    preset: AgentModel | None = None
    folder: str | None = None
    """Folder of the preset's file: its `script:` is found from there."""
    only_hosts: tuple[str, ...] | None = None
    """The project's `spec.policy.allow_hosts`: the only hosts that the preset's addresses may lead to."""
