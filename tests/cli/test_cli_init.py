"""`tuvl init`, and the projects it lays down."""

import ast
import json
import shlex
from pathlib import Path

import pytest

from tests.cli.cli_support import result, tuvl
from tuvl.__main__ import main
from tuvl.cli.init import TEMPLATES, Template, template_files


@pytest.fixture(params=TEMPLATES, ids=lambda template: template.name)
def template(request: pytest.FixtureRequest) -> Template:
    chosen = request.param
    assert isinstance(chosen, Template)
    return chosen


def test_project_validates_strictly_and_runs_offline_at_once(template: Template, tmp_path: Path) -> None:
    made = tuvl("init", "fresh", "--template", template.name, cwd=tmp_path)
    assert (made.returncode, made.stdout) == (0, "")
    folder = tmp_path / "fresh"
    checked = tuvl("validate", "--strict", "--format", "json", cwd=folder)
    assert json.loads(checked.stdout)["findings"] == []
    assert checked.returncode == 0
    tested = tuvl("test", cwd=folder)
    assert tested.returncode == 0, tested.stdout
    run = tuvl("run", template.workflow, "--input", template.input, cwd=folder)
    assert run.returncode == 0, run.stderr
    assert result(run)["status"] == "completed"
    assert result(run)["error"] is None


def test_support_project_answers_with_what_its_tools_found(tmp_path: Path) -> None:
    tuvl("init", "--template", "support", cwd=tmp_path)
    document = result(tuvl("run", "answer_question", "--input", "inputs/where_is_it.yaml", "--trace", cwd=tmp_path))
    assert document["output"]["handled_by"] == "assistant"
    assert "desk lamp" in document["output"]["message"]
    assert document["usage"]["tool_calls"] == 2
    assert "2025-03-06" in json.dumps(document["trace"])


def test_data_project_takes_only_suggestions_that_its_rules_know(tmp_path: Path) -> None:
    tuvl("init", "--template", "data", cwd=tmp_path)
    output = result(tuvl("run", "clean_contacts", "--input", "inputs/contacts.json", cwd=tmp_path))["output"]
    assert [(row["row"], row["country"]) for row in output["clean"]] == [(1, "DE"), (2, "FR"), (3, "PL")]
    assert [row["row"] for row in output["unclear"]] == [4, 5]


def test_data_project_asks_no_model_when_nothing_is_unclear(tmp_path: Path) -> None:
    tuvl("init", "--template", "data", cwd=tmp_path)
    row = {"name": "Ada", "email": "a@example.com", "country": "DE"}
    document = result(tuvl("run", "clean_contacts", "--set", f"rows=[{json.dumps(row)}]", cwd=tmp_path))
    assert document["usage"]["llm_calls"] == 0
    assert [step["id"] for step in document["steps"]] == ["normalize", "any_unclear", "report"]


def test_next_steps_are_the_commands_that_work(
    template: Template, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", "here/there", "--template", template.name]) == 0
    err = capfd.readouterr().err
    assert "  cd here/there\n" in err
    assert f"  tuvl run {template.workflow} --input {template.input}\n" in err
    assert all(f"  {name}\n" in err for name in template_files(template))


def test_next_steps_can_be_pasted_whatever_the_folder_is_called(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", "my dir; it's"]) == 0
    (line,) = (line for line in capfd.readouterr().err.splitlines() if line.strip().startswith("cd "))
    assert shlex.split(line) == ["cd", "my dir; it's"]


def test_existing_files_are_named_and_nothing_is_written(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tuvl.yaml").write_text("mine", encoding="utf-8")
    (tmp_path / "llms").mkdir()
    (tmp_path / "llms" / "default.yaml").symlink_to("nowhere")
    assert main(["init", str(tmp_path)]) == 2
    err = capfd.readouterr().err
    assert f"  {tmp_path / 'tuvl.yaml'}\n" in err
    assert f"  {tmp_path / 'llms' / 'default.yaml'}\n" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["llms", "tuvl.yaml"]
    assert (tmp_path / "tuvl.yaml").read_text(encoding="utf-8") == "mine"


def test_other_files_of_a_folder_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine", encoding="utf-8")
    assert main(["init", str(tmp_path), "--template", "minimal"]) == 0
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "mine"
    assert (tmp_path / "tuvl.yaml").is_file()


def test_folder_that_cannot_be_made_is_one_message(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert main(["init", str(tmp_path / "file" / "inside")]) == 2
    err = capfd.readouterr().err
    assert "cannot write" in err
    assert "Traceback" not in err


def test_python_of_templates_compiles_and_says_its_duty(template: Template) -> None:
    for name, content in template_files(template).items():
        if name.endswith(".py"):
            assert ast.get_docstring(ast.parse(content.decode())), name


def test_template_files_carry_no_path_that_leaves_the_project(template: Template) -> None:
    assert all(not name.startswith(("/", "..")) and not name.endswith(".txt") for name in template_files(template))
