"""The words of a command, read without Typer."""

import pytest

from tuvl.cli.flags import Flags, read_words, wants_help
from tuvl.errors import UsageError

FLAGS = Flags(
    command="run",
    values=frozenset({"--input", "--output"}),
    repeated=frozenset({"--set"}),
    switches=frozenset({"--trace"}),
    most_arguments=1,
)


def test_options_and_the_argument_come_in_any_order() -> None:
    words = read_words(FLAGS, ["--trace", "--input", "a.json", "flow.yaml", "--set=a=1", "--set", "b=2"])
    assert words.arguments == ("flow.yaml",)
    assert words.one("--input") == "a.json"
    assert words.all("--set") == ("a=1", "b=2")
    assert words.on("--trace")
    assert words.one("--output") is None
    assert words.all("--output") == ()


def test_value_after_an_equals_sign_may_hold_more_of_them_or_nothing() -> None:
    words = read_words(FLAGS, ["--input=a=b", "--output="])
    assert (words.one("--input"), words.one("--output")) == ("a=b", "")


def test_lone_dash_is_a_value_and_an_argument() -> None:
    words = read_words(FLAGS, ["--input", "-", "-"])
    assert (words.one("--input"), words.arguments) == ("-", ("-",))


def test_after_two_dashes_every_word_is_an_argument() -> None:
    assert read_words(FLAGS, ["--", "--trace"]).arguments == ("--trace",)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--inptu", "x"], r"no option '--inptu'; did you mean '--input'\?"),
        (["--nonsense"], "no option '--nonsense'; `tuvl run --help` lists them"),
        (["-x"], "no option '-x'"),
        (["--input"], "'--input' needs a value"),
        (["--input", "--trace"], "'--input' needs a value"),
        (["--input", "a", "--input", "b"], "'--input' is given twice"),
        (["--trace=yes"], "'--trace' of `tuvl run` takes no value"),
        (["a.yaml", "b.yaml"], "'b.yaml' is one too many"),
    ],
)
def test_wrong_word_is_named(argv: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_words(FLAGS, argv)


@pytest.mark.parametrize(
    ("argv", "wanted"),
    [(["a", "--help"], True), (["-h"], True), (["--", "--help"], False), (["a"], False)],
)
def test_help_is_wanted_before_two_dashes_only(argv: list[str], wanted: bool) -> None:
    assert wants_help(argv) is wanted
