"""What findings rest on: the files that were read, and the variables that were asked for.

A report may be kept and told again as long as all of that is as it was. One function reads the files of a project, and
one asks for variables; both tell the witness, so that no check can look at something the witness does not know of.
"""

import os
from dataclasses import field
from pathlib import Path
from typing import NamedTuple

from tuvl.dataclass import dataclass
from tuvl.settings import environment


class Stamp(NamedTuple):
    """By what a file is known to be the one that was read, without reading it."""

    size: int
    modified_ns: int
    changed_ns: int
    """When its content, its name or its rights last changed; no program can set it."""
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> "Stamp":
        """Take it from what the system says of a file."""
        return cls(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


@dataclass(slots=True)
class Seen:
    """What was looked at."""

    files: dict[str, tuple[Stamp, str]] = field(default_factory=dict)
    """Path → its stamp before it was read, and the digest of what was read."""
    variables: dict[str, bool] = field(default_factory=dict)
    """Environment variable → whether it was set."""


class Witness:
    """Takes note while it watches; otherwise nothing is kept."""

    def __init__(self) -> None:
        self.seen: Seen | None = None

    def watch(self) -> Seen:
        """Take note from now on."""
        self.seen = Seen()
        return self.seen

    def rest(self) -> None:
        """Take note of nothing more."""
        self.seen = None

    def note(self, path: Path, status: os.stat_result, raw: bytes) -> None:
        """A file was read; `status` is what the system said of it before."""
        if self.seen is not None:
            self.seen.files[os.path.abspath(path)] = (Stamp.of(status), digest(raw))

    def is_set(self, variable: str) -> bool:
        """Tell whether the environment has a variable."""
        found = variable in environment()
        if self.seen is not None:
            self.seen.variables[variable] = found
        return found

    def join(self, other: Seen | None) -> None:
        """Take over what another process has looked at."""
        if self.seen is not None and other is not None:
            self.seen.files.update(other.files)
            self.seen.variables.update(other.variables)


def digest(raw: bytes) -> str:
    """The digest of a file's content."""
    from hashlib import sha256  # takes a hundredth of a second to import, and only a check that is kept needs it

    return sha256(raw).hexdigest()


witness = Witness()
"""The one of this process: a check that is kept has the process for itself."""
