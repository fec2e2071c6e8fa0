"""`tuvl mcp`: checks a workflow, and serves its tools and itself to MCP clients until it is told to end."""

import asyncio
import signal
import sys
from collections.abc import Iterator, Sequence
from typing import Literal

from tuvl.analysis.steps import mapping
from tuvl.analysis.surroundings import hidden, mend_first
from tuvl.check.finding import Report, Severity
from tuvl.check.runner import check_document
from tuvl.cli.execution import let_be_controlled
from tuvl.cli.inputs import read_input, read_principal
from tuvl.cli.live import Mark
from tuvl.cli.observing import Observing, observing
from tuvl.cli.render import report_text
from tuvl.cli.workflow_file import document_of, locate
from tuvl.dataclass import dataclass
from tuvl.errors import ConfigError, UsageError
from tuvl.offering.catalogue import CallReport, Catalogue
from tuvl.offering.entries import Entry, Offered, Withheld, entries_of
from tuvl.project.index import ProjectIndex
from tuvl.project.unseen import unseen
from tuvl.runtime import Engine
from tuvl.settings import environment, load_settings
from tuvl.source.document import Document
from tuvl.suggest import did_you_mean
from tuvl.tools.approval import StandingAnswer

FINDINGS = 1
DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8765

Transport = Literal["stdio", "http"]


@dataclass(frozen=True, slots=True, kw_only=True)
class McpOptions:
    """What the command line says."""

    workflow: str
    also: tuple[str, ...]
    all: bool
    transport: Transport
    host: str
    port: int
    input: str | None
    principal: str | None
    approve: Literal["all", "none"]
    project: str | None


def mcp_command(options: McpOptions) -> int:
    """Serve; returns the exit code. Raises `TuvlError` for what is wrong before anything is served."""
    if options.input == "-":
        raise UsageError("--input takes a file here: stdin belongs to the client")
    located = locate(options.workflow, project=options.project)
    workflow = document_of(located)
    documents = [workflow, *_others(options, workflow, located.project)]
    sound = [_passes(document, located.project) for document in documents]
    if not all(sound):
        return FINDINGS
    settings = load_settings()
    engine = Engine(located.project, settings=settings, environ=environment())
    let_be_controlled(engine, located.project, settings, durable=False)
    with observing(settings, environment(), _Stderr(), pretty=False) as observed:
        observed.export(engine.counters)
        asyncio.run(_serve(_catalogue(options, engine, documents, observed), options))
    return 0


class _Stderr:
    """Says what logs and telemetry have to say of themselves."""

    def say(self, line: str, *, mark: Mark) -> None:
        _say(line)


def _catalogue(options: McpOptions, engine: Engine, documents: Sequence[Document], observed: Observing) -> Catalogue:
    principal = read_principal(options.principal)
    workflows = [Offered(plan=engine.plan(document), description=_description(document)) for document in documents]
    entries: list[Entry] = []
    for entry in entries_of(workflows, principal):
        if isinstance(entry, Withheld):
            _say(f"{entry.name!r} is not offered: {entry.reason}")
        else:
            entries.append(entry)
    if not entries:
        raise UsageError(f"nothing is left to offer to principal {principal.id!r}")
    allowed = options.approve == "all"
    note = None if allowed else "this server approves nothing"
    return Catalogue(
        engine=engine,
        name=workflows[0].plan.workflow,
        entries=entries,
        principal=principal,
        approvals=StandingAnswer(approved=allowed, by=f"--approve {options.approve}", note=note),
        context=read_input(options.input),
        report=_report,
        sinks=observed.sinks,
    )


def _description(document: Document) -> str:
    described = mapping(mapping(document.data).get("metadata")).get("description")
    return described if isinstance(described, str) else ""


def _others(options: McpOptions, first: Document, project: ProjectIndex) -> Iterator[Document]:
    known = project.named("Workflow")
    first_of_all = mend_first(unseen(project, "Workflow")) if options.all else None
    if first_of_all is not None:
        raise UsageError(f"--all cannot see all workflows of the project: {first_of_all}")
    for name in dict.fromkeys([*options.also, *(known if options.all else ())]):
        document = project.workflow(name)
        if document is None:
            hint = did_you_mean(name, known) or f"it has {', '.join(sorted(known))}"
            hint = hidden(name, project) or hint
            raise UsageError(f"--also names {name!r}, and the project has no workflow of that name; {hint}")
        if document.data is not first.data:
            yield document


def _passes(document: Document, project: ProjectIndex) -> bool:
    findings = check_document(document, project)
    texts = {file: project.text_of(file) or "" for file in {finding.file for finding in findings}}
    report = Report.of(findings, files=len(texts), texts=texts)
    if report.failed():
        sys.stderr.write(report_text(report, colour=False, least=Severity.ERROR))
    return not report.failed()


async def _serve(catalogue: Catalogue, options: McpOptions) -> None:
    try:
        from tuvl import listening as ports
        from tuvl.mcp import serving
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"tuvl mcp needs the package {error.name!r}; install it with pip install 'tuvl[mcp]'"
        ) from error
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    name, caller = catalogue.name, f"as principal {catalogue.principal.id!r}"
    offered = ", ".join(tool.name for tool in catalogue.tools)
    try:
        if options.transport == "stdio":
            _say(f"serving {offered} over stdio, {caller}")
            await serving.serve_stdio(catalogue, name=name, stop=stop)
            return
        listening = ports.bind(options.host, options.port)
        if not ports.is_loopback(options.host):
            _say(f"warning: whoever reaches {options.host!r} can call these tools, {caller}")
        _say(f"serving {offered} at {serving.address_of(listening)}, {caller}")
        await serving.serve_http(catalogue, name=name, stop=stop, listening=listening)
    finally:
        await catalogue.aclose()
        await catalogue.engine.aclose()


def _report(call: CallReport) -> None:
    _say(f"{call.name}: {call.outcome}, {call.duration_ms:.0f} ms")


def _say(line: str) -> None:
    sys.stderr.write(f"tuvl mcp: {line}\n")
    sys.stderr.flush()
