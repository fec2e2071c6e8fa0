"""What every step has around the fields of its kind."""

from pydantic import Field

from tuvl.spec.base import Contract, Effects, Many, Seconds, StepId, Text


class StepAuth(Contract):
    """What the caller must be allowed for the step to run, on the spine and as a tool alike."""

    required_scope: Text | None = None
    """Scope the principal must have."""
    required_group: Text | None = None
    """Group the principal must be in."""


class CommonStep(Contract):
    """The envelope of a step."""

    id: StepId
    """Name of the step in this workflow: a letter, then letters, digits, `_` and `-`, 64 at most."""
    description: str | None = None
    """What the step does; a model reads it when the step is a tool."""
    routes: dict[Text, Text] = Field(default_factory=dict)
    """Signal → id of the next step, or `END`. An unmapped `default` falls through to the next step."""
    hooks: Many[Text] = ()
    """References to `type: hook` artifacts that observe this step."""
    timeout_s: Seconds | None = None
    """Seconds the whole step may take; `null` is off."""
    effects: Effects | None = None
    """Whether it changes anything outside the run; derived from the kind when not given."""
    danger: bool = False
    """Marks a write that should never run without approval."""
    idempotency_key: Text | None = None
    """Template of a key that makes a repeated call harmless."""


class BaseStep(CommonStep):
    """The envelope of a step that may ask for rights of its caller."""

    auth: StepAuth | None = None
    """What the caller must be allowed; the step leaves on `error` otherwise."""
