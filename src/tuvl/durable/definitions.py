"""The files a run was started with, kept by their digest, so that the run goes on with them whatever is edited."""

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tuvl.durable.faults import NotKept
from tuvl.errors import UsageError
from tuvl.files import make_own_folder

APART_S = 86_400.0
"""How much earlier than a run its files may be marked as of use, in seconds."""

DEFINITION = "definition"
"""How the names of entries begin that say which files a run goes on with from there."""


def is_definition(name: str) -> bool:
    """Tell whether an entry says which files a run goes on with; a step may be called so, too, and has parts."""
    return name.startswith(f"{DEFINITION}#") and "/" not in name


def digest_of(files: Mapping[str, bytes]) -> str:
    """Return one digest for files by their paths, as `sha256:…`."""
    whole = hashlib.sha256()
    for path in sorted(files):
        whole.update(f"{hashlib.sha256(files[path]).hexdigest()}  {path}\n".encode("utf-8", "surrogateescape"))
    return f"sha256:{whole.hexdigest()}"


class Definitions:
    """The folder `.tuvl/definitions` of a project."""

    def __init__(self, root: Path) -> None:
        self._folder = root / ".tuvl" / "definitions"

    def keep(self, files: Mapping[str, bytes]) -> str:
        """Keep files, once; returns their digest. Raises `NotKept` when the folder cannot be written."""
        digest = digest_of(files)
        target = self._path(digest)
        if target.is_dir():
            self.still_used(digest)
            return digest
        try:
            make_own_folder(self._folder.parent)
            make_own_folder(self._folder)
            # Whole or not at all: another process may look for it at any moment.
            half = Path(tempfile.mkdtemp(prefix="half-", dir=self._folder))
            try:
                _write(half, files)
                half.rename(target)
            except OSError:
                shutil.rmtree(half, ignore_errors=True)
                if not target.is_dir():
                    raise
        except OSError as error:
            raise NotKept("the definition of the run", self._folder, error) from None
        return digest

    def folder(self, digest: str) -> Path:
        """Return the folder of a definition, every byte of it checked; raises `UsageError` when it is not whole."""
        folder = self._path(digest)
        files = {
            str(path.relative_to(folder)).replace(os.sep, "/"): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and "__pycache__" not in path.parts
        }
        if digest_of(files) != digest:
            what = "is not there any more" if not folder.is_dir() else "was changed"
            raise UsageError(f"the definition that the run was started with ({digest[:19]}…) {what}")
        return folder

    def still_used(self, digest: str) -> None:
        """Keep that files are of use at this time."""
        with contextlib.suppress(OSError):  # they are not here, or on a disk that takes nothing just now
            os.utime(self._path(digest))

    def unused(self, since: float, oldest_run: float | None) -> list[str]:
        """Return the digests of files that are of use no more; moments are seconds since 1970.

        Runs are made of files that were of use when they were started: none is taken for unused that was of use at the
        time of the oldest run which there is, or later.
        """
        until = since if oldest_run is None else min(since, oldest_run - APART_S)
        kept = self._folder.iterdir() if self._folder.is_dir() else ()
        return [f"sha256:{each.name}" for each in sorted(kept) if each.is_dir() and each.stat().st_mtime < until]

    def forget(self, digest: str) -> None:
        """Take files away, all of them or none."""
        half = self._folder / f"half-gone-{self._path(digest).name}"
        with contextlib.suppress(OSError):  # somebody else does the same
            self._path(digest).rename(half)
        shutil.rmtree(half, ignore_errors=True)

    def _path(self, digest: str) -> Path:
        return self._folder / digest.removeprefix("sha256:")


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    for path, data in files.items():
        target = folder.joinpath(*path.split("/"))
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        number = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(number, "wb") as stream:
            stream.write(data)
