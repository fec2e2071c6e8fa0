"""One release: a bundle with what is known of it, from which every file to deploy it is written."""

import re
from collections.abc import Mapping
from hashlib import sha256

from tuvl.dataclass import dataclass
from tuvl.shipping.bundle import Bundle
from tuvl.shipping.needs import Needs
from tuvl.shipping.packages import Package
from tuvl.values import JsonObject

USER_ID = 10001
"""Whom containers run as: nobody that a host knows."""
BUNDLE_IN_IMAGE = "/app/bundle.tuvl"
STATE_IN_IMAGE = "/state"
"""Working directory of containers: the files of runs and records are below it."""
DIGEST_OPTION = "--bundle-digest"

_LONGEST_LABEL = 52


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowFacts:
    """What a deployment has to know of one workflow."""

    name: str
    schedule: str | None
    """Its cron expression, when it has one."""
    timezone: str
    """Time zone of that."""
    timeout_s: float | None
    example: JsonObject | None
    """The least input that it takes; `None` when none could be made up."""
    needs_input: bool
    """Whether a run without an input is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A bundle on its way."""

    bundle: Bundle
    needs: Needs
    workflows: tuple[WorkflowFacts, ...]
    packages: tuple[Package, ...]
    """tuvl and all it needs, in the versions that the checks and tests ran with."""
    node_packages: tuple[Package, ...]
    """Those of them that nodes import, where the project has no list of its own."""
    missing: Mapping[str, str]
    """Packages that the image installs and that are not installed here, with who asks for each."""
    own_origin: str | None
    """Where the tuvl that checked and tested is from, when not from a package index."""
    python: str
    image: str
    """Name and tag of the image."""

    @property
    def label(self) -> str:
        """`NAME-VERSION`, what files are called."""
        return f"{self.bundle.manifest.name}-{self.bundle.manifest.version}"

    @property
    def file(self) -> str:
        """Name of the bundle's file."""
        return f"{self.label}.tuvl"

    def arguments(self, workflow: str, *, input: str) -> list[str]:
        """Return the words after `tuvl` that run a workflow of the bundle in its image."""
        pinned = [DIGEST_OPTION, self.bundle.digest]
        return ["run", BUNDLE_IN_IMAGE, *pinned, "--workflow", workflow, "--input", input]


def default_image(name: str, version: str) -> str:
    """Return the name of an image as registries take it: lower case, `name:tag`."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "workflows"
    return f"{plain}:{re.sub(r'[^A-Za-z0-9_.-]', '-', version)[:128]}"


def dns_label(*parts: str) -> str:
    """Make one name of several, as Kubernetes takes it: lower case, digits and `-`, short, and never the same twice."""
    given = "-".join(parts)
    plain = re.sub(r"[^a-z0-9]+", "-", given.lower()).strip("-")
    if plain == given and len(plain) <= _LONGEST_LABEL and plain[0].isalpha():
        return plain
    # What was made alike may have been different before.
    mark = sha256("\0".join(parts).encode()).hexdigest()[:8]
    if not plain[:1].isalpha():
        plain = f"x-{plain}"
    return f"{plain[: _LONGEST_LABEL - 9].strip('-')}-{mark}"
