"""The documents of a project: read when asked for, found by kind and name."""

from pathlib import Path

import pytest

from tuvl.project.index import ProjectIndex


def make(root: Path, **files: str) -> ProjectIndex:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_yaml", ".yaml").replace("_md", ".md").replace("_py", ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return ProjectIndex(root)


def workflow(name: str, extra: str = "") -> str:
    return f"kind: Workflow\n{extra}metadata: {{ name: {name} }}\nspec: {{ steps: [] }}\n"


def prose(name: str, version: int, extra: str = "") -> str:
    return f"---\nname: {name}\ntype: prompt\nversion: {version}\n{extra}---\nBody {version}.\n"


def parsed(index: ProjectIndex) -> set[str]:
    return {path.name for path in index._loaded}


def test_documents_are_found_by_kind_and_not_by_folder(tmp_path: Path) -> None:
    index = make(tmp_path, anywhere__x_yaml=workflow("one"), llms__y_yaml=workflow("two"))
    assert [document.kind for document in index.documents("Workflow")] == ["Workflow", "Workflow"]
    assert index.workflow("two") is not None
    assert index.workflow("three") is None


def test_one_file_may_hold_several_documents(tmp_path: Path) -> None:
    index = make(tmp_path, x_yaml=workflow("one") + "---\n" + workflow("two"))
    assert sorted(index.named("Workflow")) == ["one", "two"]


def test_documents_that_are_switched_off_are_not_found(tmp_path: Path) -> None:
    index = make(tmp_path, x_yaml=workflow("one", "enabled: false\n"))
    assert index.documents("Workflow") == ()
    assert index.workflow("one") is None


def test_looking_up_one_name_does_not_parse_the_other_workflows(tmp_path: Path) -> None:
    index = make(tmp_path, a_yaml=workflow("alpha"), b_yaml=workflow("beta"), c_yaml=workflow("gamma"))
    assert index.workflow("beta") is not None
    assert parsed(index) == {"b.yaml"}


def test_name_that_is_written_with_an_escape_is_found_all_the_same(tmp_path: Path) -> None:
    index = make(tmp_path, a_yaml=workflow('"b\\u0065ta"'))
    assert index.workflow("beta") is not None


def test_asking_for_presets_does_not_parse_workflows(tmp_path: Path) -> None:
    preset = "kind: AgentModel\nmetadata: { name: fast }\nspec: { provider: openai, model: m }\n"
    index = make(tmp_path, llms__fast_yaml=preset, workflows__w_yaml=workflow("one"))
    assert list(index.presets) == ["fast"]
    assert index.preset("slow") is None
    assert parsed(index) == {"fast.yaml"}


def test_reference_without_version_means_the_highest_enabled_one(tmp_path: Path) -> None:
    index = make(
        tmp_path,
        artifacts__a_md=prose("greeting", 1),
        artifacts__deep__b_md=prose("greeting", 10),
        artifacts__c_md=prose("greeting", 11, "enabled: false\n"),
    )
    found = index.resolve("artifact://greeting")
    assert found is not None
    assert (found.version, found.body, found.type) == (10, "Body 10.\n", "prompt")
    assert found.body_line == 6
    assert [view.version for view in index.artifacts["greeting"]] == [1, 10, 11]
    assert index.resolve("artifact://greeting@1") is not None
    assert index.resolve("artifact://greeting@2") is None
    assert index.resolve("artifact://greeting@11") is None
    assert index.resolve("artifact://other") is None


def test_structured_artifact_is_found_by_its_reference(tmp_path: Path) -> None:
    text = "kind: Artifact\nmetadata: { name: short, version: 3 }\nspec: { type: guardrail, checks: [] }\n"
    found = make(tmp_path, artifacts__g_yaml=text).resolve("artifact://short@3")
    assert found is not None
    assert (found.type, found.body, found.data["checks"]) == ("guardrail", None, [])


def test_project_file_may_call_the_folders_otherwise(tmp_path: Path) -> None:
    config = "kind: ProjectConfig\nspec: { folders: { artifacts: prose, nodes: python } }\n"
    node = 'from tuvl import node\n@node("double")\ndef double(ctx): ...\n'
    index = make(tmp_path, tuvl_yaml=config, prose__a_md=prose("greeting", 1), python__n_py=node)
    assert index.resolve("artifact://greeting") is not None
    assert list(index.nodes.declared) == ["double"]
    assert index.nodes.folder == tmp_path / "python"


def test_nodes_are_read_without_being_run(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    node = f'open({str(mark)!r}, "w")\nfrom tuvl import node\n@node("double", writes=["x"])\ndef f(ctx): ...\n'
    index = make(tmp_path, nodes__n_py=node, nodes__broken_py="def (:\n")
    assert index.nodes.declared["double"].writes == ("x",)
    assert len(index.nodes.problems) == 1
    assert not mark.exists()


def test_node_declared_in_two_files_is_a_problem_that_names_both(tmp_path: Path) -> None:
    node = 'from tuvl import node\n@node("double")\ndef f(ctx): ...\n'
    index = make(tmp_path, nodes__a_py=node, nodes__b_py=node)
    (problem,) = index.nodes.problems
    assert problem.file.endswith("b.py")
    assert "a.py" in problem.message


def test_file_that_cannot_be_read_is_named_and_the_rest_is_there(tmp_path: Path) -> None:
    index = make(tmp_path, a_yaml=workflow("one"))
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "nowhere")
    assert len(index.files()) == 1
    assert len(index.unreadable) == 1
    assert "gone.yaml" in index.unreadable[0]
    assert "no such file" in index.unreadable[0]


def test_file_name_that_is_no_utf8_can_be_shown(tmp_path: Path) -> None:
    path = Path(str(tmp_path) + "/caf\udce9.yaml")
    path.write_text(workflow("one"), encoding="utf-8")
    index = ProjectIndex(tmp_path)
    (document,) = index.documents("Workflow")
    assert document.file.endswith("caf\\xe9.yaml")
    assert index.file_of(document) is not None


def test_files_below_the_working_directory_are_shown_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    index = make(tmp_path / "here", a_yaml=workflow("one"))
    assert index.relative(tmp_path / "here" / "a.yaml") == "a.yaml"
    assert index.relative(tmp_path / "here") == "."
    assert index.relative(tmp_path / "b.yaml") == str(tmp_path / "b.yaml")
