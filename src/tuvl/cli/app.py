"""The Typer app: every command, its options and its help.

`run` and `validate` are read without Typer when they are not asked for help (see `tuvl.cli.flags`), because they are
started often and Typer's import is a fifth of their time. They are declared here all the same: this is the one place
that says what an option means, and the command line reference is made from it.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import TyperException

import tuvl
from tuvl.cli.bounds_app import EXAMPLES as BOUNDS_EXAMPLES
from tuvl.cli.bounds_app import bounds
from tuvl.cli.choices import Approve, ReportFormat, RunEvents, TextOrJson
from tuvl.cli.diff_app import EXAMPLES as DIFF_EXAMPLES
from tuvl.cli.diff_app import diff
from tuvl.cli.flags import Words
from tuvl.cli.graph_app import EXAMPLES as GRAPH_EXAMPLES
from tuvl.cli.graph_app import graph
from tuvl.cli.init import DEFAULT_TEMPLATE
from tuvl.cli.lock_app import EXAMPLES as LOCK_EXAMPLES
from tuvl.cli.lock_app import lock
from tuvl.cli.lsp_app import EXAMPLES as LSP_EXAMPLES
from tuvl.cli.lsp_app import lsp
from tuvl.cli.mcp_app import EXAMPLES as MCP_EXAMPLES
from tuvl.cli.mcp_app import mcp
from tuvl.cli.misuse import in_our_words
from tuvl.cli.resume_app import APPROVE_EXAMPLES, CANCEL_EXAMPLE, REPLAY_EXAMPLES, approve, cancel, replay, resume
from tuvl.cli.resume_app import EXAMPLES as RESUME_EXAMPLES
from tuvl.cli.runs_app import runs
from tuvl.cli.runs_control_app import add_to
from tuvl.cli.runs_prune_app import PRUNE_EXAMPLES, prune
from tuvl.cli.serve_app import EXAMPLES as SERVE_EXAMPLES
from tuvl.cli.serve_app import serve
from tuvl.cli.ship_app import EXAMPLES as SHIP_EXAMPLES
from tuvl.cli.ship_app import ship
from tuvl.cli.streams import cannot_write
from tuvl.cli.test_app import EXAMPLES as TEST_EXAMPLES
from tuvl.cli.test_app import run_scenarios
from tuvl.cli.token_app import token
from tuvl.cli.worker_app import EXAMPLES as WORKER_EXAMPLES
from tuvl.cli.worker_app import FORK_EXAMPLE, fork, worker
from tuvl.errors import OutputError, TuvlError
from tuvl.values import printable_lines

UNWRITTEN, MISUSE = 1, 2

_CODES = "full codes such as TV203, or families such as TV2, with commas between several."

app = typer.Typer(
    name="tuvl",
    help="Workflows of AI agents: proven before they run, bounded while they run, explained after.",
    epilog="Start with `tuvl init my-project`. Exit codes: 0 done, 1 findings or a failed run, 2 misuse or an "
    "unreadable file, 3 suspended, 4 aborted, 130 after Ctrl-C.",
    no_args_is_help=True,
    # Plain text: it comes at once, and reads the same in a terminal, a log and the reference.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _block(title: str, *lines: str) -> str:
    """Write lines that help prints as they stand: the first character of a block keeps it from being wrapped."""
    return "\n".join(["\b", title, *(f"  {line}" for line in lines), "", ""])


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tuvl {tuvl.__version__}")
        raise typer.Exit


@app.callback()
def _tuvl(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Take the options that stand before a command."""


Project = Annotated[
    str | None,
    typer.Option(
        metavar="DIR", help="The project's root folder. [default: the nearest one with a tuvl.yaml, going upwards]"
    ),
]


@app.command(
    epilog=_block(
        "Templates:",
        "support   an agent with tools answers questions, or hands over to a person",
        "data      rules clean a list; a model helps with the rows they cannot read",
        "minimal   one model call sums up a text",
    )
    + _block("Example:", "tuvl init my-project --template support")
)
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to; made when it is not there.")] = Path("."),
    template: Annotated[
        str, typer.Option(metavar="NAME", help="Which project: support, data or minimal.")
    ] = DEFAULT_TEMPLATE,
) -> None:
    """Lay down a small project that runs offline at once.

    It passes `tuvl validate --strict`. No file is overwritten: when one of them exists, nothing is written, and the
    command says which.
    """
    from tuvl.cli.init import init as lay_down

    raise typer.Exit(lay_down(folder, template))


