"""Bundles on the command line: laid out in a private folder while a command works with one, and gone after."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tuvl.cli.workflow_file import Located
from tuvl.dataclass import dataclass
from tuvl.errors import UsageError
from tuvl.project.index import ProjectIndex
from tuvl.shipping.bundle import Bundle, open_bundle
from tuvl.suggest import did_you_mean


@dataclass(frozen=True, slots=True, kw_only=True)
class LaidOut:
    """A bundle, every byte of which was checked, and the folder that its files are in."""

    bundle: Bundle
    folder: Path


@contextmanager
def laid_out(path: Path, *, digest: str | None = None) -> Iterator[LaidOut]:
    """Check a bundle, and lay it out for as long as the block runs; raises `BundleError` before anything is used."""
    bundle = open_bundle(path, digest=digest)
    try:
        # For its owner alone: whoever can write there could change what runs.
        folder = Path(tempfile.mkdtemp(prefix="tuvl-bundle-"))
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise UsageError(
            f"a bundle needs a folder for temporary files, and there is none: {reason}; set TMPDIR"
        ) from None
    try:
        try:
            bundle.lay_out(folder)
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise UsageError(f"the bundle {str(path)!r} cannot be laid out in {str(folder)!r}: {reason}") from None
        yield LaidOut(bundle=bundle, folder=folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def located_in_bundle(path: Path, *, workflow: str | None, digest: str | None) -> Iterator[Located]:
    """Find a workflow of a bundle, by its name where there are several; raises `UsageError`."""
    with laid_out(path, digest=digest) as found:
        name = _chosen(found.bundle, path, workflow)
        project = ProjectIndex(found.folder)
        # What a run keeps must outlive the folder.
        project.state_root = Path(os.getcwd())
        document = project.workflow(name)
        if document is None:
            raise UsageError(f"the bundle {str(path)!r} has no workflow {name!r} that can be read")
        yield Located(project=project, file=path, document=document, bundle=path)


def _chosen(bundle: Bundle, path: Path, workflow: str | None) -> str:
    known = [entry.name for entry in bundle.manifest.workflows]
    listed = ", ".join(known)
    if workflow is None:
        if len(known) != 1:
            raise UsageError(
                f"the bundle {str(path)!r} has {len(known)} workflows; choose one with --workflow: {listed}"
            )
        return known[0]
    if workflow not in known:
        hint = did_you_mean(workflow, known) or f"it has {listed}"
        raise UsageError(f"the bundle {str(path)!r} has no workflow {workflow!r}; {hint}")
    return workflow
