"""A report that is kept is told again while all it rests on is as it was, and never else."""

import io
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.check.project_files import write
from tuvl.check import memory
from tuvl.cli.validate import main

WORKFLOW = """\
kind: Workflow
metadata: {{ name: flow_{number} }}
spec:
  input: {{ type: object, properties: {{ text: {{ type: string }} }}, required: [text] }}
  steps:
    - id: first
      kind: Functional
      runner: keep_note
      params: {{ text: "{{{{ text }}}}" }}
    - id: answer
      kind: Agent
      mode: completion
      agent: {{ model: default, prompt: "artifact://ask@1", outcome: {{ write: reply }} }}
      routes: {{ error: END, aborted: END, timeout: END }}
"""
CALL = """\
    - {{ id: more, kind: Workflow, workflow: flow_{other}, input: {{ text: "{{{{ text }}}}" }} }}
"""
NODE = """\
from tuvl import node


@node("keep_note", reads=[], writes=["note"])
def keep_note(ctx):
    return {}
"""
FILES = {
    "tuvl.yaml": "kind: ProjectConfig\n",
    "llms/default.yaml": "kind: AgentModel\nmetadata: { name: default }\n"
    "spec: { provider: scripted, script: replies.yaml, api_key: '${TUVL_TEST_KEY}' }\n",
    "llms/replies.yaml": "- text: hello\n",
    "artifacts/ask.md": "---\nname: ask\ntype: prompt\ntemplate: true\n---\nAnswer {{ text }}.\n",
    "nodes/notes.py": NODE,
}
COUNT = 22
which_tuvl = memory._which_tuvl
FORMATS = ("text", "json", "jsonl", "sarif", "github", "junit")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return ready(tmp_path, monkeypatch)


