"""`spec.supervisor`, compiled: which agents are watched, by which rules, and by which judge."""

from typing import Literal

from tuvl.dataclass import dataclass
from tuvl.plan.language_model import ModelPlan
from tuvl.spec.base import Reaction
from tuvl.spec.supervisor import SupervisorRule

DEFAULT_STEER = (
    "You have been at this for a while. Look at what you have, do not repeat what you have already done, and come to "
    "an end: give your final answer as soon as you can."
)
"""What a `steer` reaction says where the file says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgePlan:
    """A model that is asked about an agent's counts after every `every_n_iterations` of its turns."""

    model: ModelPlan
    criteria: str
    """As it is written: the judge sees no value of the run, so nothing is rendered into it."""
    every_n_iterations: int = 1
    on_violation: Reaction = "pause"
    on_judge_error: Literal["ignore", "pause", "abort"] = "ignore"


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisorPlan:
    """What watches the agents of one workflow."""

    watches: frozenset[str]
    """Ids of the agents."""
    rules: tuple[SupervisorRule, ...] = ()
    judge: JudgePlan | None = None
    steer_message: str = DEFAULT_STEER
