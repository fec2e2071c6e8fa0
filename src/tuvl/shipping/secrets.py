"""Looks for credentials in every byte that is shipped: whoever has a bundle, or the files beside it, has them."""

from collections.abc import Iterator, Mapping

from tuvl.analysis.credential_lines import credential_in_address, credential_lines
from tuvl.analysis.credentials import secret_in
from tuvl.shipping.contents import Contents
from tuvl.source.suppression import suppressions

CODE = "TV701"
"""The check that a comment names to say why what looks like a credential is none."""

_MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)


def secrets_in(contents: Contents) -> Iterator[str]:
    """Say where one stands in a file of a bundle: in values, in comments, in front matter, in code, in lists."""
    for path, raw in contents.files.items():
        text = text_of(raw)
        comments = suppressions(text)
        for number, what in credential_lines(text, name=path):
            if not any(comment.hides(CODE, number) for comment in comments):
                yield f"{path}:{number}: the text holds {what} in the clear; let the environment give it"


def secrets_beside(files: Mapping[str, bytes], bundle: str) -> Iterator[str]:
    """Say where one stands in the files that are written beside a bundle."""
    for name, raw in files.items():
        if name == bundle:
            continue
        for number, line in enumerate(text_of(raw).splitlines(), start=1):
            what = secret_in(line) or credential_in_address(line)
            if what is not None:
                yield f"{name}:{number} would hold {what} in the clear; let the environment give it"


def text_of(raw: bytes) -> str:
    """Read bytes as the text they are, or as much of it as can be read."""
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            return raw.decode(encoding, "replace")
    zeros = raw.count(0)
    if zeros * 4 > len(raw):
        # Wide characters without a mark: the halves that are nothing are left out.
        return raw.replace(b"\0", b"").decode("utf-8", "replace")
    return raw.decode("utf-8", "replace")