def ready(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.delenv("TUVL_TEST_KEY", raising=False)
    monkeypatch.setattr(memory, "_which_tuvl", lambda: "this one")  # whoever works on it may write a file meanwhile
    root = folder / "project"
    flows = {f"workflows/f{number}.yaml": flow(number) for number in range(COUNT)}
    write(root, {**FILES, **flows})
    monkeypatch.chdir(root)
    return root


def flow(number: int) -> str:
    text = WORKFLOW if number + 1 == COUNT else WORKFLOW + CALL  # none calls one that calls it
    return text.format(number=number, other=number + 1)


def validate(*words: str) -> tuple[int, str, str]:
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(words)
    out.flush()
    assert isinstance(out.buffer, io.BytesIO)
    return code, out.buffer.getvalue().decode(), err.getvalue()


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One entry for each check that was really made."""
    made: list[str] = []
    kept = memory.Memory.keep

    def noted(self: memory.Memory, check: Callable[..., memory.Report]) -> memory.Report:
        made.append("check")
        return kept(self, check)

    monkeypatch.setattr(memory.Memory, "keep", noted)
    return made


def kept_files(project: Path) -> list[Path]:
    return sorted((project.parent / "cache").rglob("*.json"))


def test_second_run_checks_nothing_and_says_the_same(project: Path, checks: list[str]) -> None:
    first = validate(".")
    assert validate(".") == first
    assert len(checks) == 1
    assert len(kept_files(project)) == 1


@pytest.mark.parametrize("format_", FORMATS)
def test_every_format_is_the_same_byte_for_byte(project: Path, checks: list[str], format_: str) -> None:
    (project / "workflows" / "f3.yaml").write_text(flow(3).replace("answer", "anßwer "), encoding="utf-8")
    fresh = validate(".", "--format", format_, "--no-cache")
    assert validate(".", "--format", format_) == fresh
    assert validate(".", "--format", format_) == fresh
    assert len(checks) == 1


def add(path: str, text: str) -> Callable[[Path], None]:
    return lambda root: write(root, {path: text}) and None


def change(path: str, old: str, new: str) -> Callable[[Path], None]:
    def edit(root: Path) -> None:
        file = root / path
        text = file.read_text(encoding="utf-8")
        assert old in text
        file.write_text(text.replace(old, new), encoding="utf-8")

    return edit


def delete(path: str) -> Callable[[Path], None]:
    return lambda root: (root / path).unlink()


def swap_keeping_times(root: Path) -> None:
    file = root / "workflows" / "f1.yaml"
    status = file.stat()
    change("workflows/f1.yaml", "runner: keep_note", "runner: keep_nota")(root)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


EDITS: dict[str, Callable[[Path], None]] = {
    "a file": change("workflows/f1.yaml", "model: default", "model: defoult"),
    "a file, of one size and time": swap_keeping_times,
    "a new file": add("workflows/new.yaml", "kind: Workflow\n"),
    "a new file with a name that is taken": add("other/new.yaml", flow(2)),
    "a file that is gone": delete("workflows/f5.yaml"),
    "a prompt": change("artifacts/ask.md", "{{ text }}", "{{ texts }}"),
    "a prompt that is gone": delete("artifacts/ask.md"),
    "a node": change("nodes/notes.py", "keep_note", "keep_nota"),
    "a new node file": add("nodes/more.py", 'from tuvl import node\n@node("keep_note")\ndef f(ctx): return {}\n'),
    "a script": change("llms/replies.yaml", "text:", "txt:"),
    "a script that is gone": delete("llms/replies.yaml"),
    "the configuration": change("tuvl.yaml", "\n", "\nspec: { checks: { severity: { TV214: ignore } } }\n"),
    "a misspelt configuration": add("tuvl.yml", "kind: ProjectConfig\n"),
    "another project inside": add("workflows/tuvl.yaml", "kind: ProjectConfig\n"),
    "settings elsewhere": add("pyproject.toml", '[tool.tuvl.severity]\nTV214 = "error"\n'),
    "settings that are no TOML": add("pyproject.toml", "[tool.tuvl\n"),
    "prose that nothing uses": add("artifacts/unused.md", "---\nname: unused\ntype: prompt\n---\nText\n"),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_whatever_changes_is_checked_anew(project: Path, checks: list[str], edit: Callable[[Path], None]) -> None:
    before = validate(".")
    edit(project)
    after = validate(".")
    assert len(checks) == 2
    assert after == validate(".", "--no-cache")
    assert after != before


def test_variable_that_is_set_later_counts(project: Path, checks: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert "TV214" in validate(".")[1]
    monkeypatch.setenv("TUVL_TEST_KEY", "secret")
    assert "TV214" not in validate(".")[1]
    assert len(checks) == 2
    assert all("secret" not in file.read_text(encoding="utf-8") for file in kept_files(project))


@pytest.mark.parametrize(
    "words",
    [
        ("--ignore", "TV2"),
        ("--select", "TV3"),
        ("--max-cost-usd", "0.000001"),
        ("--project", "."),
        ("workflows",),
        ("--strict",),
    ],
)
def test_other_questions_have_answers_of_their_own(project: Path, checks: list[str], words: tuple[str, ...]) -> None:
    validate(".")
    paths = () if words == ("workflows",) else (".",)
    assert validate(*paths, *words) == validate(*paths, *words, "--no-cache")
    assert len(checks) == 2


def test_another_tuvl_checks_anew(project: Path, checks: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    validate(".")
    monkeypatch.setattr(memory, "_which_tuvl", lambda: "another one")
    validate(".")
    assert len(checks) == 2


def test_tuvl_is_told_by_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"tuvl/__init__.py": "", "tuvl/check/rules/one.py": "x = 1\n", "tuvl/spec/one.json": "{}"})
    monkeypatch.setattr(memory.tuvl, "__file__", str(tmp_path / "tuvl" / "__init__.py"))
    seen = {which_tuvl()}
    for path, text in {"check/rules/one.py": "x = 10\n", "spec/one.json": "{} ", "check/two.py": ""}.items():
        write(tmp_path, {f"tuvl/{path}": text})
        seen.add(which_tuvl())
    assert len(seen) == 4
    assert which_tuvl() in seen


def test_settings_of_how_it_is_told_share_one_report(project: Path, checks: list[str]) -> None:
    validate(".")
    assert validate(".", "--quiet", "--format", "json")[2] == ""
    assert len(checks) == 1


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b"null", b"\x80", b'{"format": 0}', b'{"format": 1}', b"[" * 100_000]
)
def test_report_that_cannot_be_read_is_passed_over_and_written_anew(
    project: Path, checks: list[str], raw: bytes
) -> None:
    first = validate(".")
    kept = kept_files(project)[0]
    kept.write_bytes(raw)
    assert validate(".") == first
    assert validate(".") == first
    assert len(checks) == 2


def test_any_part_of_a_kept_report_may_be_of_another_kind(project: Path) -> None:
    first = validate(".")
    file = kept_files(project)[0]
    whole = json.loads(file.read_bytes())
    for name in whole:
        for value in (None, 1, "x", [], {}, [1], {"x": 1}, [[1]]):
            file.write_text(json.dumps({**whole, name: value}), encoding="utf-8")
            code, _, said = validate(".")
            assert (code, "Traceback" in said) in {(first[0], False), (0, False)}


def test_report_with_a_file_that_cannot_be_read_is_not_kept(project: Path) -> None:
    (project / "workflows" / "dangling.yaml").symlink_to("nowhere.yaml")
    assert validate(".")[0] == 2
    assert kept_files(project) == []


def test_small_projects_keep_nothing(project: Path) -> None:
    for number in range(5, COUNT):
        (project / f"workflows/f{number}.yaml").unlink()
    validate(".")
    assert kept_files(project) == []


def test_no_cache_keeps_nothing(project: Path, checks: list[str]) -> None:
    validate(".", "--no-cache")
    assert kept_files(project) == []
    assert checks == []


@pytest.mark.skipif(sys.platform == "win32", reason="rights of another kind")
def test_folder_that_others_may_write_to_is_not_used(project: Path, checks: list[str]) -> None:
    validate(".")
    kept_files(project)[0].parent.chmod(0o777)
    validate(".")
    assert len(checks) == 2


def test_place_where_nothing_can_be_kept_is_no_trouble(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = validate(".", "--no-cache")
    (project.parent / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(project.parent / "file"))
    assert validate(".") == fresh


def test_the_oldest_reports_go(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MOST_REPORTS", 2)
    for code in ("TV301", "TV302", "TV303", "TV304"):
        validate(".", "--ignore", code)
    assert len(kept_files(project)) == 2


def test_nothing_of_the_project_is_written_to(project: Path) -> None:
    before = sorted(path for path in project.rglob("*"))
    validate(".")
    assert sorted(path for path in project.rglob("*")) == before


def test_mending_looks_at_the_files_themselves(project: Path) -> None:
    change("workflows/f1.yaml", "kind: Agent", "kind: agent")(project)
    validate(".")
    code, _, _ = validate(".", "--fix")
    assert code == validate(".", "--no-cache")[0]
    assert validate(".") == validate(".", "--no-cache")


WORDS = ("keep_note", "default", "ask@1", "text", "flow_3", "flow_4", "error: END", "answer", "kind: Agent", "reply")


@st.composite
def edits(draw: st.DrawFn) -> Callable[[Path], None]:
    number = draw(st.integers(0, COUNT - 2))
    file = draw(st.sampled_from([f"workflows/f{number}.yaml", *FILES]))
    match draw(st.sampled_from(["replace", "delete", "copy", "append", "rename"])):
        case "replace":
            old, new = draw(st.sampled_from(WORDS)), draw(st.sampled_from((*WORDS, "nothing", "")))
            return lambda root: rewritten(root / file, lambda text: text.replace(old, new))
        case "append":
            more = draw(st.sampled_from(["# comment\n", "---\n" + flow(1), "x: [\n", "\t", "  more: 1\n"]))
            return lambda root: rewritten(root / file, lambda text: text + more)
        case "copy":
            return lambda root: copied(root / file, root / "workflows" / f"copy{number}.yaml")
        case "rename":
            return lambda root: copied(root / file, root / f"moved{number}.yaml", move=True)
        case _:
            return lambda root: (root / file).unlink(missing_ok=True)


def rewritten(file: Path, edit: Callable[[str], str]) -> None:
    if file.is_file():
        file.write_text(edit(file.read_text(encoding="utf-8")), encoding="utf-8")


def copied(file: Path, to: Path, *, move: bool = False) -> None:
    if file.is_file():
        (shutil.move if move else shutil.copy)(file, to)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        yield ready(tmp_path_factory.mktemp("edits"), patch)


@given(steps=st.lists(edits(), min_size=1, max_size=4), format_=st.sampled_from(FORMATS))
@settings(
    max_examples=25 if os.environ.get("TUVL_SOAK") else 10,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_whatever_is_edited_what_is_told_is_what_a_fresh_check_tells(
    folder: Path, steps: list[Callable[[Path], None]], format_: str
) -> None:
    shutil.rmtree(folder)
    write(folder, {**FILES, **{f"workflows/f{number}.yaml": flow(number) for number in range(COUNT)}})
    os.chdir(folder)
    for step in (lambda root: None, *steps):
        step(folder)
        fresh = validate(".", "--format", format_, "--no-cache")
        assert validate(".", "--format", format_) == fresh
        assert validate(".", "--format", format_) == fresh
