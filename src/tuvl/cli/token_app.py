"""The words of `tuvl token`, for Typer; what they do is in `tuvl.cli.token`."""

from enum import StrEnum
from typing import Annotated

import typer

token = typer.Typer(
    help="Make, list and revoke the API tokens of `tuvl serve`.",
    epilog="Scopes of the server: runs:start, runs:read, runs:control, agent:observe, agent:control, metrics:read. "
    "Workflows and data models may ask for scopes of their own.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


class TokenFormat(StrEnum):
    """Choices of `--format`."""

    TEXT = "text"
    JSON = "json"


DEFAULT_SCOPES = ("runs:start", "runs:read")
"""What a token allows of which nothing else is said."""

Format = Annotated[TokenFormat, typer.Option("--format", help="Text for people, or JSON for programs.")]
Project = Annotated[
    str | None,
    typer.Option(
        metavar="DIR", help="The project's root folder. [default: the nearest one with a tuvl.yaml, going upwards]"
    ),
]


@token.command(
    epilog="\b\nExamples:\n  tuvl token create --principal ci --scope runs:start --scope runs:read --expires-in 90d\n"
    "  tuvl token create --principal anna --tenant acme --group approvers --scope runs:read --scope runs:control\n\n"
)
def create(
    principal: Annotated[str, typer.Option(metavar="ID", help="Whom the requests with it act for.")],
    scope: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SCOPE",
            help="What it allows; `*` is everything, in every tenant. Repeatable. [default: runs:start and runs:read]",
        ),
    ] = None,
    tenant: Annotated[
        str | None, typer.Option(metavar="ID", help="Whose runs it sees. [default: those of no tenant]")
    ] = None,
    group: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A group that the principal is in. Repeatable.")
    ] = None,
    label: Annotated[str, typer.Option(metavar="TEXT", help="What people call it.")] = "",
    expires_in: Annotated[
        str | None, typer.Option(metavar="TIME", help="How long it opens anything: 45m, 12h, 90d. [default: always]")
    ] = None,
    format_: Format = TokenFormat.TEXT,
    project: Project = None,
) -> None:
    """Make a token and print it, this once: only a digest of it is kept."""
    from tuvl.cli.token import TokenCommand, TokenOptions

    options = TokenOptions(
        label=label,
        principal=principal,
        tenant=tenant,
        groups=tuple(group or ()),
        scopes=tuple(scope or DEFAULT_SCOPES),
        lasts=expires_in,
    )
    raise typer.Exit(TokenCommand(project=project, as_json=format_ is TokenFormat.JSON).create(options))


@token.command("list", epilog="\b\nExample:\n  tuvl token list --format json\n\n")
def list_(format_: Format = TokenFormat.TEXT, project: Project = None) -> None:
    """List all tokens, the newest first."""
    from tuvl.cli.token import TokenCommand

    raise typer.Exit(TokenCommand(project=project, as_json=format_ is TokenFormat.JSON).list())


@token.command(epilog="\b\nExample:\n  tuvl token revoke 4f0c9a1be2d3\n\n")
def revoke(
    id: Annotated[str, typer.Argument(metavar="ID", help="Id of the token, as `tuvl token list` shows it.")],
    project: Project = None,
) -> None:
    """Let a token open nothing from now on; requests under way end as they would have."""
    from tuvl.cli.token import TokenCommand

    raise typer.Exit(TokenCommand(project=project, as_json=False).revoke(id))
