"""Help, unknown words, and the reference that is made from both."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from tuvl import __version__
from tuvl.__main__ import main
from tuvl.cli.app import app
from tuvl.cli.flags import Flags
from tuvl.cli.reference import reference

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = [
    "init",
    "validate",
    "explain",
    "run",
    "schema",
    "serve",
    "graph",
    "bounds",
    "diff",
    "test",
    "ship",
    "lock",
    "approve",
    "worker",
    "resume",
    "replay",
    "mcp",
    "lsp",
]
FAST = {
    "run": "tuvl.cli.options",
    "validate": "tuvl.cli.validate",
    "explain": "tuvl.cli.explain",
}


def commands() -> dict[str, TyperCommand]:
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    return {name: command for name, command in group.commands.items() if isinstance(command, TyperCommand)}


def flags_of(command: str) -> Flags:
    flags = importlib.import_module(FAST[command]).FLAGS
    assert isinstance(flags, Flags)
    return flags


def test_commands_are_those_that_work() -> None:
    assert list(commands()) == COMMANDS


@pytest.mark.parametrize("command", FAST)
def test_options_read_without_typer_are_those_that_help_shows(command: str) -> None:
    options = [param for param in commands()[command].params if isinstance(param, TyperOption)]
    found = Flags(
        command=command,
        values=frozenset(each.opts[0] for each in options if not each.is_flag and not each.multiple),
        repeated=frozenset(each.opts[0] for each in options if each.multiple),
        switches=frozenset(each.opts[0] for each in options if each.is_flag),
        most_arguments=flags_of(command).most_arguments,
    )
    assert found == flags_of(command)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_has_an_example_that_names_it(
    command: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert main([command, "--help"]) == 0
    out = capfd.readouterr().out
    assert f"Usage: tuvl {command}" in out
    assert f"\n    tuvl {command}" in out.partition("Example")[2]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_says_what_it_does(command: str) -> None:
    assert all(param.help for param in commands()[command].params if isinstance(param, TyperOption))


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["rum"], "Did you mean 'run'"),
        (["validat"], "Did you mean 'validate'?"),
        (["nonsense"], "no such command 'nonsense'"),
        (["run", "--inptu", "x", "f.yaml"], "did you mean '--input'?"),
        (["validate", "--strickt"], "did you mean '--strict'?"),
        (["graph", "--fromat", "dot", "f.yaml"], "--format"),
        (["graph"], "WORKFLOW"),
        (["graph", "f.yaml", "--format", "png"], "png"),
        (["run"], "name a workflow"),
        (["init", "--template", "minimale"], "did you mean 'minimal'?"),
        (["init", "--template", "zzz"], "there are support, data, minimal"),
        (["schema", "Workflw"], "did you mean 'Workflow'?"),
    ],
)
def test_unknown_word_is_misuse_with_what_was_meant(
    argv: list[str], message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 2
    captured = capfd.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert "Traceback" not in captured.err


@pytest.mark.parametrize("argv", [["--version"], ["--version", "--help"]])
def test_version_is_one_line(argv: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 0
    assert capfd.readouterr().out == f"tuvl {__version__}\n"


def test_schema_prints_a_schema_for_editors(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "Workflow"]) == 0
    assert '"$schema": "https://json-schema.org/draft/2020-12/schema"' in capfd.readouterr().out


def test_reference_is_fresh() -> None:
    written = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert written == reference(), "run `python -m tuvl.cli.reference > docs/cli.md`"


def test_reference_does_not_depend_on_the_terminal() -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "tuvl.cli.reference"],
        env={**os.environ, "COLUMNS": "40", "TERM": "dumb"},
        capture_output=True,
        check=True,
    )
    assert answer.stdout.decode() == reference()
