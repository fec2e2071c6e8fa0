"""`tuvl explain CODE`."""

import pytest

from tuvl.check.explaining import DOCUMENTED
from tuvl.cli.explain import main


def shown(capfdbinary: pytest.CaptureFixture[bytes], *words: str) -> tuple[int, str, str]:
    code = main(words)
    captured = capfdbinary.readouterr()
    return code, captured.out.decode(), captured.err.decode()


@pytest.mark.parametrize("word", ["TV101", "tv101", "unknown-field", "Unknown-Field"])
def test_check_is_found_by_code_and_by_name_in_any_case(capfdbinary: pytest.CaptureFixture[bytes], word: str) -> None:
    code, out, err = shown(capfdbinary, word)
    assert (code, err) == (0, "")
    assert out.startswith("TV101 unknown-field (error)\n\nA field that the language does not have")
    assert "silently ignored" in out
    assert "max_step: 5" in out
    assert "did you mean 'max_steps'?" in out
    assert "max_steps: 5" in out


@pytest.mark.parametrize(
    ("word", "hint"), [("TV1011", "TV101"), ("unknown-fild", "unknown-field"), ("nonsense", "`tuvl explain` lists")]
)
def test_unknown_check_ends_with_2_and_a_hint(capfdbinary: pytest.CaptureFixture[bytes], word: str, hint: str) -> None:
    code, out, err = shown(capfdbinary, word)
    assert (code, out) == (2, "")
    assert hint in err


def test_without_a_code_all_checks_are_listed(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    _, out, _ = shown(capfdbinary)
    assert [line.split()[0] for line in out.splitlines()] == [page.code for page in DOCUMENTED]


def test_every_check_has_a_page(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    for page in DOCUMENTED:
        code, out, _ = shown(capfdbinary, page.code)
        assert code == 0
        assert out.startswith(f"{page.code} {page.name} ")


def test_two_codes_are_misuse(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert shown(capfdbinary, "TV101", "TV102")[0] == 2
