"""Which Python packages an installation of tuvl consists of, read from what is installed here."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

import tuvl
from tuvl.dataclass import dataclass

OWN = "tuvl"

_TARGET = {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"}
"""Where the image runs, whatever system makes the bundle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One package in the version that is installed here; `needs` are the names of packages it asks for."""

    name: str
    version: str
    needs: tuple[str, ...] = ()

    @property
    def purl(self) -> str:
        """Its package URL."""
        return f"pkg:pypi/{self.name}@{self.version}"


@dataclass(frozen=True, slots=True)
class Required:
    """One line of a list of packages."""

    name: str
    text: str

    def takes(self, version: str) -> bool:
        """Whether a version is one that it asks for."""
        return Requirement(self.text).specifier.contains(version, prereleases=True)


def required(requirements: bytes) -> tuple[Required, ...]:
    """Read the packages that a `requirements.txt` names; options, other files and addresses are passed over."""
    found = []
    for line in requirements.decode("utf-8", "replace").splitlines():
        text = line.split(" #")[0].split(" --")[0].strip()
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        if requirement.marker is None or requirement.marker.evaluate(_TARGET):
            found.append(Required(canonicalize_name(requirement.name), text))
    return tuple(found)


def own_package(extras: Iterable[str]) -> str:
    """Return the requirement that installs this very version of tuvl, e.g. `tuvl[mcp]==1.2.0`."""
    return f"{_with_extras(OWN, extras)}=={tuvl.__version__}"


def _with_extras(name: str, extras: Iterable[str]) -> str:
    named = ",".join(sorted(extras))
    return f"{name}[{named}]" if named else name


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """What an installation consists of."""

    packages: tuple[Package, ...]
    """What is installed here, sorted by name."""
    missing: Mapping[str, str]
    """What is asked for and not installed here, by name, with who asks for it, e.g. `tuvl[postgres]`."""


def inventory(extras: Iterable[str], others: Iterable[str] = ()) -> Inventory:
    """List tuvl, the other packages that are named, and all that these ask for, on the system of the image."""
    asked: dict[str, set[str]] = {OWN: set(extras)}
    for name in others:
        asked.setdefault(canonicalize_name(name), set())
    found: dict[str, Package] = {}
    missing: dict[str, str] = {}
    asks = dict.fromkeys(asked, "the project")
    pending = list(asked)
    while pending:
        name = pending.pop()
        distribution = _distribution(name)
        if distribution is None:
            missing[name] = asks[name]
            continue
        needs = list(_requirements(distribution, asked[name]))
        version = tuvl.__version__ if name == OWN else distribution.version
        found[name] = Package(
            name=name, version=version, needs=tuple(sorted({canonicalize_name(need.name) for need in needs}))
        )
        for need in needs:
            needed = canonicalize_name(need.name)
            known = asked.get(needed)
            if known is None or not need.extras <= known:
                asked[needed] = (known or set()) | need.extras
                asks.setdefault(needed, _with_extras(name, asked[name]))
                pending.append(needed)
    packages = tuple(
        Package(name=each.name, version=each.version, needs=tuple(need for need in each.needs if need in found))
        for _, each in sorted(found.items())
    )
    return Inventory(packages=packages, missing=dict(sorted(missing.items())))


def distributions_of(modules: Iterable[str]) -> Mapping[str, str]:
    """Return the packages that bring modules, by module; one that is not installed here is left out."""
    wanted = tuple(modules)
    # The files of every package are looked through for it.
    table = metadata.packages_distributions() if wanted else {}
    return {module: canonicalize_name(sorted(table[module])[0]) for module in wanted if table.get(module)}


def brings_program(packages: Iterable[Package], program: str) -> bool:
    """Whether one of the packages installs a program of this name."""
    found = (_distribution(package.name) for package in packages)
    return any(
        point.group == "console_scripts" and point.name == program
        for distribution in found
        if distribution is not None
        for point in distribution.entry_points
    )


def brings_module(packages: Iterable[Package], module: str) -> bool:
    """Whether Python, or one of the packages, has a module."""
    first = module.split(".")[0]
    if first in sys.stdlib_module_names:
        return True
    return distributions_of((first,)).get(first) in {package.name for package in packages}


def own_origin() -> str | None:
    """Say where this tuvl is from, when that is not a package index: an index may have another build of its version."""
    distribution = _distribution(OWN)
    if distribution is None:
        return "source files that are not installed"
    try:
        origin = json.loads(distribution.read_text("direct_url.json") or "null")
    except ValueError:
        return None
    if not isinstance(origin, dict):
        return None
    if "vcs_info" in origin:
        return "a repository"
    return "a source checkout" if "dir_info" in origin else "a file"


def python_version() -> str:
    """Return the version of the running Python, as tags of images say it."""
    return ".".join(map(str, sys.version_info[:3]))


def _distribution(name: str) -> metadata.Distribution | None:
    try:
        return metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None


def _requirements(distribution: metadata.Distribution, extras: set[str]) -> Iterator[Requirement]:
    for text in distribution.requires or ():
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue  # of a package that was made before there were rules
        marker = requirement.marker
        if marker is None or any(marker.evaluate({**_TARGET, "extra": extra}) for extra in ("", *sorted(extras))):
            yield requirement
