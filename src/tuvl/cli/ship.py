"""`tuvl ship`: checks, tests and the lock, then a bundle with all that deploys it."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from tuvl.check.finding import Severity
from tuvl.cli.output import deliver, json_document
from tuvl.cli.pasted import command
from tuvl.cli.render import report_text
from tuvl.cli.ship_docker import build, engine_answers
from tuvl.cli.ship_source import revision_of
from tuvl.cli.streams import stdout_set_aside
from tuvl.cli.test_report import TestReport
from tuvl.cli.test_report import report_text as scenarios_text
from tuvl.cli.wording import count
from tuvl.dataclass import dataclass
from tuvl.errors import UsageError
from tuvl.project.index import ProjectIndex
from tuvl.project.layout import find_root
from tuvl.project.loading import display_name
from tuvl.settings import environment
from tuvl.shipping import gates, provenance
from tuvl.shipping.assemble import assemble, document_text, release_files
from tuvl.shipping.caveats import notes_of, warnings_of
from tuvl.shipping.contents import Contents, collect
from tuvl.shipping.gates import Gate
from tuvl.shipping.output import RECORD, check_folder, recorded, write_release
from tuvl.shipping.release import Release
from tuvl.shipping.secrets import secrets_beside, secrets_in
from tuvl.values import JsonObject, JsonValue, printable_lines

ShipFormat = Literal["text", "json"]

DONE = 0
STOPPED = 1

FOLDER = "dist"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShipOptions:
    """What the command line says."""

    strict: bool = False
    output: str | None = None
    build: bool = True
    image: str | None = None
    include: tuple[str, ...] = ()
    format: ShipFormat = "text"
    project: str | None = None


def ship(options: ShipOptions) -> int:
    """Ship a project; returns the exit code. Raises `UsageError` for what cannot be shipped as it is asked for."""
    root = _root(options.project)
    folder = root / FOLDER if options.output is None else Path(options.output)
    check_folder(folder, within=root if options.output is None else None)
    passed = _pass_gates(root, strict=options.strict)
    if any(gate.verdict == "failed" for gate in passed):
        _say("nothing is shipped")
        return STOPPED
    project = ProjectIndex(root)
    contents = collect(project, options.include)
    if _stopped_by(secrets_in(contents)):
        return STOPPED
    release = assemble(project, contents, image=options.image)
    for note in notes_of(release):
        _say(f"note: {note}")
    warnings = list(warnings_of(release))
    for warning in warnings:
        _say(f"warning: {warning}")
    if warnings and options.strict:
        _say("nothing is shipped: with --strict warnings stop it")
        return STOPPED
    files, record = _written(release, contents, passed, root=root, strict=options.strict)
    if _stopped_by(secrets_beside(files, release.file)):
        return STOPPED
    write_release(folder, files, record)
    _say(f"{count(len(files), 'file')} written to {display_name(folder)}")
    built = _image(release, folder, wanted=options.build)
    return DONE if _deliver(options, release, folder, files, record) and built else STOPPED


def _stopped_by(secrets: Iterator[str]) -> bool:
    """Tell of secrets; returns whether there are any."""
    found = list(secrets)
    for line in found:
        _say(line)
    if found:
        _say("nothing is shipped: whoever has the bundle would have the secret")
    return bool(found)


def _root(project: str | None) -> Path:
    if project is not None and not Path(project).is_dir():
        raise UsageError(f"--project names {project!r}, which is no folder")
    return find_root(Path.cwd()) if project is None else Path(os.path.abspath(project))


def _say(line: str) -> None:
    sys.stderr.write(f"tuvl ship: {printable_lines(line)}\n")


def _pass_gates(root: Path, *, strict: bool) -> list[Gate]:
    """Go through the gates; one that is closed by the checks leaves the others aside."""
    passed: list[Gate] = []
    for gate in _gates(root, strict=strict):
        passed.append(gate)
        _say(f"{gate.name}: {gate.said}")
        sys.stderr.write(_details(gate, strict=strict))
    return passed


def _gates(root: Path, *, strict: bool) -> Iterator[Gate]:
    checked = gates.check_gate(root, strict=strict)
    yield checked
    if checked.verdict == "failed":
        return
    project = ProjectIndex(root)
    with stdout_set_aside():
        tested = gates.test_gate(project, environ=environment(), strict=strict)
    yield tested
    yield gates.lock_gate(project, strict=strict)


def _details(gate: Gate, *, strict: bool) -> str:
    told = ""
    if gate.report is not None:
        told += "".join(f"tuvl ship: {message}\n" for message in gate.report.unreadable)
        # What `tuvl validate` shows as well need not be repeated, unless it is why nothing is shipped.
        least = Severity.ERROR if gate.name == "validate" and not strict else Severity.WARNING
        told += report_text(gate.report, colour=_colour(), least=least)
    if gate.outcomes and gate.verdict == "failed":
        told += scenarios_text(TestReport(outcomes=tuple(one for one in gate.outcomes if one.verdict != "passed")))
    return told


def _colour() -> bool:
    environ = environment()
    return sys.stderr.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def _written(
    release: Release, contents: Contents, passed: list[Gate], *, root: Path, strict: bool
) -> tuple[dict[str, bytes], JsonObject]:
    """Return the files of a release by name, and what is on record of it."""
    files = release_files(release)
    revision = revision_of(root, contents.files)
    statement = provenance.provenance(release, passed, files, revision=revision, strict=strict)
    files[provenance.FILE] = document_text(statement).encode("utf-8")
    checks: list[JsonValue] = [gate.to_json() for gate in passed]
    manifest = release.bundle.manifest
    record: JsonObject = {
        "name": manifest.name,
        "version": manifest.version,
        "bundle": release.file,
        "digest": release.bundle.digest,
        "image": release.image,
        "workflows": [workflow.name for workflow in manifest.workflows],
        "strict": strict,
        "checks": checks,
    }
    return files, record


def _image(release: Release, folder: Path, *, wanted: bool) -> bool:
    """Build the image, when it is wanted; returns whether what was wanted is done."""
    if not wanted:
        return True
    by_hand = command("docker", "build", "--tag", release.image, display_name(folder))
    if not engine_answers():
        _say(f"no Docker engine answers, so no image was built; run `{by_hand}` where one is, or ship with --no-build")
        return False
    if not build(folder, release.image):
        _say(f"the image was not built; the files are there, so that `{by_hand}` can be tried again")
        return False
    _say(f"built the image {release.image}")
    return True


def _deliver(options: ShipOptions, release: Release, folder: Path, files: dict[str, bytes], record: JsonObject) -> bool:
    if options.format == "json":
        text = json_document(recorded(files, record))
    else:
        shown = os.path.relpath(folder / release.file) if options.output is None else str(folder / release.file)
        text = f"{shown}\n{release.bundle.digest}\n"
    return deliver(text, None, instead=f"the files are written; `{display_name(folder / RECORD)}` says the same")
