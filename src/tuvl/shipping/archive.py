"""The container of a bundle: a zip of one form only, so that equal entries are equal bytes, and any other byte shows.

Entries are stored as they are, sorted by name, with one timestamp and one mode. What is not exactly what
`write_archive` writes is no archive: no comment, no gap, no second copy of a name and no other order can be in it.
"""

import struct
import zlib
from collections.abc import Mapping

from tuvl.errors import UsageError
from tuvl.shipping.mark import SIGNATURE

MAX_BYTES = 64 * 1024 * 1024
"""Most bytes of a bundle."""
MAX_ENTRIES = 10_000

_LOCAL = struct.Struct("<4sHHHHHIIIHH")
_CENTRAL = struct.Struct("<4sHHHHHHIIIHHHHHII")
_END = struct.Struct("<4sHHHHIIH")
_CENTRAL_SIGNATURE, _END_SIGNATURE = b"PK\x01\x02", b"PK\x05\x06"

_VERSION = 20
_UTF8_NAMES = 0x0800
_STORED = 0
_MIDNIGHT, _FIRST_DAY = 0, (1 << 5) | 1
"""1980-01-01 00:00, the first time a zip can say."""
_UNIX = 3 << 8
_MODE = 0o100644 << 16


class BundleError(UsageError):
    """A bundle cannot be used; the message says why."""


def write_archive(entries: Mapping[str, bytes]) -> bytes:
    """Write entries, whatever their order, as the one archive that holds them; raises `BundleError` for too many."""
    if len(entries) > MAX_ENTRIES:
        raise BundleError(f"{len(entries)} files are too many for a bundle; it holds {MAX_ENTRIES}")
    if sum(map(len, entries.values())) > MAX_BYTES:
        raise BundleError(f"the files are too large for a bundle; it holds {MAX_BYTES // 2**20} MiB")
    parts: list[bytes] = []
    directory: list[bytes] = []
    at = 0
    for name in sorted(entries):
        data, label = entries[name], name.encode("utf-8")
        common = (_VERSION, _UTF8_NAMES, _STORED, _MIDNIGHT, _FIRST_DAY, zlib.crc32(data), len(data), len(data))
        local = _LOCAL.pack(SIGNATURE, *common, len(label), 0) + label
        directory.append(
            _CENTRAL.pack(_CENTRAL_SIGNATURE, _UNIX | _VERSION, *common, len(label), 0, 0, 0, 0, _MODE, at) + label
        )
        parts += (local, data)
        at += len(local) + len(data)
    listing = b"".join(directory)
    end = _END.pack(_END_SIGNATURE, 0, 0, len(entries), len(entries), len(listing), at, 0)
    return b"".join((*parts, listing, end))


def first_entry(raw: bytes) -> tuple[str, bytes] | None:
    """Return the first entry as it claims to be, `None` when there is none; nothing of it is checked."""
    return _entry_at(raw, 0)


def read_archive(raw: bytes) -> dict[str, bytes]:
    """Read every entry, in order; raises `BundleError` for bytes that `write_archive` does not write."""
    if not raw.startswith(SIGNATURE):
        raise BundleError("it is no bundle: it does not begin like one")
    entries: dict[str, bytes] = {}
    at = 0
    while raw.startswith(SIGNATURE, at):
        found = _entry_at(raw, at)
        if found is None:
            raise BundleError("it is cut short, or an entry is not as `tuvl ship` writes it")
        name, data = found
        if name in entries:
            raise BundleError(f"it holds {name!r} twice")
        if len(entries) >= MAX_ENTRIES:
            raise BundleError(f"it holds more than {MAX_ENTRIES} files")
        entries[name] = data
        at += _LOCAL.size + len(name.encode("utf-8")) + len(data)
    if write_archive(entries) != raw:
        raise BundleError("it is not as `tuvl ship` wrote it: something was added, cut off, reordered or marked anew")
    return entries


def _entry_at(raw: bytes, at: int) -> tuple[str, bytes] | None:
    start = at + _LOCAL.size
    if len(raw) < start or not raw.startswith(SIGNATURE, at):
        return None
    fields = _LOCAL.unpack_from(raw, at)
    method, size, packed, label, extra = fields[3], fields[8], fields[7], fields[9], fields[10]
    end = start + label + size
    # A size that the file cannot hold is a claim, and is not believed; nothing is unpacked, so nothing can grow.
    if method != _STORED or packed != size or extra or end > len(raw):
        return None
    try:
        name = raw[start : start + label].decode("utf-8")
    except UnicodeDecodeError:
        return None
    return name, raw[start + label : end]
