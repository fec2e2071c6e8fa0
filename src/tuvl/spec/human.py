"""The `HumanInTheLoop` step: what a person is asked, and who may answer."""

from typing import ClassVar, Literal

from tuvl.spec.base import Contract, Many, Needs, Ruled, Scalar, Text
from tuvl.spec.step import CommonStep


class HumanUi(Contract):
    """What the person sees."""

    title: Text
    """Heading; a template."""
    instruction: str | None = None
    """What is asked of the person; a template."""
    display_context: Many[Text] = ()
    """Context keys shown beside the question."""


class FeedbackField(Ruled):
    """One answer asked of the person."""

    needs: ClassVar[tuple[Needs, ...]] = (Needs("type", ("choice",), ("choices",)),)

    name: Text
    """Key of the answer."""
    type: Literal["string", "text", "integer", "number", "boolean", "choice"] = "string"
    """Type the answer must have; `text` is a string of several lines."""
    required: bool = True
    """Whether an answer must be given."""
    label: str | None = None
    """What the form says beside the field."""
    choices: Many[Scalar] | None = None
    """Allowed answers, for `type: choice`."""


class HumanAuth(Contract):
    """Who may answer; the requester may not when a group is required."""

    required_group: Text | None = None
    """Group the person must be in."""
    assignee_user: Text | None = None
    """The one person who may answer; a template."""


class HumanStep(CommonStep):
    """Asks a person; the run is suspended until the answer comes."""

    kind: Literal["HumanInTheLoop"]
    """A question to a person."""
    ui: HumanUi
    """What the person sees."""
    human_feedback: Many[FeedbackField] = ()
    """Answers asked of the person."""
    output_key: Text | None = None
    """Context key of the answers; default `<id>_result`."""
    signal_from: Text | None = None
    """Answer whose value is the signal, so that `routes` can map its values."""
    auth: HumanAuth | None = None
    """Who may answer."""
