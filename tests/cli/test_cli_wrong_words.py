"""Wrong words and paths that are no files: every command answers in one line that says what to do."""

import os
import threading
from pathlib import Path

import pytest

from tests.cli.cli_support import project, write
from tuvl.__main__ import main
from tuvl.suggest import closest


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(project(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (
            ["graph", "greet", "--format", "png"],
            "tuvl graph: --format does not take 'png'; it takes mermaid, dot, svg, html",
        ),
        (["graph", "greet", "--format", "dott"], "tuvl graph: --format does not take 'dott'; did you mean 'dot'?"),
        (["graph", "greet", "--out", "x"], "tuvl graph: `tuvl graph` has no option '--out'; did you mean '--output'?"),
        (["runs", "show", "--fromat", "x"], "tuvl runs show: `tuvl runs show` has no option '--fromat'"),
        (["runs", "show"], "tuvl runs show: missing argument 'RUN'; `tuvl runs show --help` says more"),
        (["rum"], "tuvl: no such command 'rum'. Did you mean 'run', 'resume'?"),
        (["run", "greet", "--out", "x"], "tuvl run: `tuvl run` has no option '--out'; did you mean '--output'?"),
        (["run", "workflows"], "'workflows' is a folder; name a workflow file, e.g. workflows/NAME.yaml"),
        (["run", "."], "'.' is a folder; name a workflow file, e.g. workflows/NAME.yaml"),
    ],
)
def test_wrong_word_is_one_line_in_the_same_form_for_every_command(
    here: Path, capfd: pytest.CaptureFixture[str], argv: list[str], message: str
) -> None:
    assert main(argv) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert message in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("--out", ["--input", "--output", "--set"], "--output"),
        ("--out", ["--set", "--events"], None),
        ("pprint", ["int", "string", "join"], None),
        ("max_steps_total", ["max_steps"], None),
        ("outp", ["output", "outcome"], "output"),
        ("in", ["input"], None),
        ("--strickt", ["--strict"], "--strict"),
    ],
)
def test_suggestion_is_a_near_word_or_none(word: str, known: list[str], meant: str | None) -> None:
    assert closest(word, known) == meant


LONG = "b" * 300
TOO_LONG = [
    *(f"{command} LONG" for command in ("run", "validate", "graph", "bounds", "test", "mcp", "validate --fix")),
    *(f"{words} --output LONG" for words in ("run greet", "validate", "schema", "bounds greet", "ship --no-build")),
    *(
        f"{words} --project LONG"
        for words in (
            *(
                "run greet",
                "validate",
                "test",
                "graph greet",
                "lock",
                "ship --no-build",
                "serve",
                "worker",
                "mcp greet",
            ),
            *(
                "runs list",
                "runs show r",
                "runs cancel r",
                "runs fork r --at s",
                "runs pause r",
                "resume r",
                "approve r",
            ),
            *("replay r", "token list", "token create --label x --principal y", "runs prune --older-than 30d --yes"),
        )
    ),
    "run greet --record LONG",
    "run greet --input LONG",
    "run greet --principal LONG",
    "run greet --replay LONG",
    "run a/LONG/b.yaml",
    "diff LONG greet",
    "init LONG",
]


@pytest.mark.parametrize("words", TOO_LONG)
def test_name_that_the_system_does_not_take_is_told_in_a_line_by_every_command(
    here: Path, capfd: pytest.CaptureFixture[str], words: str
) -> None:
    assert main(words.replace("LONG", LONG).split()) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert "bbbbbb" in err
    assert len(err.splitlines()) == 1


def test_document_that_is_pasted_for_a_name_is_not_repeated(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["run", '{"ticket": "' + "x" * 300 + 'and my password is hush"}']) == 2
    err = capfd.readouterr().err
    assert err.startswith('tuvl: cannot use \'{"ticket": "xxx')
    assert err.endswith("…': file name too long; name a file or a folder, not what it holds\n")
    assert "hush" not in err


@pytest.mark.parametrize("words", ["run a\0b", "run greet --input a\0b", "schema --output a\0b", "runs show a\0b"])
def test_word_with_a_nul_is_told_in_a_line(here: Path, capfd: pytest.CaptureFixture[str], words: str) -> None:
    assert main(words.split()) == 2
    assert capfd.readouterr() == ("", "tuvl: 'a\\x00b' holds a NUL character, and no name of a file does\n")


def test_script_with_a_nul_in_its_name_is_a_finding(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    preset = 'kind: AgentModel\nmetadata: { name: default }\nspec: { provider: scripted, script: "a\\0b" }\n'
    write(here, {"llms/default.yaml": preset})
    assert main(["validate"]) == 1
    assert "TV217 error" in capfd.readouterr().out


@pytest.mark.parametrize("command", ["validate", "run", "graph"])
@pytest.mark.parametrize("path", ["pipe.yaml", "/dev/null"])
def test_pipe_or_device_is_refused_unread(
    here: Path, capfd: pytest.CaptureFixture[str], command: str, path: str
) -> None:
    os.mkfifo(here / "pipe.yaml")
    assert main([command, path]) == 2
    assert f"cannot read {path!r}: it is a pipe or a device, not a file" in capfd.readouterr().err


def test_pipe_that_lies_in_the_project_keeps_nothing_waiting(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(here / "workflows" / "pipe.yaml")
    assert main(["validate", "."]) == 0
    assert main(["run", "greet", "--set", "name=Ann", "--events", "none"]) == 0


def test_input_may_come_through_a_pipe(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(here / "input.json")
    writer = threading.Thread(target=lambda: (here / "input.json").write_text('{"name": "Ann"}', encoding="utf-8"))
    writer.start()
    assert main(["run", "greet", "--input", "input.json", "--events", "none"]) == 0
    writer.join()
    assert '"output": "Hello Ann"' in capfd.readouterr().out


def test_output_that_nothing_sets_is_null_with_a_warning_for_people(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    steps = "[{ id: a, kind: Functional, runner: set, values: { x: 1 } }]"
    write(here, {"w.yaml": f"kind: Workflow\nmetadata: {{ name: w }}\nspec: {{ output: nope.x, steps: {steps} }}\n"})
    assert main(["run", "w.yaml"]) == 0
    out, err = capfd.readouterr()
    assert '"output": null' in out
    assert "tuvl: warning: `output: nope.x` is not in the context at this end; the output is null\n" in err
