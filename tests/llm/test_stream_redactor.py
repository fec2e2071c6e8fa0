"""Secrets in a text that comes in pieces."""

from hypothesis import given
from hypothesis import strategies as st

from tuvl.redaction import MASK, StreamRedactor, redact, register_secret

SECRETS = ("abcabcabd", "cabcab-zz", "ab-ab-ab-ab")


def masked(pieces: list[str]) -> str:
    redactor = StreamRedactor()
    return "".join(map(redactor.feed, pieces)) + redactor.end()


@given(st.lists(st.one_of(st.sampled_from(["abc", "ab-", "abd", "cab", "-zz"]), st.text("abcdz-", max_size=4))))
def test_however_a_secret_is_cut_no_piece_of_it_leaves(pieces: list[str]) -> None:
    """O01."""
    for secret in SECRETS:
        register_secret(secret)
    out = masked(pieces)
    assert not any(secret in out for secret in SECRETS)
    if redact("".join(pieces)) == "".join(pieces):
        assert out == "".join(pieces)
    else:
        assert MASK in out


def test_text_that_begins_no_secret_leaves_at_once() -> None:
    register_secret("sk-0123456789")
    redactor = StreamRedactor()
    assert [redactor.feed(piece) for piece in ("plain ", "sk-", "0123", "x", " sk-0123456789 y")] == [
        "plain ",
        "",
        "",
        "sk-0123x",
        " *** y",
    ]
    assert redactor.end() == ""
