"""`tuvl validate --changed-since REF`: what a change touches, dependants included."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.check.project_files import write
from tests.cli.cli_support import environment, tuvl
from tuvl.cli.changes import touched_since
from tuvl.project.index import ProjectIndex

AGENT = """\
kind: Workflow
metadata: { name: NAME }
spec:
  steps:
    - id: a
      kind: Agent
      mode: completion
      agent: { model: PRESET, prompt: Hi., steering: "artifact://TONE", outcome: { write: said } }
      routes: { error: END, aborted: END, timeout: END }
"""
NODES = """\
kind: Workflow
metadata: { name: NAME }
spec: { steps: [{ id: a, kind: Functional, runner: RUNNER }] }
"""
CALLS = """\
kind: Workflow
metadata: { name: calls }
spec: { steps: [{ id: a, kind: Workflow, workflow: kind_one, output_key: x }] }
"""
PRESET = "kind: AgentModel\nmetadata: { name: NAME }\nspec: { provider: openai, model: m }\n"
ARTIFACT = "---\nname: NAME\ntype: steering\n---\nBe kind.\n"
NODE = 'from tuvl import node\n@node("NAME")\ndef run(ctx): return {}\n'
FILES = {
    "tuvl.yaml": "kind: ProjectConfig\n",
    "workflows/kind.yaml": AGENT.replace("NAME", "kind_one").replace("PRESET", "big").replace("TONE", "kind"),
    "workflows/harsh.yaml": AGENT.replace("NAME", "harsh_one").replace("PRESET", "small").replace("TONE", "harsh@1"),
    "workflows/calls.yaml": CALLS,
    "workflows/counts.yaml": NODES.replace("NAME", "counts").replace("RUNNER", "count"),
    "workflows/sorts.yaml": NODES.replace("NAME", "sorts").replace("RUNNER", "sort"),
    "llms/big.yaml": PRESET.replace("NAME", "big"),
    "llms/small.yaml": PRESET.replace("NAME", "small"),
    "artifacts/kind.md": ARTIFACT.replace("NAME", "kind"),
    "artifacts/harsh.md": ARTIFACT.replace("NAME", "harsh"),
    "nodes/count.py": NODE.replace("NAME", "count"),
    "nodes/sort.py": NODE.replace("NAME", "sort"),
}


def git(folder: Path, *words: str) -> None:
    names = {f"GIT_{who}_{what}": "x@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    alone = {**environment(**names), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *words], cwd=folder, env=alone, check=True, capture_output=True, timeout=60)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project in a folder of a repository, all of it committed."""
    folder = write(tmp_path / "desk", FILES)
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "first")
    return folder


def touched(project: Path) -> set[str]:
    files = touched_since(ProjectIndex(project), "HEAD")
    return {os.path.relpath(file, project) for file in files}


def test_nothing_changed_touches_nothing(project: Path) -> None:
    assert touched(project) == set()
    ended = tuvl("validate", "--changed-since", "HEAD", cwd=project)
    assert (ended.returncode, ended.stderr) == (0, "0 files checked: nothing found\n")


@pytest.mark.parametrize(
    ("file", "dependants"),
    [
        ("artifacts/kind.md", {"workflows/kind.yaml", "workflows/calls.yaml"}),
        ("artifacts/harsh.md", {"workflows/harsh.yaml"}),
        ("llms/big.yaml", {"workflows/kind.yaml", "workflows/calls.yaml"}),
        ("nodes/count.py", {"workflows/counts.yaml"}),
        ("workflows/kind.yaml", {"workflows/calls.yaml"}),
        ("workflows/sorts.yaml", set()),
    ],
)
@pytest.mark.parametrize("change", ["edited", "deleted", "emptied"])
def test_change_touches_what_uses_it(project: Path, file: str, dependants: set[str], change: str) -> None:
    path = project / file
    if change == "edited":
        path.write_text(path.read_text(encoding="utf-8") + "\n# more\n", encoding="utf-8")
    elif change == "deleted":
        path.unlink()
    else:
        path.write_text("", encoding="utf-8")
    assert touched(project) == {file, *dependants}


def test_preset_of_agents_that_name_none_touches_them(project: Path) -> None:
    config = "kind: ProjectConfig\nmetadata: { name: p }\nspec: { default_model: big }\n"
    free = "kind: Workflow\nmetadata: { name: free }\nspec: { steps: [{ id: a, kind: Agent, mode: completion }] }\n"
    write(project, {"tuvl.yaml": config, "workflows/free.yaml": free})
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "second")
    path = project / "llms/big.yaml"
    path.write_text(path.read_text(encoding="utf-8") + "\n# more\n", encoding="utf-8")
    assert "workflows/free.yaml" in touched(project)


