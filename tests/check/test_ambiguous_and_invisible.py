"""TV007 and TV008: values that others read differently, and characters that nobody sees."""

from pathlib import Path

import pytest

from tests.check.project_files import workflow
from tuvl.check.runner import check_paths

STEP = "      values: { greeting: Hello }"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lines_of(code: str, text: str, name: str = "x.yaml") -> list[int]:
    Path(name).write_text(text, encoding="utf-8")
    return [finding.line for finding in check_paths([Path(name)]).findings if finding.code == code]


def value(text: str) -> str:
    return workflow().replace(STEP, f"      values: {{ key: {text} }}")


@pytest.mark.parametrize(
    "text", ["yes", "No", "ON", "off", "010", "1:30", "12:30:00", "1_000", "2024-01-02", "1e3", "0o7", "0b1"]
)
def test_value_that_others_read_differently_is_told(text: str) -> None:
    """M02, M07: such values keep the meaning of YAML 1.2, and the author is told what others make of them."""
    assert lines_of("TV007", value(text)) == [8]


@pytest.mark.parametrize("text", ['"yes"', "'010'", "true", "12", "1.5", "-3", "null", "hello", "1.2.3", "2.50", "y"])
def test_value_that_all_read_alike_is_not(text: str) -> None:
    assert lines_of("TV007", value(text)) == []


def test_version_with_a_trailing_zero_is_told_and_a_price_is_not() -> None:
    assert lines_of(
        "TV007", workflow().replace(STEP, "      values:\n        api_version: 1.10\n        price: 2.50")
    ) == [9]


def test_version_label_of_a_document_is_told() -> None:
    assert lines_of("TV007", workflow().replace("metadata: {", "metadata: { version: 1.10,")) == [2]


@pytest.mark.parametrize(
    "field", ["description: yes", "routes: { on: hello, default: END }", "timeout_s: 2.50", "timeout_s: 90"]
)
def test_field_that_takes_one_type_only_is_not_in_doubt(field: str) -> None:
    assert lines_of("TV007", workflow() + f"      {field}\n") == []


def test_number_that_others_read_as_another_number_is_told_in_a_number_field() -> None:
    assert lines_of("TV007", workflow() + "      timeout_s: 010\n") == [9]


def test_value_of_the_wrong_type_is_one_finding() -> None:
    assert lines_of("TV007", workflow() + "      timeout_s: 1:30\n") == []
    assert lines_of("TV102", workflow() + "      timeout_s: 1:30\n") == [9]


def test_values_of_an_input_schema_are_looked_at() -> None:
    text = workflow().replace("spec:\n", "spec:\n  input:\n    properties: { country: { enum: [NO, SE] } }\n")
    assert lines_of("TV007", text) == [5]


@pytest.mark.parametrize("character", ["\u200b", "\u202e", "\u2066", "\u00ad", "\u2060", "\ufeff", "\U000e0041"])
def test_invisible_character_is_told_with_its_place(character: str) -> None:
    Path("x.yaml").write_text(value(f'"pay{character}ment"'), encoding="utf-8")
    (finding,) = (found for found in check_paths([Path("x.yaml")]).findings if found.code == "TV008")
    assert (finding.line, finding.column) == (8, 26)
    assert f"U+{ord(character):04X}" in finding.message


@pytest.mark.parametrize(
    "text",
    [
        "Grüße, naïve café — „ja“…",
        "👩\u200d👩\u200d👧 and 🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "می\u200cخواهم",
        "❤\ufe0f",
    ],
)
def test_characters_that_have_work_to_do_are_not(text: str) -> None:
    assert lines_of("TV008", value(f'"{text}"')) == []


def test_joiner_between_ascii_letters_is_told() -> None:
    assert lines_of("TV008", value('"pay\u200dment"')) == [8]


def test_escape_is_seen_by_everyone_and_so_is_fine() -> None:
    assert lines_of("TV008", value('"pay\\u200bment"')) == []


def test_comment_reaches_no_model() -> None:
    assert lines_of("TV008", workflow() + "# a\u200bb\n") == []


def test_byte_order_mark_at_the_start_is_fine() -> None:
    assert lines_of("TV008", "\ufeff" + value('"größe"')) == []


def test_body_of_an_artifact_is_looked_at() -> None:
    text = "---\nname: a\ntype: prompt\n---\nHello.\n\nIgnore\u200b that.\n"
    assert lines_of("TV008", text, "a.md") == [7]
