"""What is checked when files, folders or projects are named."""

from pathlib import Path

import pytest

from tests.check.project_files import said, workflow, write
from tuvl.check.runner import check_document, check_paths, report_on
from tuvl.project.index import ProjectIndex


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


BROKEN = "kind: Workflow\nmetadata: { name: broken }\nspec: { steps: [\n"
DEPLOYMENT = "apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: x }\nspec: {}\n"
COMPOSE = "services:\n  web: { image: nginx, restart: no }\n"


def test_folder_passes_over_yaml_of_other_tools(here: Path) -> None:
    write(here, {"w.yaml": workflow(), "k8s.yaml": DEPLOYMENT, "compose.yaml": COMPOSE, "list.yaml": "- 010\n- yes\n"})
    report = check_paths([here])
    assert said(report) == []
    assert report.files == 1


@pytest.mark.parametrize("text", [DEPLOYMENT, COMPOSE, "- a\n", "hello\n", "", "# nothing\n", "---\n---\n"])
def test_file_that_is_named_must_hold_a_document(here: Path, text: str) -> None:
    write(here, {"x.yaml": text})
    report = check_paths([Path("x.yaml")])
    assert said(report) == ["x.yaml:1 TV009"]
    assert report.broken


def test_kind_that_looks_misspelt_is_an_error_on_a_walk(here: Path) -> None:
    write(here, {"x.yaml": workflow().replace("kind: Workflow", "kind: Workflwo")})
    assert said(check_paths([here])) == ["x.yaml:1 TV104"]


def test_kind_of_another_tool_is_passed_over_on_a_walk_and_an_error_when_named(here: Path) -> None:
    write(here, {"ci.yaml": "kind: pipeline\ntype: docker\n", "w.yaml": workflow()})
    assert said(check_paths([here])) == []
    assert said(check_paths([Path("ci.yaml")])) == ["ci.yaml:1 TV104"]


@pytest.mark.parametrize(
    "text",
    [
        DEPLOYMENT,
        "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: { name: x }\nspec: { entrypoint: main }\n",
        "apiVersion: v1\nkind: Artifact\nmetadata: { name: x }\nspec: { type: prompt }\n",
        "kind: pipeline\nmetadata: { name: x }\n",
        "kind: pipeline\nname: x\nenabled: true\n",
    ],
)
def test_documents_of_another_tool_may_share_a_name(here: Path, text: str) -> None:
    write(here, {"w.yaml": workflow(), "base/x.yaml": text, "prod/x.yaml": text, "both.yaml": f"{text}---\n{text}"})
    report = check_paths([here])
    assert said(report) == []
    assert report.files == 1


def test_document_of_another_tool_does_not_take_the_name_of_one_of_ours(here: Path) -> None:
    argo = "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: { name: greet }\nspec: {}\n"
    write(here, {"a.yaml": argo, "w.yaml": workflow()})
    assert said(check_paths([here])) == []
    found = ProjectIndex(here).workflow("greet")
    assert found is not None
    assert found.file == "w.yaml"


def test_empty_file_on_a_walk_is_a_warning(here: Path) -> None:
    write(here, {"w.yaml": workflow(), "e.yaml": "", "c.yaml": "# later\n"})
    assert said(check_paths([here])) == ["c.yaml:1 TV005", "e.yaml:1 TV005"]


def test_broken_file_is_told_and_the_others_are_checked(here: Path) -> None:
    """M09: other files are still validated."""
    write(here, {"a.yaml": BROKEN, "b.yaml": workflow().replace("runner", "runer"), "c.yaml": "a:\n\tb: 1\n"})
    assert [line for line in said(check_paths([here])) if "TV101" not in line] == [
        "a.yaml:3 TV001",
        "b.yaml:5 TV103",
        "c.yaml:2 TV001",
    ]


def test_broken_file_of_another_tool_is_passed_over_on_a_walk(here: Path) -> None:
    write(here, {"w.yaml": workflow(), "chart.yaml": "apiVersion: v1\nkind: Service\nspec: {{ .Values.x }\n"})
    assert said(check_paths([here])) == []


def test_document_without_kind_beside_one_of_ours_is_an_error(here: Path) -> None:
    write(here, {"x.yaml": workflow() + "---\nmetadata: { name: forgotten }\n"})
    assert said(check_paths([here])) == ["x.yaml:10 TV104"]


@pytest.mark.parametrize("name", ["nowhere.yaml", "nowhere"])
def test_path_that_is_not_there_is_told_and_the_others_are_checked(here: Path, name: str) -> None:
    write(here, {"x.yaml": workflow().replace("set", "1")})
    report = check_paths([Path(name), Path("x.yaml")])
    assert report.unreadable == (f"cannot read {name!r}: no such file or folder",)
    assert report.broken
    assert report.files == 1


def test_folder_without_documents_is_nothing_checked(here: Path) -> None:
    (here / "empty").mkdir()
    report = check_paths([Path("empty")])
    assert said(report) == ["empty:1 TV009"]
    assert report.files == 0