@pytest.mark.parametrize("mark", ["--assume-unchanged", "--skip-worktree"])
def test_file_that_git_was_told_to_take_as_unchanged_counts(project: Path, mark: str) -> None:
    git(project, "update-index", mark, "llms/big.yaml")
    assert touched(project) == set()
    path = project / "llms/big.yaml"
    path.write_text(path.read_text(encoding="utf-8") + "\n# more\n", encoding="utf-8")
    assert touched(project) == {"llms/big.yaml", "workflows/kind.yaml", "workflows/calls.yaml"}


def test_file_that_git_ignores_counts_where_the_project_uses_it(project: Path) -> None:
    write(project, {"artifacts/kind2.md": ARTIFACT.replace("NAME", "kind").replace("---\nBe", "version: 2\n---\nBe")})
    write(project, {".gitignore": "kind2.md\n.venv/\n", ".venv/workflows/x.yaml": "kind: Workflow\n"})
    assert touched(project) >= {"artifacts/kind2.md", "workflows/kind.yaml", "workflows/calls.yaml"}
    assert not [file for file in touched(project) if ".venv" in file]


def test_new_file_that_git_does_not_know_yet_counts(project: Path) -> None:
    write(project, {"artifacts/kind2.md": ARTIFACT.replace("NAME", "kind").replace("---\nBe", "version: 2\n---\nBe")})
    assert touched(project) == {"artifacts/kind2.md", "workflows/kind.yaml", "workflows/calls.yaml"}


def test_renamed_artifact_touches_who_used_the_old_name(project: Path) -> None:
    git(project, "mv", "artifacts/kind.md", "artifacts/gentle.md")
    path = project / "artifacts/gentle.md"
    path.write_text(path.read_text(encoding="utf-8").replace("name: kind", "name: gentle"), encoding="utf-8")
    assert touched(project) >= {"artifacts/gentle.md", "workflows/kind.yaml"}


@pytest.mark.parametrize("file", ["tuvl.yaml", "pyproject.toml"])
def test_configuration_touches_everything(project: Path, file: str) -> None:
    write(project, {file: "kind: ProjectConfig\nmetadata: { name: p }\n" if file == "tuvl.yaml" else "[tool.x]\n"})
    assert touched(project) >= {name for name in FILES if name.endswith((".yaml", ".md"))}


def test_findings_of_other_files_are_not_told(project: Path) -> None:
    for name in ("kind", "harsh"):
        path = project / f"workflows/{name}.yaml"
        path.write_text(path.read_text(encoding="utf-8").replace("mode:", "mood:"), encoding="utf-8")
    git(project, "commit", "-q", "-a", "-m", "second")
    (project / "artifacts/kind.md").unlink()
    ended = tuvl("validate", "--changed-since", "HEAD", "--format", "jsonl", cwd=project)
    assert ended.returncode == 1
    assert '"file":"desk/workflows/kind.yaml"' in ended.stdout
    assert "TV204" in ended.stdout
    assert "harsh" not in ended.stdout


def test_older_commits_and_branches_can_be_named(project: Path) -> None:
    write(project, {"workflows/new.yaml": NODES.replace("NAME", "new").replace("RUNNER", "sort")})
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "second")
    assert tuvl("validate", "--changed-since", "main", cwd=project).stderr.startswith("0 files")
    for ref in ("HEAD~1", "main@{1}", "HEAD^{/first}"):
        assert tuvl("validate", "--changed-since", ref, cwd=project).stderr.startswith("1 file ")


@pytest.mark.parametrize("ref", ["nowhere", "--output=x", "HEAD~9", "", "HEAD:desk"])
def test_commit_that_is_none_ends_with_2(project: Path, ref: str) -> None:
    ended = tuvl("validate", f"--changed-since={ref}", cwd=project)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert f"there is no commit {ref!r}" in ended.stderr
    assert not (project / "x").exists()


