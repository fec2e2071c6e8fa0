"""What a release needs that its image does not have, does not keep, or has in another version."""

from collections.abc import Iterator

from tuvl.shipping.contents import REQUIREMENTS
from tuvl.shipping.dockerfile import CONSTRAINTS_FILE
from tuvl.shipping.needs import ServerNeed
from tuvl.shipping.packages import brings_module, brings_program, distributions_of, own_package, required
from tuvl.shipping.release import Release

_PYTHON = ("python", "python3")
"""Programs that the image has."""


def warnings_of(release: Release) -> Iterator[str]:
    """Say what stops a strict release."""
    for server in release.needs.servers:
        if server.transport == "stdio":
            lacking = _lacking(server, release)
            if lacking is not None:
                yield f"MCP server {server.name!r} is started as {lacking}"
    yield from _of_nodes(release)
    for name, asks in release.missing.items():
        yield (
            f"the image installs {name!r}, which {asks} asks for and which is not installed here: nothing was tested "
            f"with it, and neither {CONSTRAINTS_FILE} nor the list of what is inside has a version of it; install "
            f"{own_package(release.needs.extras)!r} here, and ship again"
        )
    if release.needs.in_files:
        yield (
            f"records of {', '.join(release.needs.in_files)} are kept in a SQLite file, which a container loses with "
            "its volume; give the data model a `datasource:` of `type: postgresql` where they are to last"
        )


def notes_of(release: Release) -> Iterator[str]:
    """Say what is worth knowing, and stops nothing."""
    if release.own_origin is not None:
        yield (
            f"the checks and tests ran with a tuvl from {release.own_origin}, and the image installs "
            f"{own_package(release.needs.extras)!r} from a package index, which may be another build"
        )


def _lacking(server: ServerNeed, release: Release) -> str | None:
    """Say what of the start of a server the image does not have."""
    named = f"name its package in a {REQUIREMENTS} of the project, or build an image from this one that has it"
    if server.place not in _PYTHON:
        if brings_program(release.packages, server.place):
            return None
        return f"{server.place!r}, a program that no package of the image brings; {named}"
    rest = iter(server.arguments)
    first = next((word for word in rest if word in ("-m", "-c") or not word.startswith("-")), None)
    if first == "-m":
        module = next(rest, "")
        if brings_module(release.packages, module):
            return None
        return f"`{server.place} -m {module}`, a module that no package of the image brings; {named}"
    if first is None or first == "-c":
        return None
    return (
        f"`{server.place} {first}`, a file that is not where containers run; make a package of the server, and {named}"
    )


def _of_nodes(release: Release) -> Iterator[str]:
    needs = release.needs
    if needs.requirements is None:
        brought = distributions_of(needs.imports)
        unknown = [module for module in needs.imports if module not in brought]
        if unknown:
            yield (
                f"nodes import {', '.join(unknown)}, which nothing installed here brings; "
                f"name the packages in a {REQUIREMENTS} of the project"
            )
        return
    versions = {package.name: package.version for package in release.packages}
    for requirement in required(needs.requirements):
        version = versions.get(requirement.name)
        if version is None or not requirement.takes(version):
            yield (
                f"{REQUIREMENTS} asks for {requirement.text!r}, and the tests ran with {version or 'none of it'}; "
                "install what it asks for, and ship again"
            )