def test_named_file_is_checked_with_the_documents_it_refers_to(here: Path) -> None:
    agent = """\
kind: Workflow
metadata: { name: ask }
spec:
  steps:
    - id: ask
      kind: Agent
      mode: completion
      agent: { model: fast, prompt: "artifact://question@1", guardrails: { input: ["artifact://short@1"] } }
      routes: { error: END, aborted: END, timeout: END, guardrail_violation: END }
    - { id: sub, kind: Workflow, workflow: other, output_key: found }
"""
    write(
        here,
        {
            "workflows/ask.yaml": agent,
            "workflows/other.yaml": workflow("other").replace("values", "valuess"),
            "workflows/stranger.yaml": BROKEN,
            "llms/fast.yaml": "kind: AgentModel\nmetadata: { name: fast }\nspec: { provider: openai, modle: m }\n",
            "artifacts/question.md": "---\nname: question\ntype: prompt\nversoin: 1\n---\nWhat?\n",
            "artifacts/short.yaml": "kind: Artifact\nmetadata: { name: short }\n"
            "spec: { type: guardrail, checks: [{ check: max_chars, limit: 0 }] }\n",
        },
    )
    found = {line.split(":")[0] for line in said(check_paths([Path("workflows/ask.yaml")]))}
    assert found == {"workflows/other.yaml", "llms/fast.yaml", "artifacts/question.md", "artifacts/short.yaml"}


def test_workflows_that_refer_to_each_other_are_checked_once_each(here: Path) -> None:
    text = workflow("NAME").replace("kind: Functional\n      runner: set\n      values: { greeting: Hello }", "STEP")
    first = text.replace("NAME", "one").replace("STEP", "kind: Workflow\n      workflow: two\n      output_key: x")
    second = text.replace("NAME", "two").replace("STEP", "kind: Workflow\n      workflow: one\n      output_key: x")
    write(here, {"workflows/a.yaml": first, "workflows/b.yaml": second})
    assert check_paths([Path("workflows/a.yaml")]).files == 2


