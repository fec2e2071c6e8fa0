"""The lock as data: sections of entries, each with its content and a digest of it."""

from collections.abc import Mapping
from enum import StrEnum
from hashlib import sha256

from tuvl.dataclass import dataclass
from tuvl.values import JsonObject, JsonValue, canonical

LOCK_NAME = "tuvl.lock"
"""The lock's file, in the root of its project."""

LOCK_VERSION = 1
"""Version of the lock's own form; a higher one is refused, not guessed at."""

LANGUAGE_VERSION = "v1"
"""Version of the language that the locked documents are written in."""


class Section(StrEnum):
    """The sections of a lock, in the order in which they are written."""

    PROJECT = "project"
    WORKFLOWS = "workflows"
    ARTIFACTS = "artifacts"
    PRESETS = "presets"
    SCRIPTS = "scripts"
    NODES = "nodes"
    DATA_MODELS = "data_models"
    DATA_SOURCES = "data_sources"
    TOOLS = "tools"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing that runs depend on."""

    content: JsonObject
    """What it says, without secrets."""
    file: str | None = None
    """Its file, from the project's root, with `/` between folders; `None` for a tool of a server."""

    @property
    def digest(self) -> str:
        """`sha256:` and the digest of the content; the order of keys, comments and formatting do not change it."""
        return digest_of(self.content)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """All that runs of a project depend on."""

    sections: Mapping[Section, Mapping[str, Entry]]
    """Section → name → entry; a section without entries may be left out."""
    tuvl: str
    """Version of tuvl that wrote the lock."""
    language: str = LANGUAGE_VERSION
    """Version of the language."""

    def section(self, section: Section) -> Mapping[str, Entry]:
        """Return the entries of one section by name."""
        return self.sections.get(section, {})

    @property
    def digest(self) -> str:
        """Digest of the whole: changes with every entry, and with each that comes or goes."""
        return whole_digest(
            self.language,
            {
                section: {name: entry.digest for name, entry in self.section(section).items()}
                for section in Section
                if self.section(section)
            },
        )


def digest_of(value: JsonValue) -> str:
    """Return `sha256:` and the hexadecimal digest of a JSON value, the same for equal values."""
    return f"sha256:{sha256(canonical(value).encode()).hexdigest()}"


def whole_digest(language: str, digests: Mapping[Section, Mapping[str, str]]) -> str:
    """Return the digest over the digests of all entries."""
    listed: JsonObject = {section.value: dict(entries) for section, entries in digests.items()}
    return digest_of({"language": language, "entries": listed})
