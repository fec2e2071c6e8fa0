"""The image of a bundle: its Dockerfile, what of the folder goes into it, and the packages it installs."""

import json
from collections.abc import Iterator

from tuvl.shipping.packages import own_package
from tuvl.shipping.release import BUNDLE_IN_IMAGE, STATE_IN_IMAGE, USER_ID, Release

REQUIREMENTS_FILE = "requirements.txt"
CONSTRAINTS_FILE = "constraints.txt"

_HEAD = "# Written by `tuvl ship`; the next one writes it anew."


def dockerfile(release: Release) -> str:
    """Write the Dockerfile: a slim base, the exact packages, one bundle, and nobody's rights."""
    check = ["tuvl", "validate", "--quiet", BUNDLE_IN_IMAGE]
    only = release.workflows[0].name if len(release.workflows) == 1 else None
    command = ["--help"] if only is None else release.arguments(only, input="-")
    return f"""\
{_HEAD}
FROM python:{release.python}-slim

# Another index than the public one: docker build --build-arg PIP_INDEX_URL=… (no credentials: an image keeps them).
ARG PIP_INDEX_URL

COPY --chmod=0444 {REQUIREMENTS_FILE} {CONSTRAINTS_FILE} /build/
RUN python -m pip install --no-cache-dir --disable-pip-version-check \\
        --requirement /build/{REQUIREMENTS_FILE} --constraint /build/{CONSTRAINTS_FILE} \\
    && rm -r /build

RUN groupadd --system --gid {USER_ID} tuvl \\
    && useradd --system --uid {USER_ID} --gid {USER_ID} --no-create-home --home-dir {STATE_IN_IMAGE} tuvl \\
    && mkdir {STATE_IN_IMAGE} && chown {USER_ID}:{USER_ID} {STATE_IN_IMAGE}

COPY --chmod=0444 {json.dumps([release.file, BUNDLE_IN_IMAGE])}

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 TUVL_ENV=production HOME={STATE_IN_IMAGE}
USER {USER_ID}:{USER_ID}
WORKDIR {STATE_IN_IMAGE}
RUN {json.dumps(check)}

HEALTHCHECK --interval=60s --timeout=30s --start-period=10s CMD {json.dumps(check)}
ENTRYPOINT ["tuvl"]
CMD {json.dumps(command)}
"""


def dockerignore(release: Release) -> str:
    """Write what of the folder a build sees: the bundle and the lists of packages."""
    return f"{_HEAD}\n*\n!{release.file}\n!{REQUIREMENTS_FILE}\n!{CONSTRAINTS_FILE}\n"


def requirements(release: Release) -> str:
    """Write what pip is to install: this tuvl with the extras that are needed, and what nodes import."""
    lines = [_HEAD, own_package(release.needs.extras)]
    if release.needs.requirements is not None:
        lines += [
            "# Of the project's own requirements.txt:",
            release.needs.requirements.decode("utf-8", "replace").rstrip(),
        ]
    else:
        lines += [f"{package.name}=={package.version}" for package in release.node_packages]
    return "\n".join(lines) + "\n"


def constraints(release: Release) -> str:
    """Write the versions that the checks and tests ran with."""
    return "\n".join(_pins(release)) + "\n"


def _pins(release: Release) -> Iterator[str]:
    yield _HEAD
    # What the project's own list says wins over what is installed here.
    own = {"tuvl"} | (set() if release.needs.requirements is None else {one.name for one in release.node_packages})
    for package in release.packages:
        if package.name in own:
            continue
        yield f"{package.name}=={package.version}"
