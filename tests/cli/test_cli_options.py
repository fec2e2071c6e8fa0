"""What `tuvl run` accepts, before anything is read."""

from pathlib import Path

import pytest

from tuvl.cli.flags import read_words
from tuvl.cli.options import FLAGS, RunOptions, options_of
from tuvl.errors import UsageError


def options(*argv: str) -> RunOptions:
    return options_of(read_words(FLAGS, argv))


def test_plain_run_has_the_documented_defaults() -> None:
    assert options("flow.yaml") == RunOptions(
        workflow="flow.yaml",
        input=None,
        settings=(),
        models={},
        events="pretty",
        trace=False,
        output=None,
        timeout_s=None,
        record=None,
        replay=None,
        principal=None,
        approve=None,
        project=None,
        dry_run=False,
        durable=False,
        format="text",
    )


def test_every_option_reaches_its_place() -> None:
    found = options(
        *(
            "flow",
            "--input",
            "-",
            "--set",
            "a=1",
            "--set",
            "b=2",
            "--model",
            "default=openai/gpt-x",
            "--events",
            "jsonl",
        ),
        *("--trace", "--output", "out.json", "--timeout", "2.5", "--replay", "r.yaml", "--principal", "p.json"),
        *("--approve", "all", "--project", "dir", "--dry-run", "--format=json"),
    )
    assert found == RunOptions(
        workflow="flow",
        input="-",
        settings=("a=1", "b=2"),
        models={"default": "openai/gpt-x"},
        events="jsonl",
        trace=True,
        output="out.json",
        timeout_s=2.5,
        record=None,
        replay=Path("r.yaml"),
        principal="p.json",
        approve="all",
        project="dir",
        dry_run=True,
        durable=False,
        format="json",
    )


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "name a workflow"),
        (["f", "--events", "json"], r"--events does not take 'json'; did you mean 'jsonl'\?"),
        (["f", "--events", "loud"], "--events does not take 'loud'; it takes pretty, jsonl, none"),
        (["f", "--timeout", "1_0"], "--timeout takes a positive number of seconds, not '1_0'"),
        (["f", "--timeout", "soon"], "--timeout takes a positive number of seconds, not 'soon'"),
        (["f", "--timeout", "0"], "--timeout takes a positive number"),
        (["f", "--timeout", "-1"], "--timeout takes a positive number"),
        (["f", "--timeout", "nan"], "--timeout takes a positive number"),
        (["f", "--timeout", "inf"], "--timeout takes a positive number"),
        (["f", "--model", "default"], "--model 'default' is not of the form NAME=PRESET"),
        (["f", "--model", "=x/y"], "not of the form NAME=PRESET"),
        (["f", "--model", "a=x/y", "--model", "a=x/z"], "--model replaces 'a' twice"),
        (["f", "--record", "a", "--replay", "b"], "--record and --replay exclude each other"),
        (["f", "--format", "json"], "--format is for --dry-run"),
        (["f", "--detach", "--dry-run"], "--detach and --dry-run exclude each other"),
    ],
)
def test_wrong_value_is_named_with_what_is_right(argv: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        options(*argv)
