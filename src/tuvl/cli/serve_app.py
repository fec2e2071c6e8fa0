"""The words of `tuvl serve`, for Typer; what they do is in `tuvl.cli.serve`."""

from typing import Annotated

import typer

EXAMPLES = (
    "tuvl serve",
    "tuvl serve --port 8000 --concurrency 50",
    "tuvl serve --grpc-port 50051",
    "tuvl serve --host 0.0.0.0 --public-url https://agents.example.com",
)


def serve(
    host: Annotated[
        str, typer.Option(help="Where to listen. Other than loopback addresses need a token, or TUVL_JWT_JWKS.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Which port; 0 takes a free one.")] = 8321,
    grpc_port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Serve gRPC, too, on this port of the same host; 0 takes a free one."),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Answer requests under this name, too. Repeatable."),
    ] = None,
    public_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Where browsers reach the server behind a proxy; with https, cookies are secure ones."
        ),
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, metavar="N", help="Most runs that go on at once.")] = 100,
    clients: Annotated[int, typer.Option(min=1, metavar="N", help="Most event streams that are open at once.")] = 2000,
    rate: Annotated[
        float, typer.Option(min=0.01, metavar="N", help="Requests a second of one principal, on the average.")
    ] = 50.0,
    burst: Annotated[int, typer.Option(min=1, metavar="N", help="Requests that a principal may make at once.")] = 100,
    max_body: Annotated[
        int, typer.Option("--max-body", min=1, metavar="BYTES", help="Largest body of a request.")
    ] = 1_048_576,
    timeout: Annotated[
        float, typer.Option(min=0.01, metavar="SECONDS", help="Longest that a run may take which is not durable.")
    ] = 3600.0,
    grace: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="How long runs may go on after SIGTERM.")
    ] = 30.0,
    project: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="The project's root folder. [default: the nearest one with a tuvl.yaml, going upwards]"
        ),
    ] = None,
) -> None:
    """Serve the workflows of a project over HTTP, and over gRPC.

    Runs are started, read, watched and controlled under /api, and by the triggers of the workflows: by their paths, and
    with the extra `durable` at the times of their schedules, each time once, however many servers and workers there
    are. Every path of the API needs a token (`tuvl token create`). SIGTERM ends the server when its runs have ended, or
    their time is over.
    """
    from tuvl.cli.serve import ServeOptions, serve_command

    options = ServeOptions(
        project=project,
        host=host,
        port=port,
        grpc_port=grpc_port,
        allow_hosts=tuple(allow_host or ()),
        public_url=public_url,
        concurrency=concurrency,
        clients=clients,
        rate=rate,
        burst=burst,
        max_body_bytes=max_body,
        run_timeout_s=timeout,
        grace_s=grace,
    )
    raise typer.Exit(serve_command(options))
