"""`tuvl validate --fix`: mends what is certain, and nothing else."""

import errno
import json
import os
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.check.project_files import workflow, write
from tests.cli.cli_support import command, environment, tuvl
from tuvl.check.finding import Report
from tuvl.check.runner import check_paths
from tuvl.cli.fixing import Fixed, fix
from tuvl.cli.validate import main
from tuvl.files import write_whole

MISSPELT = """\
kind: Workflow   # a comment
metadata: { name: greet }

spec:
    steps:
    -   id: hello_there
        kind: Functional
        runnr:   set      # keep this
        "values": { greeting: 'Hello', 1: x }
        routes: { default: good_bey }
    -   { id: good_bye, kind: Functional, runner: set, values: { a: 1 }, routes: { defualt: END } }
"""
MENDED = (
    MISSPELT.replace("runnr", "runner")
    .replace(" 1: x", ' "1": x')
    .replace("good_bey", "good_bye")
    .replace("defualt", "default")
)


def project(folder: Path, text: str = MISSPELT) -> Path:
    return write(folder, {"tuvl.yaml": "kind: ProjectConfig\n", "w.yaml": text})


def test_certain_mistakes_are_mended_and_all_else_stays(tmp_path: Path) -> None:
    project(tmp_path)
    ended = tuvl("validate", "--fix", cwd=tmp_path)
    assert (tmp_path / "w.yaml").read_text(encoding="utf-8") == MENDED
    assert ended.returncode == 0
    assert "--- w.yaml\n+++ w.yaml\n" in ended.stdout
    assert "\n-        runnr:   set      # keep this\n" in ended.stdout
    assert "\n+        runner:   set      # keep this\n" in ended.stdout
    assert ended.stderr == "4 findings mended in 1 file\n2 files checked: nothing found\n"


def test_line_endings_and_rights_of_the_file_stay(tmp_path: Path) -> None:
    path = project(tmp_path) / "w.yaml"
    path.write_bytes(MISSPELT.replace("\n", "\r\n").encode())
    path.chmod(0o640)
    assert tuvl("validate", "--fix", cwd=tmp_path).returncode == 0
    assert path.read_bytes() == MENDED.replace("\n", "\r\n").encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_dry_run_shows_the_same_diff_writes_nothing_and_reports_the_files_as_they_are(tmp_path: Path) -> None:
    project(tmp_path)
    found = tuvl("validate", cwd=tmp_path)
    shown = tuvl("validate", "--fix", "--dry-run", cwd=tmp_path)
    assert (tmp_path / "w.yaml").read_text(encoding="utf-8") == MISSPELT
    assert shown.returncode == found.returncode == 1
    assert shown.stderr == f"4 findings can be mended in 1 file\n{found.stderr}"
    assert shown.stdout == tuvl("validate", "--fix", cwd=tmp_path).stdout + found.stdout


def test_what_could_not_be_written_is_still_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    write(project(tmp_path), {"v.yaml": MISSPELT.replace("name: greet", "name: other")})

    def on_a_disk_that_takes_only_one(path: Path, text: str, *, within: Path) -> None:
        if path.name == "w.yaml":
            raise OSError(errno.EROFS, "Read-only file system")
        write_whole(path, text, within=within)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tuvl.cli.fixing.write_whole", on_a_disk_that_takes_only_one)
    monkeypatch.setattr("tuvl.cli.validate.gc.set_threshold", lambda *thresholds: None)
    assert main(["--fix", "--format", "json"]) == 2
    ended = capfd.readouterr()
    assert "cannot write 'w.yaml' (Read-only file system); it is not mended" in ended.err
    assert "\n4 findings mended in 1 file\n4 findings can be mended in 1 file\n" in ended.err
    assert {finding["file"] for finding in json.loads(ended.out)["findings"]} == {"w.yaml"}
    assert main(["--format", "json"]) == 1
    assert capfd.readouterr().out == ended.out


def test_diff_that_stdout_does_not_take_is_told_as_any_other_output(tmp_path: Path) -> None:
    project(tmp_path)
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(
            command("validate", "--fix"), cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, env=environment()
        )
    assert ended.returncode == 1
    assert (tmp_path / "w.yaml").read_text(encoding="utf-8") == MENDED


def test_second_run_has_nothing_to_do(tmp_path: Path) -> None:
    project(tmp_path)
    tuvl("validate", "--fix", cwd=tmp_path)
    again = tuvl("validate", "--fix", cwd=tmp_path)
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "2 files checked: nothing found\n")


def test_what_is_left_decides_the_exit_code(tmp_path: Path) -> None:
    project(tmp_path, MISSPELT.replace("good_bey", "nowhere"))
    ended = tuvl("validate", "--fix", cwd=tmp_path)
    assert ended.returncode == 1
    assert "TV201 error" in ended.stdout
    assert "TV101" not in ended.stdout


def test_json_on_stdout_stays_json(tmp_path: Path) -> None:
    project(tmp_path)
    ended = tuvl("validate", "--fix", "--format", "json", cwd=tmp_path)
    assert json.loads(ended.stdout)["findings"] == []
    assert "+++ w.yaml" in ended.stderr


