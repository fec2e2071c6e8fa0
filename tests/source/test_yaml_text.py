"""A value written as YAML text is read back as the same value."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tuvl.source.document import parse_lines
from tuvl.source.yaml_text import to_yaml
from tuvl.values import JsonValue

_TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=("Cs",))),
    st.lists(st.sampled_from(["", " ", "a", "  b", "c ", "- d", "# e", "f: g", "\t", "|", "---", "..."])).map(
        "\n".join
    ),
)
_VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), _TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(_TEXTS, inner, max_size=4)),
    max_leaves=12,
)


@pytest.mark.parametrize("prose", [False, True])
@given(value=_VALUES)
@example(value={"a": ["\n\n x\n", "x\n\n", " \nx", "a\n "]})
@example(value={"<<": {"a": 1}, "=": 2, "": "", "~": None})
@example(value=["'", "a:", "a: b", "a #b", "yes", "No", "1e5", "e5", "0x1", ".inf", "it's", "a:b", "x ", "null"])
def test_value_is_read_back_as_it_was(value: JsonValue, prose: bool) -> None:
    text = to_yaml({"value": value}, prose=prose)
    source = parse_lines(text, file="x.yaml")
    assert [problem.message for problem in source.problems if problem.code != "TV004"] == []
    assert repr(source.documents[0].data) == repr({"value": value})


def test_prose_is_written_line_by_line_and_words_without_quotes() -> None:
    assert to_yaml({"text": "Hello.\n\nBe kind.\n", "words": "it's me, again"}, prose=True) == (
        "text: |\n  Hello.\n\n  Be kind.\nwords: it's me, again\n"
    )


def test_text_that_turns_or_hides_what_stands_around_it_is_escaped() -> None:
    assert to_yaml("a\u202eb\U000e0041", prose=True) == '"a\\u202eb\\U000e0041"\n'