@app.command(
    epilog=_block(
        "Examples:",
        "tuvl validate",
        "tuvl validate workflows/triage.yaml --strict",
        "tuvl validate --format json --select TV2 --ignore TV210",
        "tuvl validate --fix --dry-run",
        "tuvl validate --changed-since origin/main --format github",
    )
)
def validate(
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH", help="Files, folders or projects. [default: the project of this folder]"),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Let warnings fail, too, and ask for every bound of an agent.")
    ] = False,
    format_: Annotated[
        ReportFormat,
        typer.Option(
            "--format",
            help="Text for people; JSON, JSON Lines, SARIF 2.1.0, GitHub annotations or JUnit XML for programs.",
        ),
    ] = ReportFormat.TEXT,
    select: Annotated[
        list[str] | None, typer.Option(metavar="CODES", help=f"Only these checks; {_CODES} Repeatable.")
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="CODES", help=f"Not these checks; {_CODES} Repeatable.")
    ] = None,
    output: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the report to FILE instead of stdout.")
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Print only what fails: errors, with --strict warnings, and no summary.")
    ] = False,
    changed_since: Annotated[
        str | None,
        typer.Option(
            metavar="REF",
            help="Only files that differ from this commit of git, and those that use what they define.",
        ),
    ] = None,
    max_cost_usd: Annotated[
        str | None,
        typer.Option(metavar="X", help="Fail when one run of a workflow may cost more than X US dollars (TV604)."),
    ] = None,
    fix: Annotated[
        bool,
        typer.Option("--fix", help="Mend what is certain, show it as a diff, and report what is left."),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="With --fix: show the diff and write nothing; report the files as they are, and end as without --fix.",
        ),
    ] = False,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Check anew what has not changed, and keep no report.")
    ] = False,
    project: Project = None,
) -> None:
    """Check files, folders or a project before anything runs.

    Nothing of the project is executed, and nothing is called. A file that is named is checked together with the
    documents it refers to. All findings come at once, each with its place and, where there is one, the fix.
    """
    from tuvl.cli.validate import options_of
    from tuvl.cli.validate import validate as check

    given = _given(
        values={
            "--format": format_,
            "--output": output,
            "--project": project,
            "--changed-since": changed_since,
            "--max-cost-usd": max_cost_usd,
        },
        repeated={"--select": select, "--ignore": ignore},
        switches={
            "--strict": strict,
            "--quiet": quiet,
            "--fix": fix,
            "--dry-run": dry_run,
            "--no-cache": no_cache,
        },
    )
    raise typer.Exit(check(options_of(Words(arguments=tuple(paths or ()), given=given))))


@app.command(epilog=_block("Examples:", "tuvl explain TV203", "tuvl explain outcome-unrouted"))
def explain(
    code: Annotated[
        str | None, typer.Argument(metavar="CODE", help="Code or name of a check. [default: the list of all]")
    ] = None,
) -> None:
    """Explain a check: what it means, why it hurts, how to mend it."""
    from tuvl.cli.explain import explain as page

    raise typer.Exit(page(code))


@app.command(
    epilog=_block(
        "Examples:",
        "tuvl run workflows/triage.yaml --input ticket.json",
        "tuvl run triage --set ticket_id=T-1 --model default=openai/gpt-4.1-mini",
        "tuvl run triage --input ticket.json --dry-run",
    )
)
def run(
    workflow: Annotated[
        str,
        typer.Argument(
            metavar="WORKFLOW",
            help="A workflow file, the name of a workflow of the project, or a bundle of `tuvl ship`.",
        ),
    ],
    input_: Annotated[
        str | None,
        typer.Option("--input", metavar="FILE", help="The initial context, JSON or YAML; `-` reads stdin."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Set one input value, over those of --input; KEY is a dot path. VALUE is JSON where it reads as JSON, "
            "else text; for a key that `spec.input` declares as a string it is text as it stands. Repeatable.",
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=PRESET",
            help="Call PRESET, another AgentModel or a provider string such as openai/gpt-4.1-mini, where the workflow "
            "says NAME. Repeatable.",
        ),
    ] = None,
    events: Annotated[
        RunEvents,
        typer.Option(
            help="What stderr shows of the run: a live line or plain lines for people, one JSON event a line, "
            "or nothing."
        ),
    ] = RunEvents.PRETTY,
    trace: Annotated[
        bool, typer.Option("--trace", help="Put the transcript of every agent into the result document.")
    ] = False,
    output: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the result document to FILE instead of stdout.")
    ] = None,
    timeout: Annotated[
        str | None, typer.Option(metavar="SECONDS", help="End the run after so many seconds, if not before.")
    ] = None,
    record: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write what the models replied to FILE, for --replay.")
    ] = None,
    replay: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Take the models' replies from FILE; the first request that differs fails."),
    ] = None,
    principal: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Whom the run acts for: a JSON or YAML file with id, tenant, groups and scopes. "
            "[default: the local operator, with every scope]",
        ),
    ] = None,
    approve: Annotated[
        Approve | None,
        typer.Option(
            help="What becomes of tool calls that need approval: ask on the terminal, allow all, or refuse all. "
            "[default: prompt on a terminal, else none]",
            show_default=False,
        ),
    ] = None,
    project: Project = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan instead: nothing is run, nothing is called.")
    ] = False,
    format_: Annotated[
        TextOrJson | None, typer.Option("--format", help="How --dry-run prints the plan. [default: text]")
    ] = None,
    durable: Annotated[
        bool, typer.Option("--durable", help="Keep a record that `tuvl resume` goes on from when the process is lost.")
    ] = False,
    detach: Annotated[
        bool,
        typer.Option(
            "--detach",
            help="Leave a durable run to the workers on the PostgreSQL of TUVL_DATABASE_URL; prints JSON with its id.",
        ),
    ] = False,
    bundle_workflow: Annotated[
        str | None,
        typer.Option("--workflow", metavar="NAME", help="Which workflow of a bundle, where it has several."),
    ] = None,
    bundle_digest: Annotated[
        str | None,
        typer.Option(metavar="DIGEST", help="Refuse a bundle of another digest than this, as `tuvl ship` printed it."),
    ] = None,
) -> None:
    """Run one workflow and print its result.

    The result is one JSON document on stdout; progress goes to stderr. The file is checked first: one with errors is
    not run, and its findings are printed on stderr. What Python nodes and their subprocesses print goes to stderr, too.
    The first Ctrl-C (or SIGTERM) stops the run gracefully, with its result; the second one stops it at once.

    The last event of --events jsonl is always `run_finished`; its `dropped` counts events that the reader was too slow
    for.
    """
    from tuvl.cli.options import options_of
    from tuvl.cli.run import run_command

    given = _given(
        values={
            "--input": input_,
            "--events": events,
            "--output": output,
            "--timeout": timeout,
            "--record": record,
            "--replay": replay,
            "--principal": principal,
            "--approve": approve,
            "--project": project,
            "--format": format_,
            "--workflow": bundle_workflow,
            "--bundle-digest": bundle_digest,
        },
        repeated={"--set": set_, "--model": model},
        switches={"--trace": trace, "--dry-run": dry_run, "--durable": durable, "--detach": detach},
    )
    raise typer.Exit(run_command(options_of(Words(arguments=(workflow,), given=given))))


