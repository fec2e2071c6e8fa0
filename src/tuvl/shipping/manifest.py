"""The manifest of a bundle: what it is, what it needs, and the digest of every file in it."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from tuvl.dataclass import dataclass
from tuvl.locking.lock import LANGUAGE_VERSION
from tuvl.shipping.archive import BundleError
from tuvl.values import JsonValue

FORMAT = "tuvl-bundle"
FORMAT_VERSION = 1
"""The layout of bundles that this tuvl writes, and the newest that it reads."""

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowEntry:
    """A workflow that a bundle can run."""

    name: str
    file: str
    """Path from the project's root."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    """One file, by its path from the project's root."""

    path: str
    size: int
    """Bytes."""
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a bundle says of itself."""

    name: str
    version: str
    tuvl: str
    """The version of tuvl that wrote it."""
    extras: tuple[str, ...] = ()
    """Extras of tuvl that its workflows need."""
    imports: tuple[str, ...] = ()
    """Packages outside of the standard library that its nodes import, by the names they are imported under."""
    workflows: tuple[WorkflowEntry, ...]
    files: tuple[FileEntry, ...]

    def to_bytes(self) -> bytes:
        """Write it in its one form."""
        files: list[JsonValue] = [{"path": one.path, "size": one.size, "sha256": one.sha256} for one in self.files]
        workflows: list[JsonValue] = [{"name": one.name, "file": one.file} for one in self.workflows]
        document: JsonValue = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "language": LANGUAGE_VERSION,
            "name": self.name,
            "version": self.version,
            "tuvl": self.tuvl,
            "requires": {"extras": list(self.extras), "imports": list(self.imports)},
            "workflows": workflows,
            "files": files,
        }
        return (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode("utf-8")


def file_entries(files: Mapping[str, bytes]) -> tuple[FileEntry, ...]:
    """Return the entries of files, sorted by path."""
    return tuple(
        FileEntry(path=path, size=len(raw), sha256=hashlib.sha256(raw).hexdigest())
        for path, raw in sorted(files.items())
    )


def refuse_newer(raw: bytes) -> None:
    """Raise `BundleError` for a manifest that says it is of a newer form or language; anything else is passed."""
    data = _json(raw)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        return
    version, language, wrote = data.get("format_version"), data.get("language"), data.get("tuvl")
    if type(version) is int and version > FORMAT_VERSION:
        newer = f"in form {version}, and this tuvl reads form {FORMAT_VERSION}"
    elif isinstance(language, str) and language != LANGUAGE_VERSION:
        newer = f"in language {language!r}, and this tuvl reads {LANGUAGE_VERSION!r}"
    else:
        return
    raise BundleError(f"it was written by a newer tuvl, {str(wrote)!r}, {newer}; run it with that version")


def read_manifest(raw: bytes) -> Manifest:
    """Read a manifest; raises `BundleError` for one that `Manifest.to_bytes` does not write."""
    data = _json(raw)
    try:
        manifest = _manifest(data)
        written = manifest.to_bytes()
    except (KeyError, TypeError, ValueError):
        raise BundleError("its manifest cannot be read") from None
    if written != raw:
        raise BundleError("its manifest is not as `tuvl ship` writes one")
    return manifest


def _json(raw: bytes) -> Any:
    try:
        return json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        return None


def _manifest(data: Any) -> Manifest:
    requires = data["requires"]
    return Manifest(
        name=_text(data["name"]),
        version=_text(data["version"]),
        tuvl=_text(data["tuvl"]),
        extras=tuple(map(_text, requires["extras"])),
        imports=tuple(map(_text, requires["imports"])),
        workflows=tuple(WorkflowEntry(name=_text(one["name"]), file=_text(one["file"])) for one in data["workflows"]),
        files=tuple(_file(one) for one in data["files"]),
    )


def _file(data: Any) -> FileEntry:
    size, digest = data["size"], _text(data["sha256"])
    if type(size) is not int or not _SHA256.fullmatch(digest):
        raise ValueError(digest)
    return FileEntry(path=_text(data["path"]), size=size, sha256=digest)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value
