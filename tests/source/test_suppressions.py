"""`# tuvl: ignore[…]` counts in comments only."""

from tuvl.source.document import parse_text


def collect(text: str) -> list[tuple[int, tuple[str, ...], str]]:
    found = parse_text(text.encode(), file="x").suppressions
    return [(item.line, item.codes, item.reason) for item in found]


def test_codes_and_reason_of_a_comment_are_read():
    text = "a: 1  # tuvl: ignore[TV702, TV601] reviewed in May\n#tuvl:ignore[TV1] x\nb: 2 # note # tuvl: ignore[TV2]\n"
    assert collect(text) == [(1, ("TV702", "TV601"), "reviewed in May"), (2, ("TV1",), "x"), (3, ("TV2",), "")]


def test_dashes_are_no_reason():
    text = "a: 1  # tuvl: ignore[TV702] -\nb: 2  # tuvl: ignore[TV702]: –—\nc: 3  # tuvl: ignore[TV702] - é\n"
    assert collect(text) == [(1, ("TV702",), ""), (2, ("TV702",), ""), (3, ("TV702",), "- é")]


def test_what_stands_in_text_is_no_comment():
    text = (
        "a: '# tuvl: ignore[TV1] x'\n"
        "b: |  # tuvl: ignore[TV2] beside the mark\n"
        "  # tuvl: ignore[TV3] in the text\n"
        "# tuvl: ignore[TV4] below the text\n"
        'c: "first\n'
        "  # tuvl: ignore[TV5] in quotes\n"
        '  last"\n'
        "d: x# tuvl: ignore[TV6] no space before\n"
    )
    assert collect(text) == [(2, ("TV2",), "beside the mark"), (4, ("TV4",), "below the text")]


def test_a_comment_without_codes_is_kept_so_that_it_can_be_told():
    assert collect("a: 1 # tuvl: ignore\nb: 1 # tuvl: ignore[] why\n") == [(1, (), ""), (2, (), "why")]


def test_comments_above_broken_text_still_count():
    assert collect("# tuvl: ignore[TV1] x\na: [\n") == [(1, ("TV1",), "x")]
