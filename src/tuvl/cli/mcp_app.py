"""The words of `tuvl mcp`, for Typer; what they do is in `tuvl.cli.mcp`."""

from enum import StrEnum
from typing import Annotated

import typer

EXAMPLES = (
    "tuvl mcp workflows/triage.yaml",
    "tuvl mcp triage --principal clerk.yaml --also refund",
    "tuvl mcp triage --transport http --port 8765",
)


class McpTransport(StrEnum):
    """Choices of `tuvl mcp --transport`."""

    STDIO = "stdio"
    HTTP = "http"


class McpApproval(StrEnum):
    """Choices of `tuvl mcp --approve`."""

    ALL = "all"
    NONE = "none"


def mcp(
    workflow: Annotated[
        str, typer.Argument(metavar="WORKFLOW", help="A workflow file, or the name of a workflow of the project.")
    ],
    principal: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Whom the calls act for: a JSON or YAML file with id, tenant, groups and scopes. What it may not use "
            "is not offered. [default: the local operator, with every scope]",
        ),
    ] = None,
    transport: Annotated[
        McpTransport, typer.Option(help="One client on stdin and stdout, or streamable HTTP.")
    ] = McpTransport.STDIO,
    host: Annotated[str, typer.Option(help="Where to listen, with --transport http.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Which port, with --transport http; 0 takes a free one.")
    ] = 8765,
    also: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Offer this workflow of the project as a tool, too. Repeatable."),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Offer every workflow of the project as a tool.")] = False,
    input_: Annotated[
        str | None,
        typer.Option(
            "--input", metavar="FILE", help="The context that the workflow's tools see beside their arguments."
        ),
    ] = None,
    approve: Annotated[
        McpApproval, typer.Option(help="What becomes of calls that need approval: all run, or none.")
    ] = McpApproval.NONE,
    project: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="The project's root folder. [default: the nearest one with a tuvl.yaml, going upwards]"
        ),
    ] = None,
) -> None:
    """Serve a workflow's tools, and the workflow itself, to MCP clients.

    Each call is a run of its own, with the rights of the principal. stdout carries the protocol and nothing else; what
    is for people goes to stderr. The server ends with its client, or on SIGTERM.
    """
    from tuvl.cli.mcp import McpOptions, mcp_command

    options = McpOptions(
        workflow=workflow,
        also=tuple(also or ()),
        all=all_,
        transport=transport.value,
        host=host,
        port=port,
        input=input_,
        principal=principal,
        approve=approve.value,
        project=project,
    )
    raise typer.Exit(mcp_command(options))
