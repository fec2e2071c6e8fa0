"""A project whose configuration cannot be used runs nothing: a policy that is not read must not be taken for none."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.check.project_files import said, workflow, write
from tuvl.__main__ import main
from tuvl.check.runner import check_document, check_paths
from tuvl.errors import ConfigError
from tuvl.plan.compile import compile_workflow
from tuvl.project.index import ProjectIndex

POLICY = "kind: ProjectConfig\nspec: { policy: { allow_models: [openai/*] } }\n"


def text(words: str) -> Callable[[Path], object]:
    return lambda root: (root / "tuvl.yaml").write_text(words, encoding="utf-8")


def elsewhere(root: Path) -> None:
    write(root, {"tuvl.yaml": "kind: ProjectConfig\n", "settings/policy.yaml": POLICY})


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "no YAML": (text("kind: ProjectConfig\nspec: { policy: {\n"), "tuvl.yaml:2 TV001"),
    "kind misspelt": (text(POLICY.replace("ProjectConfig", "ProjectConfg")), "tuvl.yaml:1 TV104"),
    "kind of nothing": (text(POLICY.replace("ProjectConfig", "Settings")), "tuvl.yaml:1 TV215"),
    "kind missing": (text(POLICY.replace("kind: ProjectConfig\n", "")), "tuvl.yaml:1 TV215"),
    "empty": (text(""), "tuvl.yaml:1 TV215"),
    "bytes": (lambda root: (root / "tuvl.yaml").write_bytes(POLICY.encode() + b"# \xff\n"), "tuvl.yaml:3 TV003"),
    "dangling link": (lambda root: os.symlink("gone.yaml", root / "tuvl.yaml"), "tuvl.yaml:1 TV215"),
    "folder": (lambda root: (root / "tuvl.yaml").mkdir(), "tuvl.yaml:1 TV215"),
    "pipe": (lambda root: os.mkfifo(root / "tuvl.yaml"), "tuvl.yaml:1 TV215"),
    "tuvl.yml": (lambda root: (root / "tuvl.yml").write_text(POLICY), "tuvl.yml:1 TV215"),
    "field misspelt": (text(POLICY.replace("policy", "polcy")), "tuvl.yaml:2 TV101"),
    "wrong type": (text(POLICY.replace("[openai/*]", "7")), "tuvl.yaml:2 TV102"),
    "two in one file": (text(f"kind: ProjectConfig\n---\n{POLICY}"), "tuvl.yaml:3 TV215"),
    "switched off": (text(POLICY.replace("spec:", "enabled: false\nspec:")), "tuvl.yaml:2 TV215"),
    "one elsewhere": (elsewhere, "settings/policy.yaml:1 TV215"),
    "broken second document": (text(POLICY + "---\na: [\n"), "tuvl.yaml:4 TV001"),
}


@pytest.fixture(params=BROKEN.values(), ids=BROKEN)
def broken(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A project with a sound workflow and a configuration that cannot be used; where and how that is told."""
    break_it, told = request.param
    write(tmp_path, {"flows/deep/greet.yaml": workflow()})
    break_it(tmp_path)
    monkeypatch.chdir(tmp_path)
    return str(told)


@pytest.mark.parametrize("path", ["flows/deep/greet.yaml", "flows", "."])
def test_whatever_is_validated_tells_of_a_broken_configuration(broken: str, path: str) -> None:
    report = check_paths([Path(path)])
    assert broken in said(report)
    assert report.failed()


def test_no_run_begins_in_a_project_with_a_broken_configuration(broken: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "flows/deep/greet.yaml"]) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert broken.replace(" ", ":").split(":")[0] in err
    assert broken.split()[1] in err


def test_no_workflow_compiles_in_a_project_with_a_broken_configuration(broken: str) -> None:
    project = ProjectIndex(Path())
    document = project.workflow("greet")
    assert document is not None
    assert broken in [f"{one.file}:{one.line} {one.code}" for one in check_document(document, project)]
    with pytest.raises(ConfigError):
        compile_workflow(document, project)


def test_misplaced_configuration_names_both_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"w.yaml": workflow()})
    elsewhere(tmp_path)
    (finding,) = check_paths([Path("w.yaml")]).findings
    assert (finding.file, finding.line) == ("settings/policy.yaml", 1)
    assert "there is one in tuvl.yaml:1" in finding.message


@pytest.mark.parametrize("beside", [False, True])
def test_file_named_tuvl_yml_is_told_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beside: bool) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"w.yaml": workflow(), "tuvl.yml": POLICY})
    if beside:
        write(tmp_path, {"tuvl.yaml": POLICY})
    (finding,) = check_paths([Path("w.yaml")]).findings
    assert finding.hint is not None
    assert ("move its settings" if beside else "rename it to tuvl.yaml") in finding.hint


def test_sound_configuration_is_checked_but_not_counted_with_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"w.yaml": workflow(), "tuvl.yaml": POLICY})
    report = check_paths([Path("w.yaml")])
    assert (said(report), report.files) == ([], 1)


def test_configuration_that_is_switched_off_elsewhere_is_no_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"w.yaml": workflow(), "tuvl.yaml": POLICY, "old.yaml": f"enabled: false\n{POLICY}"})
    assert said(check_paths([Path("w.yaml")])) == []
