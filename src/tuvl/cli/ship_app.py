"""The words of `tuvl ship`, for Typer; what they do is in `tuvl.cli.ship`."""

from enum import StrEnum
from typing import Annotated

import typer

EXAMPLES = (
    "tuvl ship --no-build",
    "tuvl ship --strict --image registry.example.com/support-desk:1.4.0",
    "tuvl ship --no-build --output build/release --include prices.json",
)


class ShipFormat(StrEnum):
    """Choices of `tuvl ship --format`."""

    TEXT = "text"
    JSON = "json"


def ship(
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Let warnings stop it: of the checks, of the lock, of the image, and when nothing is tested.",
        ),
    ] = False,
    output: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Where to; made when it is not there. [default: `dist` of the project]"),
    ] = None,
    no_build: Annotated[
        bool, typer.Option("--no-build", help="Build no image: write the files, for a Docker engine elsewhere.")
    ] = False,
    image: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name and tag of the image. [default: name and version of the project]"),
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH", help="A file or folder that nodes read, from the project's root; it goes along. Repeatable."
        ),
    ] = None,
    format_: Annotated[
        ShipFormat, typer.Option("--format", help="Path and digest of the bundle, or one JSON document for programs.")
    ] = ShipFormat.TEXT,
    project: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="The project's root folder. [default: the nearest one with a tuvl.yaml, going upwards]"
        ),
    ] = None,
) -> None:
    """Check, test and pack a project, with all that deploys it.

    The checks of `tuvl validate`, the scenarios of `tuvl test` and the lock come first; errors and failed scenarios
    stop it. Then a bundle is written, the same bytes for the same files, and beside it a Dockerfile, a compose file,
    Kubernetes manifests, a list of what is inside and where it comes from; last, the image is built. Files that are
    not of an earlier `tuvl ship` are never written over. `tuvl run BUNDLE` runs a bundle.
    """
    from tuvl.cli.ship import ShipOptions
    from tuvl.cli.ship import ship as ship_project

    options = ShipOptions(
        strict=strict,
        output=output,
        build=not no_build,
        image=image,
        include=tuple(include or ()),
        format=format_.value,
        project=project,
    )
    raise typer.Exit(ship_project(options))