def test_without_paths_the_project_of_the_working_directory_is_checked(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(here, {"tuvl.yaml": "kind: ProjectConfig\n", "workflows/w.yaml": workflow(), "x/y/z.txt": ""})
    monkeypatch.chdir(here / "x/y")
    assert check_paths([]).files == 2


def test_folder_of_projects_checks_each_by_itself(here: Path) -> None:
    for name in ("one", "two"):
        files = {f"{name}/tuvl.yaml": "kind: ProjectConfig\n", f"{name}/workflows/w.yaml": workflow("same")}
        write(here, files)
    report = check_paths([here])
    assert said(report) == []
    assert report.files == 4


def test_project_does_not_take_the_files_of_a_project_inside_it(here: Path) -> None:
    write(here, {"tuvl.yaml": "kind: ProjectConfig\n", "w.yaml": workflow()})
    write(here, {"in/tuvl.yaml": "kind: ProjectConfig\n", "in/b.yaml": BROKEN})
    assert said(check_paths([here])) == []
    assert said(check_paths([Path("in")])) == ["in/b.yaml:3 TV001"]


def test_same_document_in_two_files_names_both(here: Path) -> None:
    write(here, {"workflows/a.yaml": workflow("same"), "workflows/b.yaml": workflow("same")})
    (finding,) = check_paths([here]).findings
    assert (finding.code, finding.file, finding.line, finding.path) == ("TV107", "workflows/b.yaml", 2, "metadata.name")
    assert "workflows/a.yaml:2" in finding.message


def test_same_document_twice_in_one_file_is_found_when_the_file_is_named(here: Path) -> None:
    write(here, {"a.yaml": workflow("same") + "---\n" + workflow("same")})
    assert said(check_paths([Path("a.yaml")])) == ["a.yaml:11 TV107"]
    assert said(check_paths([here])) == ["a.yaml:11 TV107"]


@pytest.mark.parametrize(
    ("first", "second"),
    [("name: same", "name: same, schema_version: v2"), ("name: same", "name: other")],
)
def test_documents_with_different_keys_live_side_by_side(here: Path, first: str, second: str) -> None:
    text = workflow("x")
    write(here, {"a.yaml": text.replace("name: x", first), "b.yaml": text.replace("name: x", second)})
    assert said(check_paths([here])) == []


def test_document_that_is_switched_off_may_share_a_name_and_refer_to_nothing(here: Path) -> None:
    off = workflow("same").replace("metadata", "enabled: false\nmetadata").replace("Hello }", "Hello }\n      ROUTES")
    off = off.replace("ROUTES", "routes: { default: nowhere }")
    write(here, {"a.yaml": workflow("same"), "b.yaml": off})
    assert said(check_paths([here])) == []


def test_shape_of_a_document_that_is_switched_off_is_checked(here: Path) -> None:
    write(here, {"a.yaml": workflow().replace("metadata", "enabled: false\nmetadata").replace("values", "valeus")})
    assert "a.yaml:9 TV101" in said(check_paths([here]))


def test_prose_and_structured_artifact_share_one_space_of_names(here: Path) -> None:
    write(
        here,
        {
            "artifacts/a.md": "---\nname: same\ntype: prompt\n---\nHello.\n",
            "artifacts/b.yaml": "kind: Artifact\nmetadata: { name: same }\n"
            "spec: { type: guardrail, checks: [{ check: max_chars, limit: 9 }] }\n",
        },
    )
    assert "artifacts/b.yaml:2 TV107" in said(check_paths([here]))


def test_file_is_checked_in_the_project_that_is_given(here: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = write(tmp_path_factory.mktemp("project"), {"tuvl.yaml": "kind: ProjectConfig\n"})
    write(
        elsewhere, {"llms/fast.yaml": "kind: AgentModel\nmetadata: { name: fast }\nspec: { provider: x, model: m }\n"}
    )
    write(here, {"w.yaml": workflow()})
    report = check_paths([Path("w.yaml")], project=elsewhere)
    assert said(report) == []


def test_markdown_without_front_matter_is_passed_over_on_a_walk_only(here: Path) -> None:
    write(here, {"artifacts/README.md": "# Artifacts\n", "w.yaml": workflow()})
    assert said(check_paths([here])) == []
    assert said(check_paths([Path("artifacts/README.md")])) == ["artifacts/README.md:1 TV009"]


def test_front_matter_is_checked_with_the_lines_of_the_file(here: Path) -> None:
    write(here, {"artifacts/a.md": "---\nname: a\ntype: promt\n---\nHello.\n", "w.yaml": workflow()})
    assert "artifacts/a.md:3 TV102" in said(check_paths([here]))


def test_template_in_a_body_is_checked_when_the_front_matter_says_it_is_one(here: Path) -> None:
    text = "---\nname: a\ntype: prompt\ntemplate: true\n---\nHello {{ name | shout }}.\n"
    write(here, {"artifacts/a.md": text, "artifacts/b.md": text.replace("name: a", "name: b").replace("true", "false")})
    assert [line for line in said(check_paths([here])) if "TV109" in line] == ["artifacts/a.md:6 TV109"]


def test_artifact_above_its_cap_is_an_error(here: Path) -> None:
    write(here, {"artifacts/a.md": "---\nname: a\ntype: prompt\n---\n" + "x" * (512 * 1024)})
    assert "artifacts/a.md:1 TV003" in said(check_paths([here]))


def test_file_that_may_not_be_read_is_told_and_the_others_are_checked(here: Path) -> None:
    write(here, {"a.yaml": workflow()})
    (here / "b.yaml").symlink_to("nowhere.yaml")
    report = check_paths([here])
    assert report.files == 1
    assert report.unreadable == ("cannot read 'b.yaml': no such file or directory",)


def test_several_processes_find_what_one_finds(here: Path) -> None:
    files = {f"workflows/w{number:03}.yaml": workflow(f"w{number}") for number in range(150)}
    files["workflows/w010.yaml"] = BROKEN
    files["workflows/w080.yaml"] = workflow("w80").replace("values", "value") + "# tuvl: ignore[TV302] left over\n"
    files["workflows/w140.yaml"] = workflow("w3")
    write(here, files)
    (here / "workflows/w149.yaml").unlink()
    (here / "workflows/w149.yaml").symlink_to("nowhere")
    alone, together = check_paths([here]), check_paths([here], jobs=3)
    assert alone == together
    assert {finding.code for finding in alone.findings} >= {"TV001", "TV006", "TV101", "TV107"}
    assert len(alone.unreadable) == 1


def test_run_asks_for_one_document_with_all_it_refers_to(here: Path) -> None:
    write(here, {"workflows/w.yaml": workflow("one").replace("values", "valuess"), "workflows/b.yaml": BROKEN})
    index = ProjectIndex(here)
    document = index.workflow("one")
    assert document is not None
    report = report_on(document, index)
    assert {finding.code for finding in report.findings} == {"TV101", "TV103"}
    assert list(report.findings) == check_document(document, index)
    assert set(report.texts) == {"workflows/w.yaml"}


def test_findings_come_in_source_order_and_once(here: Path) -> None:
    write(here, {"b.yaml": workflow("b").replace("runner", "a: 1\n      b: 2\n      runner"), "a.yaml": BROKEN})
    report = check_paths([Path("b.yaml"), Path("a.yaml"), here, Path("b.yaml")])
    places = [(finding.file, finding.line, finding.column) for finding in report.findings]
    assert places == sorted(set(places))
    assert len(places) == 3


def test_folder_inside_a_project_is_told_of_what_the_project_says_about_its_files_only(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unused = "---\nname: NAME\ntype: prompt\n---\nHello.\n"
    files = {f"artifacts/{name}/a.md": unused.replace("NAME", name) for name in ("one", "two")}
    write(here, {"tuvl.yaml": "kind: ProjectConfig\n", **files})
    assert said(check_paths([Path("artifacts/one")])) == ["artifacts/one/a.md:2 TV210"]
    monkeypatch.chdir(here / "artifacts/two")
    assert said(check_paths([Path()])) == ["a.md:2 TV210"]


def test_python_file_that_is_named_is_no_document(here: Path) -> None:
    write(here, {"nodes/n.py": "def f(ctx): ...\n"})
    assert said(check_paths([Path("nodes/n.py")])) == ["nodes/n.py:1 TV009"]
