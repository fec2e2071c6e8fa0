"""Whatever the bytes, parsing returns."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tuvl.source.document import SourceFile, parse_text
from tuvl.source.excerpt import excerpt
from tuvl.source.front_matter import parse_prose

WORDS = """
a b : :_ - -_ [ ] { } , ' " | > &x_ *x !t_ <<:_ ?_ #_c --- ... % @ é 😀 \\ true 1 ~ 0x 1e3 {{_x_}}
"""
PIECES = WORDS.split()
ODD = ["\n", "\n  ", "\n    ", " ", "\t", "\r\n", "\u2028", "\ufeff", "\x07", "# tuvl: ignore[TV702] why"]
yaml_like = st.lists(st.sampled_from([piece.replace("_", " ") for piece in PIECES] + ODD), max_size=40).map("".join)


def check_all_of(source: SourceFile) -> None:
    lines = source.text.count("\n") + source.text.count("\r") + 1
    for problem in source.problems:
        assert problem.message
        assert problem.hint
        assert 1 <= problem.range.start.line <= lines + 1
        assert problem.range.start.column >= 1
        assert problem.range.start <= problem.range.end
        excerpt(source.text, problem.range)
    for document in source.documents:
        assert document.locate(()).start >= (1, 1)
        assert len(document.ambiguous) >= 0
        assert document.kind is None or isinstance(document.kind, str)


@given(st.binary(max_size=300))
@settings(deadline=None)
def test_any_bytes_are_parsed_or_told(raw):
    check_all_of(parse_text(raw, file="x"))
    parse_prose(raw, file="x")


@given(yaml_like)
@settings(deadline=None, max_examples=400)
def test_any_text_of_yaml_pieces_is_parsed_or_told(text):
    raw = text.encode()
    check_all_of(parse_text(raw, file="x"))
    prose = parse_prose(raw, file="x")
    assert prose.body_line >= 1


@given(st.text(max_size=200))
@settings(deadline=None)
def test_any_text_is_parsed_or_told(text):
    check_all_of(parse_text(text.encode(errors="surrogatepass"), file="x"))
