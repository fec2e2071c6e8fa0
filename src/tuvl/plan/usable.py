"""What keeps a document from being used by a run, whatever it says: a twin, or a secret in the clear."""

from tuvl.errors import ConfigError
from tuvl.plan.secrets import refuse_secrets
from tuvl.project.index import ProjectIndex
from tuvl.project.twins import said_twice, twins
from tuvl.source.document import Document


def refuse_unusable(document: Document, index: ProjectIndex) -> None:
    """Raise `ConfigError` for a document that a run must not use."""
    found = twins(document, index)
    if len(found) > 1:
        second = found[1]
        hint = "rename one, give it another version, or switch it off with `enabled: false`"
        raise ConfigError(f"{second.file}: line {second.place.start.line}: {said_twice(second, found[0])}; {hint}")
    refuse_secrets(document, index)