def _given(
    *, values: Mapping[str, str | None], repeated: Mapping[str, list[str] | None], switches: Mapping[str, bool]
) -> dict[str, tuple[str, ...]]:
    """Put options into the form that `read_words` gives them, so that they are checked in one place."""
    given = {name: (value,) for name, value in values.items() if value is not None}
    lists = {name: tuple(value) for name, value in repeated.items() if value}
    return {**given, **lists, **{name: () for name, on in switches.items() if on}}


@app.command(epilog=_block("Examples:", "tuvl schema Workflow", "tuvl schema --output tuvl.schema.json"))
def schema(
    kind: Annotated[
        str | None, typer.Argument(metavar="KIND", help="Which kind of document. [default: one schema for all]")
    ] = None,
    output: Annotated[str | None, typer.Option(metavar="FILE", help="Write to FILE instead of stdout.")] = None,
) -> None:
    """Print the JSON Schema of a document kind, for editors."""
    from tuvl.cli.output import check_destination, deliver
    from tuvl.cli.schema import schema_text

    check_destination(output)
    raise typer.Exit(0 if deliver(schema_text(kind) + "\n", output) else 1)


add_to(runs)
app.add_typer(runs, name="runs")
app.add_typer(token, name="token")
app.command(name="serve", epilog=_block("Examples:", *SERVE_EXAMPLES))(serve)
app.command(name="graph", epilog=_block("Examples:", *GRAPH_EXAMPLES))(graph)
app.command(name="bounds", epilog=_block("Examples:", *BOUNDS_EXAMPLES))(bounds)
app.command(name="diff", epilog=_block("Examples:", *DIFF_EXAMPLES))(diff)
app.command(name="test", epilog=_block("Examples:", *TEST_EXAMPLES))(run_scenarios)
app.command(name="ship", epilog=_block("Examples:", *SHIP_EXAMPLES))(ship)
app.command(name="lock", epilog=_block("Examples:", *LOCK_EXAMPLES))(lock)
app.command(name="approve", epilog=_block("Examples:", *APPROVE_EXAMPLES))(approve)
runs.command(name="cancel", epilog=CANCEL_EXAMPLE)(cancel)
runs.command(name="fork", epilog=FORK_EXAMPLE)(fork)
runs.command(name="prune", epilog=PRUNE_EXAMPLES)(prune)
app.command(name="worker", epilog=_block("Examples:", *WORKER_EXAMPLES))(worker)
app.command(name="resume", epilog=_block("Examples:", *RESUME_EXAMPLES))(resume)
app.command(name="replay", epilog=_block("Examples:", *REPLAY_EXAMPLES))(replay)
app.command(name="mcp", epilog=_block("Examples:", *MCP_EXAMPLES))(mcp)
app.command(name="lsp", epilog=_block("Examples:", *LSP_EXAMPLES))(lsp)


def main(argv: Sequence[str]) -> int:
    """Run the command line; returns the exit code."""
    try:
        code = app(args=list(argv), prog_name="tuvl", standalone_mode=False)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else MISUSE
    except TyperException as error:
        sys.stderr.write(f"{in_our_words(error, app, argv)}\n")
        return MISUSE
    except TuvlError as error:
        sys.stderr.write(f"tuvl: {printable_lines(str(error))}\n")
        return UNWRITTEN if isinstance(error, OutputError) else MISUSE
    except OSError as error:
        # What is written without care here is help, and help goes to stdout; errors about files have their name.
        if error.filename is not None:
            raise
        return 0 if cannot_write(sys.stdout, error) else 1
    return code if isinstance(code, int) else 0
