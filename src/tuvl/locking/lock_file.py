"""`tuvl.lock` on disk: written whole and the same each time, and read with a reason when it cannot be trusted."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from tuvl.errors import ConfigError, OutputError, UsageError
from tuvl.files import LinkedAwayError, real_target, write_whole
from tuvl.locking.lock import LOCK_NAME, LOCK_VERSION, Entry, Lock, Section
from tuvl.project.loading import display_name, read_file
from tuvl.source.document import parse_lines
from tuvl.source.yaml_text import to_yaml
from tuvl.values import MAX_DEPTH, JsonObject, JsonValue

__all__ = ["LOCK_NAME", "NewerLockError", "check_place", "lock_text", "parse_lock", "read_lock", "write_lock"]

_DEEPEST = MAX_DEPTH - 4
"""Levels that a content may have: those above it are the lock's own."""

_HEAD = """\
# Written by `tuvl lock`: what runs of this project depend on. Change the documents, not this file, and lock again;
# `tuvl lock --check` says in words what has changed since.
"""
_OURS = re.compile(rb"^(?:# Written by `tuvl lock`|lock_version:)", re.MULTILINE)
"""What every lock has, a damaged one too."""
_CONFLICT = re.compile(r"^(?:<{7}|={7}|>{7}|\|{7})(?:[ \r]|$)", re.MULTILINE)
_AGAIN = "lock the project again with `tuvl lock`"
_AWAY = "move it away, and lock the project again with `tuvl lock`, which does not write over what may be no lock"
# What identifies a thing comes before what it says of itself.
_FIRST = ("id", "kind", "type", "name", "server", "tool", "version", "description", "metadata", "mode", "provider")


class _DamagedError(Exception):
    """What is wrong with a lock, without what to do about it."""


class NewerLockError(ConfigError):
    """The lock was written by a tuvl that knows more than this one; it must not be written over."""


def read_lock(root: Path) -> Lock | None:
    """Read the lock of a project; `None` when there is none.

    Raises `ConfigError` for one that is broken: not read as YAML, left in the middle of a merge, cut off, changed by
    hand, or of a newer form (`NewerLockError`).
    """
    path = root / LOCK_NAME
    if not os.path.lexists(path):
        return None
    try:
        raw = read_file(path)
    except UsageError as error:
        raise ConfigError(str(error)) from None
    return parse_lock(raw, name=display_name(path))


def check_place(root: Path) -> None:
    """Refuse to write a lock where its file is somebody else's: no lock at all, or a link out of the project.

    A lock that is damaged may be written over, and so may an empty file. Raises `ConfigError`.
    """
    path = root / LOCK_NAME
    try:
        real_target(path, within=root)
        raw = read_file(path) if path.is_file() else b""
    except LinkedAwayError as error:
        raise ConfigError(f"cannot write {display_name(path)!r}: {error.strerror}; nothing was written") from None
    except UsageError:
        return  # that it cannot be read or written is told by those who do
    if not _may_be_replaced(raw):
        raise ConfigError(f"{display_name(path)!r} is no lock, so it is not written over; move it away, and lock again")


def write_lock(root: Path, lock: Lock) -> bool:
    """Write the lock of a project in one move; returns whether its bytes are other than before.

    Raises `OutputError` when it cannot be written; the earlier file is then as it was. See `check_place`.
    """
    path = root / LOCK_NAME
    check_place(root)
    _refuse_too_deep(lock, display_name(path))
    text = lock_text(lock)
    try:
        if path.is_file() and path.read_bytes() == text.encode():
            return False
        write_whole(path, text, within=root)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise OutputError(f"cannot write {display_name(path)!r}: {reason}") from None
    return True


def _refuse_too_deep(lock: Lock, name: str) -> None:
    """Refuse what could not be read back: whoever needs the lock would be the one to find out."""
    for section, entries in lock.sections.items():
        for key, entry in entries.items():
            if _depth(entry.content) > _DEEPEST:
                message = (
                    f"`{section.value}` {key!r} is nested deeper than {_DEEPEST} levels, which {name!r} cannot hold"
                )
                raise ConfigError(f"{message}; nothing was written")


def _depth(value: JsonValue) -> int:
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(_depth, inner), default=0)