def test_only_selected_checks_are_mended(tmp_path: Path) -> None:
    project(tmp_path)
    tuvl("validate", "--fix", "--select", "TV101", cwd=tmp_path)
    assert (tmp_path / "w.yaml").read_text(encoding="utf-8") == MISSPELT.replace("runnr", "runner")


@pytest.mark.parametrize(
    "text",
    [
        MISSPELT + "   broken: [\n",
        MISSPELT.replace("kind: Functional\n", "kind: Functional\n        kind: Functional\n"),
        # Either could be meant, or the field is there already, or it belongs elsewhere.
        workflow().replace("kind: Functional", "kind: Functional\n      hook: []\n      hoks: []\n      hooks: []"),
        workflow().replace("  steps", "  max_iterations: 3\n  steps"),
    ],
)
def test_broken_and_doubtful_files_are_not_touched(tmp_path: Path, text: str) -> None:
    project(tmp_path, text)
    assert tuvl("validate", "--fix", cwd=tmp_path).returncode == 1
    assert (tmp_path / "w.yaml").read_text(encoding="utf-8") == text


def test_reference_to_a_misspelt_artifact_keeps_its_version(tmp_path: Path) -> None:
    artifact = "---\nname: reply-tone\ntype: steering\n---\nBe kind.\n"
    agent = """\
kind: Workflow
metadata: { name: w }
spec:
  steps:
    - id: a
      kind: Agent
      mode: completion
      agent: { model: openai/m, prompt: Say hello., steering: "artifact://reply-tonne@1", outcome: { write: said } }
      routes: { error: END, aborted: END, timeout: END }
"""
    write(tmp_path, {"tuvl.yaml": "kind: ProjectConfig\n", "w.yaml": agent, "artifacts/tone.md": artifact})
    tuvl("validate", "--fix", "--select", "TV204", cwd=tmp_path)
    assert '"artifact://reply-tone@1"' in (tmp_path / "w.yaml").read_text(encoding="utf-8")


def test_reference_without_a_version_is_pinned_to_the_highest(tmp_path: Path) -> None:
    artifact = "---\nname: tone\ntype: steering\nversion: VERSION\n---\nBe kind.\n"
    agent = """\
kind: Workflow
metadata: { name: w }
spec:
  steps:
    - id: a
      kind: Agent
      mode: completion
      agent: { model: openai/m, prompt: Say hello., steering: artifact://tone, outcome: { write: said } }  # kind
      routes: { error: END, aborted: END, timeout: END }
"""
    versions = {f"artifacts/tone{number}.md": artifact.replace("VERSION", number) for number in ("1", "2")}
    write(tmp_path, {"tuvl.yaml": "kind: ProjectConfig\n", "w.yaml": agent, **versions})
    tuvl("validate", "--fix", "--select", "TV801", cwd=tmp_path)
    assert (tmp_path / "w.yaml").read_text(encoding="utf-8") == agent.replace("//tone,", "//tone@2,")


def test_fixable_is_said_of_exactly_what_is_mended(tmp_path: Path) -> None:
    project(tmp_path)
    findings = json.loads(tuvl("validate", "--format", "json", cwd=tmp_path).stdout)["findings"]
    assert sorted(one["code"] for one in findings if one["fixable"]) == ["TV004", "TV101", "TV201", "TV303"]


FIELDS = ("id", "kind", "runner", "values", "routes", "description", "hooks", "enabled")


def slips(word: str) -> st.SearchStrategy[str]:
    """A word with one slip: a letter left out, doubled or swapped with the next."""
    at = st.integers(0, len(word) - 2)
    return at.flatmap(
        lambda i: st.sampled_from(
            [
                word[:i] + word[i + 1 :],
                word[:i] + word[i] + word[i:],
                word[:i] + word[i + 1] + word[i] + word[i + 2 :],
                word,
            ]
        )
    )


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_mending_twice_is_mending_once(tmp_path: Path, data: st.DataObject) -> None:
    text = workflow()
    for word in ("metadata", "steps", "kind", "runner", "values"):
        text = text.replace(f"{word}:", f"{data.draw(slips(word))}:", 1) if word != "kind" else text
    project(tmp_path, text)
    path = tmp_path / "w.yaml"

    def mend(now: bytes) -> Fixed:
        path.write_bytes(now)

        def check(stand_ins: Mapping[Path, bytes]) -> Report:
            return check_paths([tmp_path], project=tmp_path, stand_ins=stand_ins)

        return fix(check, Path)

    first = mend(text.encode())
    after = first.files[path][1] if first.files else text.encode()
    assert mend(after).files == {}
    assert path.read_bytes() == after


def test_file_whose_name_is_no_text_is_mended_and_named_without_what_a_terminal_obeys(tmp_path: Path) -> None:
    project(tmp_path, MENDED)
    name = os.fsdecode(b"b\xff\x1b[31m.yaml")
    (tmp_path / name).write_text(MISSPELT.replace("name: greet", "name: other"), encoding="utf-8")
    ended = tuvl("validate", "--fix", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / name).read_text(encoding="utf-8") == MENDED.replace("name: greet", "name: other")
    assert "--- b\\xff\\x1b[31m.yaml\n" in ended.stdout
    assert "\x1b" not in ended.stdout + ended.stderr
