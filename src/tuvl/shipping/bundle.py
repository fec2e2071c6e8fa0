"""A bundle: made of files, read back only when it is whole, and laid out in a folder to be run."""

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path

from tuvl.dataclass import dataclass
from tuvl.shipping.archive import MAX_BYTES, BundleError, first_entry, read_archive, write_archive
from tuvl.shipping.manifest import Manifest, file_entries, read_manifest, refuse_newer

_MANIFEST = "bundle.json"
_MANIFEST_DIGEST = "bundle.sha256"
_FOLDER = "project/"
"""Where the files of the project are in the archive."""

_MOST_READ = MAX_BYTES + 16 * 1024 * 1024
"""Bytes of files, and of what the archive adds to them."""
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_NO_NAME = re.compile(r"[\x00-\x1f\x7f\\:\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """A bundle that is whole: every byte is one that `tuvl ship` wrote."""

    manifest: Manifest
    files: Mapping[str, bytes]
    """By path from the project's root."""
    raw: bytes

    @property
    def digest(self) -> str:
        """SHA-256 of the bundle's bytes, as `sha256:…`."""
        return f"sha256:{hashlib.sha256(self.raw).hexdigest()}"

    def lay_out(self, folder: Path) -> None:
        """Write the files below an empty folder, for its owner alone."""
        for path, data in self.files.items():
            target = folder.joinpath(*path.split("/"))
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Created, never opened: on a file system that takes two names for one, the second is refused.
            number = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
            with open(number, "wb") as stream:
                stream.write(data)


def make_bundle(manifest: Manifest, files: Mapping[str, bytes]) -> Bundle:
    """Put files, by path from the project's root, and the manifest that lists them into a bundle."""
    for path in files:
        if not is_plain_path(path):
            raise BundleError(f"a bundle cannot hold a file of the name {path!r}; rename it")
    listed = manifest.to_bytes()
    entries = {_FOLDER + path: data for path, data in files.items()}
    raw = write_archive({**entries, _MANIFEST: listed, _MANIFEST_DIGEST: _digest_line(listed)})
    return Bundle(manifest=manifest, files=dict(files), raw=raw)


def open_bundle(path: Path, *, digest: str | None = None) -> Bundle:
    """Read a bundle and check every byte of it.

    Args:
        path: The file.
        digest: `sha256:…` that the file must have, known from elsewhere; it is what tells a forged bundle.

    Raises:
        BundleError: It cannot be read, was altered, is of a newer tuvl, or is not the one meant.
    """
    try:
        with open(path, "rb") as stream:
            raw = stream.read(_MOST_READ + 1)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise BundleError(f"cannot read {str(path)!r}: {reason}") from None
    try:
        return read_bundle(raw, digest=digest)
    except BundleError as error:
        raise BundleError(f"the bundle {str(path)!r} is not used: {error}") from None


def read_bundle(raw: bytes, *, digest: str | None = None) -> Bundle:
    """Read a bundle from its bytes; see `open_bundle`."""
    if digest is not None and not _DIGEST.fullmatch(digest):
        raise BundleError(f"--bundle-digest takes sha256: and 64 hexadecimal digits, not {digest!r}")
    if len(raw) > _MOST_READ:
        raise BundleError(f"it is larger than {_MOST_READ // 2**20} MiB")
    found = f"sha256:{hashlib.sha256(raw).hexdigest()}"
    if digest is not None and found != digest:
        raise BundleError(f"its digest is {found}, and not the one asked for")
    first = first_entry(raw)
    if first is not None and first[0] == _MANIFEST:
        refuse_newer(first[1])
    entries = read_archive(raw)
    listed = entries.pop(_MANIFEST, None)
    said = entries.pop(_MANIFEST_DIGEST, None)
    if listed is None or said is None:
        raise BundleError("it has no manifest")
    if said != _digest_line(listed):
        raise BundleError("its manifest was changed")
    manifest = read_manifest(listed)
    return Bundle(manifest=manifest, files=_files(entries, manifest), raw=raw)


def _files(entries: Mapping[str, bytes], manifest: Manifest) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for name, data in entries.items():
        path = name.removeprefix(_FOLDER)
        if not name.startswith(_FOLDER) or not is_plain_path(path):
            raise BundleError(f"it holds {name!r}, which is no name of a project's file")
        files[path] = data
    listed = {entry.path: entry for entry in manifest.files}
    for path in files.keys() - listed.keys():
        raise BundleError(f"{path!r} is not in its manifest: it was added")
    for path in listed.keys() - files.keys():
        raise BundleError(f"{path!r} of its manifest is missing: it was removed")
    actual = {entry.path: entry for entry in file_entries(files)}
    for path, entry in listed.items():
        if actual[path] != entry:
            raise BundleError(f"{path!r} was changed")
    if manifest.files != tuple(actual[path] for path in sorted(actual)):
        raise BundleError("its manifest does not list the files as `tuvl ship` does")
    for workflow in manifest.workflows:
        if workflow.file not in files:
            raise BundleError(f"the file {workflow.file!r} of workflow {workflow.name!r} is missing")
    return files


def is_plain_path(path: str) -> bool:
    """Whether a path leads to a place below the folder it is joined to, on every system."""
    parts = path.split("/")
    return _NO_NAME.search(path) is None and not any(part in ("", ".", "..") for part in parts)


def _digest_line(listed: bytes) -> bytes:
    return f"{hashlib.sha256(listed).hexdigest()}  {_MANIFEST}\n".encode("ascii")