def test_folder_outside_of_a_repository_ends_with_2(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    ended = tuvl("validate", "--changed-since", "HEAD", cwd=tmp_path, environ=environment(GIT_DIR=str(tmp_path / "x")))
    assert ended.returncode == 2
    assert "is in no git repository" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_machine_without_git_ends_with_2(project: Path) -> None:
    ended = tuvl("validate", "--changed-since", "HEAD", cwd=project, environ=environment(PATH="/nowhere"))
    assert ended.returncode == 2
    assert "needs git" in ended.stderr


def test_monitors_and_external_diffs_of_the_repository_are_not_started(project: Path) -> None:
    """A repository that somebody else wrote must not run anything by being checked."""
    script = write(project, {"evil.sh": "#!/bin/sh\ntouch started\n"}) / "evil.sh"
    script.chmod(0o755)
    for name in ("core.fsmonitor", "diff.external"):
        git(project, "config", name, str(script))
    (project / "artifacts/kind.md").unlink()
    assert tuvl("validate", "--changed-since", "HEAD", cwd=project).returncode == 1
    assert list(project.parent.rglob("started")) == []


SCRIPTED = "kind: AgentModel\nmetadata: { name: NAME }\nspec: { provider: scripted, script: SCRIPT }\n"
REPLIES = "replies: [Hello.]\n"


@pytest.fixture
def scripted(tmp_path: Path) -> Path:
    """A project whose documents use files that are no documents, inside of it and beside it, some by way of links."""
    unnamed = AGENT.replace("model: PRESET, ", "").replace("NAME", "unnamed").replace("TONE", "linked")
    folder = write(
        tmp_path / "desk",
        FILES
        | {
            "llms/big.yaml": SCRIPTED.replace("NAME", "big").replace("SCRIPT", "replies.yaml"),
            "llms/replies.yaml": REPLIES,
            "llms/small.yaml": SCRIPTED.replace("NAME", "small").replace("SCRIPT", "../../shared/replies.txt"),
            "llms/default.yaml": SCRIPTED.replace("NAME", "default").replace("SCRIPT", "linked.yaml"),
            "workflows/unnamed.yaml": unnamed,
            "nodes/count.py": "from helper import add\n" + FILES["nodes/count.py"],
            "nodes/helper.py": "import deeper.inner\ndef add(): ...\n",
            "nodes/deeper/__init__.py": "",
            "nodes/deeper/inner.py": "from . import other\n",
            "nodes/deeper/other.py": "",
        },
    )
    linked = ARTIFACT.replace("NAME", "linked")
    write(tmp_path, {"shared/replies.txt": REPLIES, "shared/linked.yaml": REPLIES, "shared/linked.md": linked})
    (folder / "llms" / "linked.yaml").symlink_to("../../shared/linked.yaml")
    (folder / "artifacts" / "linked.md").symlink_to("../../shared/linked.md")
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "first")
    return folder


BIG = {"llms/big.yaml", "workflows/kind.yaml", "workflows/calls.yaml"}
USERS: dict[str, set[str]] = {
    "llms/replies.yaml": {"llms/replies.yaml"} | BIG,
    "../shared/replies.txt": {"llms/small.yaml", "workflows/harsh.yaml"},
    "../shared/linked.yaml": {"llms/linked.yaml", "llms/default.yaml", "workflows/unnamed.yaml"},
    "../shared/linked.md": {"artifacts/linked.md", "workflows/unnamed.yaml"},
    "llms/default.yaml": {"llms/default.yaml", "workflows/unnamed.yaml"},
    "nodes/helper.py": {"nodes/helper.py", "workflows/counts.yaml"},
    "nodes/deeper/inner.py": {"nodes/deeper/inner.py", "workflows/counts.yaml"},
    "nodes/deeper/other.py": {"nodes/deeper/other.py", "workflows/counts.yaml"},
}


@pytest.mark.parametrize("change", ["edited", "deleted"])
@pytest.mark.parametrize("file", USERS)
def test_change_of_any_file_that_a_document_uses_touches_the_document(scripted: Path, file: str, change: str) -> None:
    path = scripted / file
    if change == "edited":
        path.write_text(path.read_text(encoding="utf-8") + "\n# more\n", encoding="utf-8")
    else:
        path.unlink()
    assert touched(scripted) == USERS[file]


def test_project_that_is_reached_by_a_link_is_the_same(scripted: Path) -> None:
    (scripted.parent / "other").symlink_to("desk")
    write(scripted, {"llms/replies.yaml": "replies: 5\n"})
    write(scripted.parent, {"shared/replies.txt": "replies: 6\n"})
    files = touched_since(ProjectIndex(scripted.parent / "other"), "HEAD")
    found = {os.path.relpath(file, scripted.parent / "other") for file in files}
    assert found == USERS["llms/replies.yaml"] | USERS["../shared/replies.txt"]


@pytest.mark.parametrize("change", ["edited", "deleted"])
def test_script_that_can_no_longer_be_used_closes_the_gate(scripted: Path, change: str) -> None:
    script = scripted / "llms/replies.yaml"
    if change == "edited":
        script.write_text("replies: 5\n", encoding="utf-8")
    else:
        script.unlink()
    ended = tuvl("validate", "--changed-since", "HEAD", cwd=scripted)
    assert ended.returncode == 1
    assert "llms/big.yaml:3:" in ended.stdout
    assert "TV217 error" in ended.stdout