def lock_text(lock: Lock) -> str:
    """Write a lock as text: the same bytes for the same content."""
    document: JsonObject = {
        "lock_version": LOCK_VERSION,
        "tuvl": lock.tuvl,
        "language": lock.language,
        "digest": lock.digest,
    }
    for section in Section:
        entries = lock.section(section)
        if entries:
            document[section.value] = {name: _written(entries[name]) for name in sorted(entries)}
    return _HEAD + to_yaml(document, prose=True)


def _written(entry: Entry) -> JsonObject:
    file: JsonObject = {} if entry.file is None else {"file": entry.file}
    return {"digest": entry.digest, **file, "content": _ordered(entry.content)}


def _ordered(value: JsonValue) -> JsonValue:
    """Put keys into one order, whatever order a document has them in."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: (_FIRST.index(key) if key in _FIRST else len(_FIRST), key))
        return {key: _ordered(value[key]) for key in keys}
    return [_ordered(item) for item in value] if isinstance(value, list) else value


def parse_lock(raw: bytes, *, name: str) -> Lock:
    """Read a lock from its bytes; `name` is how messages call it. Raises `ConfigError`, see `read_lock`."""
    try:
        return _parsed(raw, name)
    except _DamagedError as error:
        raise ConfigError(f"{error}{_AGAIN if _may_be_replaced(raw) else _AWAY}") from None


def _may_be_replaced(raw: bytes) -> bool:
    """Whether what stands at the place of a lock is one, however damaged, or nothing."""
    return not raw.strip() or _OURS.search(raw) is not None


def _parsed(raw: bytes, name: str) -> Lock:
    try:
        text = raw.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError:
        _broken(name, "is no UTF-8 text")
    if not text.strip():
        _broken(name, "is empty")
    conflict = _CONFLICT.search(text)
    if conflict is not None:
        line = text.count("\n", 0, conflict.start()) + 1
        _broken(f"{name}:{line}", "has the marks of a merge that was not finished", "take either side whole, and then ")
    source = parse_lines(text, file=name)
    problem = next((problem for problem in source.problems if problem.code != "TV004"), None)
    if problem is not None:
        _broken(f"{name}:{problem.range.start.line}", f"cannot be read: {problem.message}")
    data = source.documents[0].data if source.documents else None
    if len(source.documents) != 1 or not isinstance(data, dict):
        _broken(name, "is no lock: one mapping is expected")
    return _lock_of(data, name)


def _lock_of(data: JsonObject, name: str) -> Lock:
    version, wrote, language = data.get("lock_version"), data.get("tuvl"), data.get("language")
    if type(version) is not int or not isinstance(wrote, str):
        _broken(name, "is no lock: `lock_version` and `tuvl` are expected at its top")
    if version > LOCK_VERSION:
        raise NewerLockError(
            f"{name!r} was written by tuvl {wrote}, in form {version}; this tuvl reads form {LOCK_VERSION}: upgrade it"
        )
    if version < LOCK_VERSION or not isinstance(language, str):
        _broken(name, f"has a form that no tuvl writes (`lock_version: {version}`)")
    known = {"lock_version", "tuvl", "language", "digest", *(section.value for section in Section)}
    for key in data:
        if key not in known:
            _broken(name, f"was changed by hand: a lock has no {key!r}")
    sections = {section: _entries(data, section, name) for section in Section if section.value in data}
    lock = Lock(sections=sections, tuvl=wrote, language=language)
    if data.get("digest") != lock.digest:
        _broken(name, "was cut off or changed by hand: its digest is not that of its entries")
    return lock


def _entries(data: JsonObject, section: Section, name: str) -> Mapping[str, Entry]:
    written = data[section.value]
    if not isinstance(written, dict) or not written:
        _broken(name, f"was cut off or changed by hand: `{section.value}` holds no entries")
    return {key: _entry(value, f"`{section.value}` {key!r}", name) for key, value in written.items()}


def _entry(value: JsonValue, where: str, name: str) -> Entry:
    if not isinstance(value, dict) or not {"digest", "content"} <= value.keys() <= {"digest", "content", "file"}:
        _broken(name, f"was cut off or changed by hand: {where} is no entry")
    digest, content, file = value["digest"], value["content"], value.get("file")
    if not isinstance(content, dict) or not isinstance(file, str | None):
        _broken(name, f"was cut off or changed by hand: {where} is no entry")
    entry = Entry(content=content, file=file)
    if digest != entry.digest:
        _broken(name, f"was cut off or changed by hand: the content of {where} is not what its digest says")
    return entry


def _broken(name: str, what: str, first: str = "") -> NoReturn:
    raise _DamagedError(f"{name!r} {what}; {first}")
