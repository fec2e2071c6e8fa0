"""A bundle is read when every byte of it is as it was written, and not otherwise."""

import hashlib
import io
import json
import os
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.cli_support import write
from tests.shipping.shipping_support import NEEDED, price_desk, release_of
from tuvl.shipping.archive import MAX_ENTRIES, BundleError, read_archive, write_archive
from tuvl.shipping.bundle import Bundle, make_bundle, open_bundle, read_bundle
from tuvl.shipping.manifest import Manifest, WorkflowEntry, file_entries
from tuvl.shipping.mark import is_bundle

FILES = {"workflows/a.yaml": b"kind: Workflow\n", "nodes/n.py": b"x = 1\n"}


def manifest(files: dict[str, bytes] = FILES) -> Manifest:
    return Manifest(
        name="small",
        version="1",
        tuvl="0.1.0",
        workflows=(WorkflowEntry(name="a", file="workflows/a.yaml"),),
        files=file_entries(files),
    )


def small() -> Bundle:
    return make_bundle(manifest(), FILES)


def entries() -> dict[str, bytes]:
    """The entries of the small bundle, for putting together what `tuvl ship` never would."""
    return read_archive(small().raw)


def zipped(pairs: list[tuple[str, bytes]], **attributes: int) -> bytes:
    """Write a zip with the standard library, entry by entry."""
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w") as archive:
        warnings.filterwarnings("ignore", message="Duplicate name")
        for name, data in pairs:
            info = zipfile.ZipInfo(name)
            for key, value in attributes.items():
                setattr(info, key, value)
            archive.writestr(info, data)
    return out.getvalue()


def test_bundle_is_read_back_as_it_was_made() -> None:
    bundle = read_bundle(small().raw)
    assert bundle.files == FILES
    assert bundle.manifest == manifest()


def test_bundle_is_a_zip_that_other_tools_read() -> None:
    with zipfile.ZipFile(io.BytesIO(small().raw)) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == sorted(archive.namelist())
        assert archive.read("project/nodes/n.py") == b"x = 1\n"
        assert {info.external_attr >> 16 for info in archive.infolist()} == {0o100644}
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_no_byte_can_be_another() -> None:
    raw = small().raw
    accepted = []
    for at in range(len(raw)):
        altered = bytearray(raw)
        altered[at] ^= 0x01
        try:
            read_bundle(bytes(altered))
        except BundleError:
            continue
        accepted.append(at)
    assert accepted == []


def test_no_byte_can_be_missing_or_more() -> None:
    raw = small().raw
    shorter = [raw[:at] for at in range(len(raw))]
    longer = [raw + b"\0", b"\0" + raw, raw + raw, raw[:40] + b"\0" + raw[40:]]
    for altered in (*shorter, *longer):
        with pytest.raises(BundleError):
            read_bundle(altered)


def with_changed(name: str, data: bytes) -> bytes:
    return write_archive({**entries(), name: data})


def with_manifest(change: Callable[[dict[str, object]], object], *, signed: bool) -> bytes:
    """Change the manifest; `signed` writes its digest anew, as somebody would who knows how bundles are made."""
    data = json.loads(entries()["bundle.json"])
    change(data)
    listed = json.dumps(data, indent=1).encode() + b"\n"
    said = f"{hashlib.sha256(listed).hexdigest()}  bundle.json\n".encode() if signed else entries()["bundle.sha256"]
    return write_archive({**entries(), "bundle.json": listed, "bundle.sha256": said})


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (with_changed("project/nodes/n.py", b"x = 2\n"), "'nodes/n.py' was changed"),
        (with_changed("project/nodes/more.py", b"x = 2\n"), "'nodes/more.py' is not in its manifest"),
        (with_changed("more.txt", b"x"), "no name of a project's file"),
        (with_changed("project/../../etc/passwd", b"x"), "no name of a project's file"),
        (with_changed("project//etc/passwd", b"x"), "no name of a project's file"),
        (with_changed("project/C:\\x", b"x"), "no name of a project's file"),
        (with_changed("/etc/passwd", b"x"), "no name of a project's file"),
        (write_archive({name: data for name, data in entries().items() if "nodes" not in name}), "was removed"),
        (write_archive({name: data for name, data in entries().items() if name != "bundle.json"}), "no manifest"),
        (write_archive({name: data for name, data in entries().items() if "sha256" not in name}), "no manifest"),
        (with_manifest(lambda data: data.update(name="other"), signed=False), "its manifest was changed"),
        (with_manifest(lambda data: data["files"].reverse(), signed=True), "does not list the files"),  # type: ignore[attr-defined]
        (with_manifest(lambda data: data["files"].append(data["files"][0]), signed=True), "does not list the files"),  # type: ignore[attr-defined, index]
        (with_manifest(lambda data: data.update(more=1), signed=True), "not as `tuvl ship` writes one"),
        (with_manifest(lambda data: data.pop("version"), signed=True), "cannot be read"),
        (with_manifest(lambda data: data.update(name="\ud800"), signed=True), "cannot be read"),
        (with_manifest(lambda data: data["workflows"][0].update(file="x.yaml"), signed=True), "is missing"),  # type: ignore[index]
        (b"kind: Workflow\n", "does not begin like one"),
        (b"", "does not begin like one"),
    ],
)
def test_altered_bundle_is_refused_with_what_is_wrong(raw: bytes, why: str) -> None:
    with pytest.raises(BundleError, match=why):
        read_bundle(raw)


