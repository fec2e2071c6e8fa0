"""Writes the files of a release into a folder, and never over what somebody else has put or changed there."""

import json
import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from tuvl.errors import OutputError, UsageError
from tuvl.files import LinkedAwayError, real_target, write_bytes_whole
from tuvl.project.layout import RELEASE_FORMAT, RELEASE_RECORD
from tuvl.values import JsonObject, JsonValue

RECORD = RELEASE_RECORD
"""What the last release wrote, with digests; it tells our files from those of others."""


def check_folder(folder: Path, *, within: Path | None = None) -> None:
    """Refuse a folder that cannot be written to, or that a link leads elsewhere, before work is done.

    `within` is where it has to lie; otherwise it is the repository or project that it stands in. Raises `UsageError`.
    """
    try:
        real_target(folder, within=within)
    except LinkedAwayError as error:
        raise UsageError(f"cannot write to {str(folder)!r}: {error.strerror}; name another folder") from None
    if os.path.lexists(folder) and not folder.is_dir():
        raise UsageError(f"--output names {str(folder)!r}, which is no folder")
    parent = folder
    while not parent.exists() and parent != parent.parent:
        parent = parent.parent
    if not parent.is_dir():
        raise UsageError(f"--output names {str(folder)!r}, but {str(parent)!r} is no folder")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise UsageError(f"--output names {str(folder)!r}, but {str(parent)!r} cannot be written to")


def write_release(folder: Path, files: Mapping[str, bytes], record: JsonObject) -> None:
    """Write files, each whole, and then the record of them.

    Nothing is written when one of them exists and is not as the last release wrote it. Raises `UsageError`.
    """
    before = _recorded(folder)
    for name, raw in {**files, RECORD: b""}.items():
        _refuse_foreign(folder / name, raw, before.get(name))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, raw in files.items():
            write_bytes_whole(folder / name, raw)
            # An image keeps the modes of what is copied into it, and whoever it runs as must be able to read.
            (folder / name).chmod(0o644)
        write_bytes_whole(folder / RECORD, record_bytes(files, record))
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise OutputError(f"cannot write {error.filename or str(folder)!r}: {reason}") from None


def record_bytes(files: Mapping[str, bytes], record: JsonObject) -> bytes:
    """Write the record: what is known of the release, and the digest of every file."""
    return (json.dumps(recorded(files, record), ensure_ascii=False, indent=2) + "\n").encode("utf-8")


def recorded(files: Mapping[str, bytes], record: JsonObject) -> JsonObject:
    """Add the files to what is known of a release."""
    listed: list[JsonValue] = [
        {"path": name, "size": len(raw), "sha256": sha256(raw).hexdigest()} for name, raw in sorted(files.items())
    ]
    return {"format": RELEASE_FORMAT, **record, "files": listed}


def _recorded(folder: Path) -> dict[str, str]:
    """Return the digests of what the last release wrote, by name; of a record that is none, nothing."""
    path = folder / RECORD
    if path.is_symlink() or not path.is_file():
        return {}
    try:
        data = json.loads(path.read_bytes())
        if data["format"] != RELEASE_FORMAT:
            return {}
        found = {str(entry["path"]): str(entry["sha256"]) for entry in data["files"]}
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return {}
    return {**found, RECORD: _digest_of(path) or ""}


def _refuse_foreign(path: Path, raw: bytes, digest: str | None) -> None:
    if not os.path.lexists(path):
        return
    found = None if path.is_symlink() else _digest_of(path)
    if found is None or found not in (digest, sha256(raw).hexdigest()):
        how = "is not of `tuvl ship`" if digest is None else "was changed since `tuvl ship` wrote it"
        raise UsageError(f"{str(path)!r} {how}, so nothing is written; move it away, or name another --output")


def _digest_of(path: Path) -> str | None:
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None
