"""`tuvl diff` on the command line: files, folders and commits; its three forms; what is wrong is said."""

import json
import os
import re
from pathlib import Path

import pytest

from tests.check.project_files import workflow, write
from tests.cli.cli_support import environment, tuvl
from tests.cli.test_changed_since import git
from tuvl.__main__ import main
from tuvl.changes.change import CODES

ROOT = Path(__file__).resolve().parents[2]
AGENT = """\
kind: Workflow
metadata: { name: triage }
spec:
  steps:
    - id: triage
      kind: Agent
      mode: autonomous
      agent:
        { model: small, steering: "artifact://tone@1", max_iterations: 4, tools: [{ ref: look, description: Look. }] }
      routes: { max_iterations: END, error: END, aborted: END }
    - { id: look, kind: Functional, runner: set, values: { x: 1 } }
"""
PRESET = "kind: AgentModel\nmetadata: { name: small }\nspec: { provider: openai, model: m, max_tokens: 9 }\n"
FILES = {
    "tuvl.yaml": "kind: ProjectConfig\n",
    "workflows/triage.yaml": AGENT,
    "workflows/greet.yaml": workflow(),
    "llms/small.yaml": PRESET,
    "artifacts/tone.md": "---\nname: tone\ntype: steering\n---\nBe kind.\n",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in a folder of a repository, committed; the working directory."""
    folder = write(tmp_path / "desk", FILES)
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "first")
    monkeypatch.chdir(folder)
    return folder


def edit(project: Path, file: str, text: str, other: str) -> None:
    assert text in FILES[file]
    write(project, {file: FILES[file].replace(text, other)})


def printed(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["diff", *words])
    out, err = capfd.readouterr()
    return code, out, err


def codes(capfd: pytest.CaptureFixture[str], *words: str) -> list[str]:
    _, out, _ = printed(capfd, *words, "--format", "json")
    return [change["code"] for change in json.loads(out)["changes"]]


def test_without_a_change_it_says_so(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert printed(capfd, ".", ".") == (0, "no change\n", "")
    assert printed(capfd, "git:HEAD", ".") == (0, "no change\n", "")
    assert printed(capfd, "git:HEAD", "git:HEAD") == (0, "no change\n", "")


def test_prompt_and_price_are_told_for_the_file_of_a_workflow_that_uses_them(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    edit(project, "artifacts/tone.md", "kind", "curt")
    edit(project, "llms/small.yaml", "max_tokens: 9", "max_tokens: 90")
    code, out, _ = printed(capfd, "git:HEAD", "workflows/triage.yaml")
    assert code == 1
    assert "artifacts/tone.md:5:1: steering-changed: text of 'tone': Be kind. → Be curt. [triage]" in out
    assert "llms/small.yaml:3:49: bound-raised: max_tokens raised: 9 → 90 [triage]" in out
    assert printed(capfd, "git:HEAD", "workflows/greet.yaml")[:2] == (0, "no change\n")


def test_behaviour_alone_ends_with_0(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    edit(project, "artifacts/tone.md", "kind", "curt")
    assert printed(capfd, "git:HEAD", ".")[0] == 0


def test_commits_are_read_without_touching_the_work_tree(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    edit(project, "workflows/triage.yaml", "max_iterations: 4", "max_iterations: 5")
    git(project, "commit", "-q", "-a", "-m", "second")
    before = sorted((path, path.stat().st_mtime_ns) for path in project.rglob("*"))
    assert codes(capfd, "git:HEAD~1", "git:HEAD") == ["bound-raised"]
    assert codes(capfd, "git:HEAD~1:desk/workflows/triage.yaml", "git:HEAD:./workflows/triage.yaml") == ["bound-raised"]
    assert codes(capfd, "git:HEAD~1:desk/workflows", "git:HEAD:desk/workflows") == ["bound-raised"]
    assert codes(capfd, "git:HEAD", "git:HEAD~1") == ["bound-lowered"]
    assert sorted((path, path.stat().st_mtime_ns) for path in project.rglob("*")) == before


def test_places_of_a_commit_are_named_as_git_names_them(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (project / "workflows/greet.yaml").unlink()
    _, out, _ = printed(capfd, "git:HEAD", ".")
    assert "HEAD:desk/workflows/greet.yaml:2:19: workflow-removed: workflow 'greet' is gone" in out
    assert "tuvl-diff-" not in out


def test_links_that_lead_out_and_submodules_are_left_out(
    project: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    secret = tmp_path.parent / f"{tmp_path.name}-outside"
    write(secret, {"w.yaml": workflow("outside")})
    os.symlink(secret, project / "workflows" / "out")
    os.symlink("../artifacts", project / "workflows" / "in")
    os.symlink("../../../../../../../../../../etc", project / "workflows" / "far")
    git(project, "-c", "protocol.file.allow=always", "add", "-A")
    git(project, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},desk/module")
    git(project, "commit", "-q", "-m", "links")
    code, out, err = printed(capfd, "git:HEAD~1", "git:HEAD")
    assert (code, out, err) == (0, "no change\n", "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nowhere.yaml", "."), "there is no file or folder 'nowhere.yaml'"),
        (("git:nothing", "."), "git:nothing: there is no commit 'nothing'"),
        (("git:", "."), "names no commit"),
        (("git:--help", "."), "there is no commit '--help'"),
        (("git:HEAD:no/such.yaml", "workflows/triage.yaml"), "there is no 'no/such.yaml' in that commit"),
        (("git:HEAD:../../x", "."), "leads out of the repository"),
        (("workflows/triage.yaml", "."), "is a file and '.' a folder"),
        (("empty.yaml", "empty.yaml"), "'empty.yaml' holds no document of tuvl"),
        (("broken.yaml", "workflows/triage.yaml"), "'broken.yaml' cannot be read as YAML"),
        (("bare", "."), "'bare' holds no document"),
        (("git:HEAD", ".", "--output", "workflows"), "--output names 'workflows', which is a folder"),
        (("git:HEAD", ".", "--format", "yaml"), "--format does not take 'yaml'"),
        (("git:HEAD", "new.yaml"), "there is no 'desk/new.yaml' in that commit"),
    ],
)
def test_what_cannot_be_read_is_said(
    project: Path, capfd: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    write(project, {"empty.yaml": "", "broken.yaml": "kind: [", "bare/x.txt": "", "new.yaml": workflow("new")})
    code, out, err = printed(capfd, *words)
    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


def test_folder_without_a_repository_is_said(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    ended = tuvl(
        "diff", "git:HEAD", ".", cwd=tmp_path, environ=environment(GIT_CEILING_DIRECTORIES=str(tmp_path.parent))
    )
    assert ended.returncode == 2
    assert "is in no git repository" in ended.stderr


def test_machine_without_git_is_said(project: Path) -> None:
    ended = tuvl("diff", "git:HEAD", ".", cwd=project, environ=environment(PATH="/nowhere"))
    assert ended.returncode == 2
    assert "needs git" in ended.stderr


def test_files_with_errors_are_compared_as_far_as_they_can_be_read(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    edit(project, "workflows/triage.yaml", "max_iterations: 4", "max_iterations: 5, max_iteratons: 1")
    code, out, err = printed(capfd, "git:HEAD", ".")
    assert code == 1
    assert "bound-raised" in out
    assert "field-unknown: step 'triage': max_iteratons: 1" in out
    assert err.startswith("tuvl diff: workflows/triage.yaml has 1 error, and was compared as far as it can be read")


def test_file_that_cannot_be_read_is_no_file_that_is_gone(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    broken = AGENT.replace("    - id: triage", "      - id: triage").replace("  steps:", "  steps: [")
    write(project, {"workflows/triage.yaml": broken})
    code, out, err = printed(capfd, "git:HEAD", ".")
    assert (code, out) == (2, "no change that could be read; 1 file that changed could not be read\n")
    assert err.startswith("tuvl diff: workflows/triage.yaml cannot be read (line ")
    assert "what changed in it was not compared" in err


def test_names_of_files_do_not_end_the_line_in_which_they_are_told(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A log obeys lines that begin with `::`, and the names are those of whoever sends the change."""
    write(
        project,
        {
            "nodes/n\n::error::n.py": "def (",
            "workflows/a\n::error::a.yaml": AGENT.replace("name: triage", "name: other").replace(
                "kind: Agent", "kind: Agen"
            ),
            "workflows/b\n::error::b.yaml": "kind: Workflow\n  - [",
        },
    )
    _, out, err = printed(capfd, "git:HEAD", ".")
    assert err.count("::error::") >= 3
    assert not [line for line in (*out.splitlines(), *err.splitlines()) if line.startswith("::")]


def test_two_files_that_cannot_be_read_are_never_no_change(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(project, {"workflows/triage.yaml": f"{AGENT}\n  - ["})
    git(project, "commit", "-q", "-a", "-m", "broken")
    code, out, err = printed(capfd, "git:HEAD", ".")
    assert (code, out) == (0, "no change\n")
    assert "it is the same in both states" in err
    write(project, {"workflows/triage.yaml": f"{AGENT.replace('4', '9')}\n  - ["})
    code, raw, err = printed(capfd, "git:HEAD", ".", "--format", "json")
    document = json.loads(raw)
    assert (code, document["passed"], [each["side"] for each in document["unread"]]) == (2, False, ["old", "new"])


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("llms/small.yaml", f"{PRESET}\n  - ["),
        ("artifacts/tone.md", "---\nname: tone\ntype: [\n---\nBe kind.\n"),
        ("nodes/n.py", "@node('set')\ndef f(:\n"),
    ],
)
def test_what_a_file_refers_to_and_cannot_be_read_ends_with_2(
    project: Path, capfd: pytest.CaptureFixture[str], file: str, text: str
) -> None:
    write(project, {file: text})
    code, _, err = printed(capfd, "git:HEAD", "workflows/triage.yaml")
    assert code == 2
    assert f"{file} cannot be read" in err
    assert printed(capfd, "git:HEAD", "workflows/greet.yaml")[0] == (2 if file.endswith(".py") else 0)