PAIRS = list(entries().items())


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(zipped(PAIRS), id="written anew by another tool"),
        pytest.param(zipped([*PAIRS, PAIRS[-1]]), id="a name twice"),
        pytest.param(zipped([*PAIRS[::-1]]), id="another order"),
        pytest.param(zipped(PAIRS, compress_type=zipfile.ZIP_DEFLATED), id="packed"),
        pytest.param(zipped(PAIRS, external_attr=0o120777 << 16), id="links"),
        pytest.param(zipped([*PAIRS, ("project/zeros", b"\0" * 20_000_000)], compress_type=8), id="a bomb"),
        pytest.param(b"#!/bin/sh\n" + small().raw, id="something before it"),
    ],
)
def test_zip_of_another_make_is_refused(raw: bytes) -> None:
    with pytest.raises(BundleError):
        read_bundle(raw)


def test_size_that_an_entry_only_claims_is_not_believed() -> None:
    raw = bytearray(small().raw)
    raw[18:26] = (0xFFFFFFF0).to_bytes(4, "little") * 2
    with pytest.raises(BundleError, match="cut short"):
        read_bundle(bytes(raw))


def test_more_files_than_a_bundle_holds_are_refused() -> None:
    with pytest.raises(BundleError, match="too many"):
        write_archive({f"{number}": b"" for number in range(MAX_ENTRIES + 1)})


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("format_version", 2, "in form 2, and this tuvl reads form 1"),
        ("language", "v2", "in language 'v2', and this tuvl reads 'v1'"),
    ],
)
def test_bundle_of_a_newer_tuvl_says_so_whatever_else_is_in_it(field: str, value: object, told: str) -> None:
    raw = with_manifest(lambda data: data.update({field: value, "tuvl": "9.0.0", "new": {}}), signed=True) + b"more"
    with pytest.raises(BundleError, match=f"newer tuvl, '9.0.0', {told}; run it with that version"):
        read_bundle(raw)


def test_digest_known_from_elsewhere_tells_a_forged_bundle() -> None:
    forged = make_bundle(manifest({**FILES, "nodes/n.py": b"x = 2\n"}), {**FILES, "nodes/n.py": b"x = 2\n"})
    assert read_bundle(forged.raw).files["nodes/n.py"] == b"x = 2\n"  # nothing in it tells
    with pytest.raises(BundleError, match="not the one asked for"):
        read_bundle(forged.raw, digest=small().digest)
    assert read_bundle(small().raw, digest=small().digest).digest == small().digest


@pytest.mark.parametrize("digest", ["", "sha256:", "sha256:00", "md5:" + "0" * 64, "0" * 64])
def test_digest_that_is_none_is_refused(digest: str) -> None:
    with pytest.raises(BundleError, match="64 hexadecimal digits"):
        read_bundle(small().raw, digest=digest)


@pytest.mark.parametrize("name", ["../x", "/x", "a//b", "a/./b", "a\\b", "c:x", "a\nb", "\ud800", ""])
def test_name_that_leads_elsewhere_is_never_put_into_a_bundle(name: str) -> None:
    with pytest.raises(BundleError, match="rename it"):
        make_bundle(manifest(), {**FILES, name: b""})


def test_bundle_is_told_by_its_name_or_by_how_it_begins(tmp_path: Path) -> None:
    write(tmp_path, {"a.tuvl": "", "b.yaml": "kind: Workflow\n"})
    (tmp_path / "c.zip").write_bytes(small().raw)
    (tmp_path / "d.tuvl").mkdir()
    assert [name for name in ("a.tuvl", "b.yaml", "c.zip", "d.tuvl", "e.tuvl") if is_bundle(tmp_path / name)] == [
        "a.tuvl",
        "c.zip",
    ]


def test_bundle_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"cannot read .*x\.tuvl"):
        open_bundle(tmp_path / "x.tuvl")
    (tmp_path / "y.tuvl").write_bytes(small().raw[:-1])
    with pytest.raises(BundleError, match=r"the bundle .*y\.tuvl' is not used"):
        open_bundle(tmp_path / "y.tuvl")


def test_files_are_laid_out_for_their_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0o000)
    try:
        small().lay_out(tmp_path)
    finally:
        os.umask(before)
    path = tmp_path / "workflows" / "a.yaml"
    assert path.read_bytes() == FILES["workflows/a.yaml"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_same_files_are_the_same_bytes_wherever_and_however_they_were_written(tmp_path: Path) -> None:
    first = release_of(price_desk(tmp_path / "one"))
    before = os.umask(0o077)
    try:
        other = write(tmp_path / "two" / "deeper", dict(reversed(NEEDED.items())))
    finally:
        os.umask(before)
    for number, path in enumerate(sorted(other.rglob("*"))):
        os.utime(path, (number, number))
        if path.is_file():
            path.chmod(0o755)
    second = release_of(other)
    assert first.bundle.raw == second.bundle.raw
    assert first.file == second.file == "price-desk-1.4.0.tuvl"


def test_another_byte_is_another_digest_and_without_a_version_another_name(tmp_path: Path) -> None:
    desk = price_desk(tmp_path)
    (desk / "tuvl.yaml").write_text("kind: ProjectConfig\nmetadata: { name: p }\n", encoding="utf-8")
    first = release_of(desk)
    (desk / "nodes" / "helpers.py").write_text("SUM = sum  # of all\n", encoding="utf-8")
    second = release_of(desk)
    assert first.bundle.digest != second.bundle.digest
    assert first.file != second.file
    assert first.file.startswith("p-")
