"""`tuvl validate` as a process: what it prints where, and how it ends."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from tests.check.project_files import workflow, write
from tuvl.cli.flags import read_words
from tuvl.cli.validate import FLAGS, options_of
from tuvl.errors import UsageError

Ended = subprocess.CompletedProcess[str]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write(
        tmp_path,
        {
            "tuvl.yaml": "kind: ProjectConfig\n",
            "good.yaml": workflow("good"),
            "warning.yaml": workflow("warning").replace("Hello", "yes"),
            "error.yaml": workflow("error").replace("values", "valeus").replace("greeting", "größe"),
        },
    )


def tuvl(folder: Path, *words: str, environ: Mapping[str, str] | None = None) -> Ended:
    return subprocess.run(
        [sys.executable, "-m", "tuvl", *words],
        cwd=folder,
        env={**os.environ, **(environ or {})},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def test_clean_file_ends_with_0_and_prints_nothing_on_stdout(project: Path) -> None:
    ended = tuvl(project, "validate", "good.yaml")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "1 file checked: nothing found\n")


def test_errors_end_with_1_and_show_the_line(project: Path) -> None:
    ended = tuvl(project, "validate", "error.yaml")
    assert ended.returncode == 1
    assert ended.stdout.startswith("error.yaml:5:7: TV103 error: ")
    assert "error.yaml:8:7: TV101 error: unknown field 'valeus'" in ended.stdout
    assert (
        "\n   8 |       valeus: { größe: Hello }\n     |       ^^^^^^\n  hint: did you mean 'values'?" in ended.stdout
    )
    assert ended.stderr == "1 file checked: 2 errors\n"


def test_warnings_end_with_0_and_with_strict_with_1(project: Path) -> None:
    assert tuvl(project, "validate", "warning.yaml").returncode == 0
    ended = tuvl(project, "validate", "--strict", "warning.yaml")
    assert ended.returncode == 1
    assert ended.stderr == "1 file checked: 1 warning\n"


def test_notes_never_fail(tmp_path: Path) -> None:
    write(tmp_path, {"x.yaml": workflow().replace("greeting", "1")})
    ended = tuvl(tmp_path, "validate", "--strict", "x.yaml")
    assert "TV004 note" in ended.stdout
    assert ended.returncode == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere.yaml"], "cannot read 'nowhere.yaml': no such file or folder"),
        (["--format", "table", "good.yaml"], "it takes one of text, json, jsonl, sarif, github, junit"),
        (["--dry-run", "good.yaml"], "--dry-run is for --fix"),
        (["--format=jsn", "good.yaml"], "did you mean 'json'?"),
        (["--select", "TV9999", "good.yaml"], "there is no check 'TV9999'"),
        (["--max-cost-usd", "none", "good.yaml"], "--max-cost-usd takes a number above 0, not 'none'"),
        (["--strikt", "good.yaml"], "did you mean '--strict'?"),
        (["--project", "nowhere", "good.yaml"], "--project names 'nowhere', which is no folder"),
        (["--output", "nowhere/report.txt", "good.yaml"], "there is no folder 'nowhere'"),
        (["--output"], "needs a value"),
    ],
)
def test_misuse_ends_with_2_one_message_and_no_traceback(project: Path, words: Sequence[str], message: str) -> None:
    ended = tuvl(project, "validate", *words)
    assert ended.returncode == 2
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""


def test_nothing_to_check_ends_with_2(project: Path) -> None:
    write(project, {"other/compose.yaml": "services: {}\n"})
    assert tuvl(project, "validate", "other").returncode == 2
    assert tuvl(project, "validate", "other/compose.yaml").returncode == 2


def test_without_paths_the_project_is_checked(project: Path) -> None:
    ended = tuvl(project, "validate")
    assert ended.returncode == 1
    assert ended.stderr == "4 files checked: 2 errors, 1 warning\n"


def test_json_is_one_document_with_all_fields(project: Path) -> None:
    ended = tuvl(project, "validate", "--format", "json", "error.yaml", "good.yaml")
    report = json.loads(ended.stdout)
    assert report["summary"] == {"files": 2, "errors": 2, "warnings": 0, "notes": 0}
    assert report["findings"][1] == {
        "code": "TV101",
        "name": "unknown-field",
        "severity": "error",
        "message": "unknown field 'valeus' in step 'hello'",
        "hint": "did you mean 'values'?",
        "file": "error.yaml",
        "line": 8,
        "column": 7,
        "end_line": 8,
        "end_column": 13,
        "path": "spec.steps[0].valeus",
        "fixable": True,
    }


def test_report_goes_to_a_file_when_one_is_named(project: Path) -> None:
    ended = tuvl(project, "validate", "--output", "report.json", "--format", "json", "warning.yaml")
    assert (ended.returncode, ended.stdout) == (0, "")
    assert json.loads((project / "report.json").read_text(encoding="utf-8"))["summary"]["warnings"] == 1


def test_quiet_prints_only_what_closes_the_gate(project: Path) -> None:
    ended = tuvl(project, "validate", "--quiet")
    assert "TV101" in ended.stdout
    assert "TV007" not in ended.stdout
    assert ended.stderr == ""
    assert "TV007" in tuvl(project, "validate", "--quiet", "--strict").stdout


def test_paths_are_shown_from_where_the_command_runs(project: Path) -> None:
    (project / "sub").mkdir()
    ended = tuvl(project / "sub", "validate", "../error.yaml")
    assert ended.stdout.startswith(f"{project}/error.yaml:5:7: ")


def test_no_colour_without_a_terminal(project: Path) -> None:
    assert "\x1b" not in tuvl(project, "validate", "error.yaml", environ={"TERM": "xterm-256color"}).stdout


@pytest.mark.parametrize(("environ", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_colour_on_a_terminal_unless_it_is_not_wanted(project: Path, environ: dict[str, str], coloured: bool) -> None:
    ours, theirs = os.openpty()
    base = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    subprocess.run(
        [sys.executable, "-m", "tuvl", "validate", "error.yaml"],
        cwd=project,
        env={**base, "TERM": "xterm", **environ},
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        timeout=60,
        check=False,
    )
    os.close(theirs)
    shown = all_that_came(ours)
    assert (b"\x1b[1;31mTV103 error:\x1b[0m" in shown) is coloured
    assert (b"\x1b" in shown) is coloured


def all_that_came(terminal: int) -> bytes:
    """Read a terminal to its end, which comes as an error; what one read gives may be a part."""
    shown = b""
    with open(terminal, "rb", buffering=0) as screen, suppress(OSError):
        while piece := screen.read(4096):
            shown += piece
    return shown


def test_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    write(tmp_path, {f"w{number}.yaml": workflow(f"w{number}").replace("values", "v") for number in range(400)})
    ended = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {sys.executable} -m tuvl validate . | head -1"],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert ended.stdout.startswith("w0.yaml:5:7: TV103")
    assert "Traceback" not in ended.stderr
    assert "BrokenPipe" not in ended.stderr
    assert ended.returncode == 1


def test_locale_without_utf8_changes_nothing(project: Path) -> None:
    """M06: files are read and reports are written as UTF-8 whatever the locale says."""
    environ = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}
    ended = tuvl(project, "validate", "error.yaml", environ=environ)
    assert "größe" in ended.stdout
    assert ended.returncode == 1


def test_file_name_that_is_no_utf8_is_checked_and_shown(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/caf\xe9.yaml"
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(workflow().replace("values", "valeus"))
    ended = subprocess.run(
        [sys.executable, "-m", "tuvl", "validate", "--format", "json", b"caf\xe9.yaml"],
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert json.loads(ended.stdout)["findings"][0]["file"] == "caf\\xe9.yaml"
    assert ended.returncode == 1


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"# x\n", id="comment"),
        pytest.param(b"hello\n", id="scalar"),
        pytest.param(b"a: 1\n---\na: 2\n", id="two-documents"),
        pytest.param(b"a:\n\tb: 1\n", id="tab"),
        pytest.param(b"a: !!python/object/apply:os.system ['true']\n", id="tag"),
        pytest.param(b"a: &x [*x]\n", id="recursive-anchor"),
        pytest.param(b"? [a, b]\n: 1\n", id="list-as-key"),
        pytest.param(b"kind: Workflow\nkind: Workflow\n", id="duplicate"),
        pytest.param("kind: Workflow".encode("utf-16"), id="utf-16"),
        pytest.param(b"kind: \xff\n", id="invalid-byte"),
        pytest.param(b"kind: Workflow\nspec: " + b"[" * 500 + b"]" * 500 + b"\n", id="nested"),
        pytest.param(
            "".join(
                f"a{n}: &a{n} [{', '.join([f'*a{n - 1}' if n else 'x'] * 9)}]\n" for n in range(10)
            ).encode(),
            id="alias-bomb",
        ),
        pytest.param(b"kind: Workflow\nspec: {text: " + b"x" * (6 * 2**20) + b"}\n", id="too-large"),
    ],
)  # fmt: skip
def test_degenerate_file_is_a_message_and_no_traceback(tmp_path: Path, raw: bytes) -> None:
    """M05, M06, M09: each is told with a place, and the exit code is not 0."""
    (tmp_path / "x.yaml").write_bytes(raw)
    ended = tuvl(tmp_path, "validate", "x.yaml")
    assert ended.returncode in {1, 2}
    assert ended.stdout.startswith("x.yaml:")
    assert "Traceback" not in ended.stderr


def test_ctrl_c_ends_with_130_and_no_traceback(tmp_path: Path) -> None:
    fields = "".join(f"unknown_{number}: 1\n" for number in range(3000))
    write(tmp_path, {"x.yaml": workflow() + fields})
    process = subprocess.Popen(
        [sys.executable, "-m", "tuvl", "validate", "x.yaml"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    assert process.stdout is not None
    # The report is longer than a pipe holds: once it has begun to come, the command waits for its reader.
    assert process.stdout.read(1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "")


def test_options_are_read_in_any_order() -> None:
    words = read_words(FLAGS, ["a", "--strict", "--select", "TV1", "b", "--select=TV2", "--quiet", "--", "--c"])
    options = options_of(words)
    assert options.paths == (Path("a"), Path("b"), Path("--c"))
    assert options.select == ("TV1", "TV2")
    assert (options.strict, options.quiet, options.format) == (True, True, "text")


def test_option_given_twice_is_misuse() -> None:
    with pytest.raises(UsageError, match="twice"):
        read_words(FLAGS, ["--format", "json", "--format", "text"])