def test_configuration_that_cannot_be_read_ends_with_2(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(project, {"tuvl.yaml": "kind: ["})
    code, _, err = printed(capfd, "git:HEAD", ".")
    assert code == 2
    assert "tuvl.yaml" in err
    assert "was not compared" in err


def test_three_forms_say_the_same_in_the_same_order(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    edit(project, "workflows/triage.yaml", "max_iterations: 4", "max_iterations: 5")
    edit(project, "artifacts/tone.md", "kind", "curt")
    _, text, _ = printed(capfd, "git:HEAD", ".")
    _, raw, _ = printed(capfd, "git:HEAD", ".", "--format", "json")
    _, page, _ = printed(capfd, "git:HEAD", ".", "--format", "markdown")
    document = json.loads(raw)
    told = [change["code"] for change in document["changes"]]
    assert told == re.findall(r"^  \S+ ([a-z-]+):", text, re.MULTILINE) == re.findall(r"<sub>([a-z-]+)", page)
    assert document["passed"] is False
    assert document["summary"]["widens_authority"] == 1
    assert document["bounds"][0]["before"]["proved"]["model_calls"]["value"] == 4
    assert document["bounds"][0]["after"]["proved"]["model_calls"]["value"] == 5
    assert "| triage | proved | 4 → <b>5</b> |" in page
    assert '(["~ triage<br/>Agent"])' in page


def test_text_of_a_file_stays_text_in_markdown(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    evil = "<img src=x> @everyone | `</code>` **b** [x](http://x.example)"
    edit(project, "workflows/triage.yaml", "description: Look.", f"description: '{evil}'")
    _, page, _ = printed(capfd, "git:HEAD", ".", "--format", "markdown")
    table = page[: page.index("```mermaid")]
    assert not re.search(r"<img|@|\]\(|\*\*|`", table)
    rows = [line for line in table.splitlines() if "tool-described" in line]
    assert [line.count("|") for line in rows] == [4]


@pytest.mark.parametrize("most", [2000, 9000, 65_000])
def test_markdown_is_no_longer_than_asked_and_says_what_is_left_out(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], most: int
) -> None:
    files = {f"w{number}.yaml": AGENT.replace("name: triage", f"name: t{number}") for number in range(120)}
    old = write(tmp_path / "old", {**FILES, **files})
    new = write(tmp_path / "new", {**FILES, **{name: text.replace("4", "9") for name, text in files.items()}})
    words = (str(old), str(new), "--format", "markdown", "--max-characters", str(most))
    code, page, _ = printed(capfd, *words)
    assert code == 1
    assert len(page) <= most
    assert "left out" in page
    assert page.count("<details>") == page.count("</details>")
    assert page.count("```") % 2 == 0


def test_renamed_workflow_of_two_files_is_compared_all_the_same(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    renamed = AGENT.replace("name: triage", "name: sort").replace("max_iterations: 4", "max_iterations: 9")
    write(project, {"other.yaml": renamed})
    found = codes(capfd, "workflows/triage.yaml", "other.yaml")
    assert sorted(found) == ["bound-raised", "workflow-renamed"]


def test_page_lists_every_code() -> None:
    text = (ROOT / "docs" / "diff.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([a-z-]+)` \| ([a-z ]+) \| (.+) \|$", text, re.MULTILINE)
    assert listed == [(name, code.cls.value, code.says) for name, code in CODES.items()]
