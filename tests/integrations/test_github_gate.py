"""The GitHub Action's gate, against a server that speaks the part of the API it uses."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.check.project_files import workflow, write

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "integrations" / "github"
MARK = "<!-- tuvl gate -->"


@dataclass
class GitHub:
    """Comments of one pull request."""

    url: str = ""
    comments: list[dict[str, Any]] = field(default_factory=list)
    refuses: bool = False
    tokens: set[str] = field(default_factory=set)

    def add(self, body: str, kind: str = "Bot") -> None:
        self.comments.append({"id": len(self.comments) + 1, "body": body, "user": {"type": kind}})


@pytest.fixture
def github() -> Iterator[GitHub]:
    state = GitHub()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            state.tokens.add(self.headers["Authorization"])
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or b"null")
            path, _, query = self.path.partition("?")
            reply: Any = {}
            if state.refuses and self.command != "GET":
                self.send_error(403)
                return
            if self.command == "GET" and path == "/repos/me/desk/issues/7/comments":
                page = int(re.findall(r"\bpage=(\d+)", query)[-1])
                reply = state.comments[(page - 1) * 100 : page * 100]
            elif self.command == "POST" and path == "/repos/me/desk/issues/7/comments":
                state.add(body["body"])
            elif self.command == "PATCH":
                number = int(path.removeprefix("/repos/me/desk/issues/comments/"))
                state.comments[number - 1]["body"] = body["body"]
            else:
                self.send_error(404)
                return
            raw = json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        do_GET = do_POST = do_PATCH = answer

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}"
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write(tmp_path / "desk", {"tuvl.yaml": "kind: ProjectConfig\n", "w.yaml": workflow()})


def gate(project: Path, github: GitHub, *, event: object = None, **settings: str) -> subprocess.CompletedProcess[str]:
    said = project.parent / "event.json"
    said.write_text(json.dumps({"pull_request": {"number": 7}} if event is None else event), encoding="utf-8")
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("GATE_", "GITHUB_"))},
        "GITHUB_API_URL": github.url,
        "GITHUB_REPOSITORY": "me/desk",
        "GITHUB_EVENT_PATH": str(said),
        "GITHUB_OUTPUT": str(project.parent / "output"),
        "GATE_TOKEN": "t0ken",
        "no_proxy": "127.0.0.1",
        **settings,
    }
    words = [sys.executable, "-I", str(FOLDER / "gate.py")]
    return subprocess.run(words, cwd=project, env=environ, capture_output=True, encoding="utf-8", timeout=100)


def misspell(project: Path) -> None:
    write(project, {"w.yaml": workflow().replace("values", "valeus")})


def test_findings_are_marked_and_told_in_one_comment(project: Path, github: GitHub) -> None:
    misspell(project)
    first, second = gate(project, github), gate(project, github)
    assert first.returncode == second.returncode == 1
    assert "::error file=w.yaml,line=8," in first.stdout
    (comment,) = github.comments
    assert comment["body"].startswith(MARK)
    assert "| ❌ | w.yaml:8 | TV101 unknown-field |" in comment["body"]
    assert github.tokens == {"Bearer t0ken"}
    assert (project.parent / "output").read_text(encoding="utf-8") == "exit-code=1\n" * 2


def test_comment_is_written_anew_when_all_is_well_again(project: Path, github: GitHub) -> None:
    misspell(project)
    gate(project, github)
    write(project, {"w.yaml": workflow()})
    assert gate(project, github).returncode == 0
    assert [one["body"] for one in github.comments] == [f"{MARK}\n### tuvl\n\nNothing found.\n"]


def test_without_findings_nobody_is_disturbed(project: Path, github: GitHub) -> None:
    assert gate(project, github).returncode == 0
    assert github.comments == []


def test_comments_of_people_are_left_alone(project: Path, github: GitHub) -> None:
    misspell(project)
    github.add(f"{MARK}\nmine", kind="User")
    for number in range(120):
        github.add(f"comment {number}")
    gate(project, github)
    gate(project, github)
    assert github.comments[0]["body"] == f"{MARK}\nmine"
    assert len(github.comments) == 122


def test_token_that_may_not_write_is_a_warning(project: Path, github: GitHub) -> None:
    misspell(project)
    github.refuses = True
    ended = gate(project, github)
    assert ended.returncode == 1
    assert "::warning title=tuvl::the comment could not be written: HTTPError" in ended.stdout
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    "module", ["yaml.py", "json.py", "typing_extensions.py", "tuvl/__main__.py", "sitecustomize.py"]
)
def test_modules_of_the_checked_folder_are_never_run(module: str, project: Path, github: GitHub) -> None:
    misspell(project)
    path = project / module
    path.parent.mkdir(exist_ok=True)
    (path.parent / "__init__.py").touch()
    path.write_text("import os\nopen('ran', 'w').close()\nos._exit(0)\n")
    assert gate(project, github).returncode == 1
    assert not (project / "ran").exists()


def test_token_is_not_handed_to_the_check(project: Path, github: GitHub) -> None:
    """What is checked may name variables; the one with the token is there for the comment alone."""
    (project / "llms").mkdir(exist_ok=True)
    (project / "llms" / "leak.yaml").write_text(
        "kind: AgentModel\nmetadata: { name: leak }\nspec: { provider: openai, model: m, api_key: '${GATE_TOKEN}' }\n"
    )
    told = gate(project, github, GATE_STRICT="true").stdout
    assert "GATE_TOKEN" in told


def test_action_looks_for_no_module_in_the_checked_folder() -> None:
    steps = yaml.safe_load((FOLDER / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]
    scripts = [line for step in steps for line in step["run"].splitlines()]
    assert [line for line in scripts if re.search(r"python[0-9.]*\"? +-m", line)] == []


def test_push_without_a_pull_request_has_no_comment(project: Path, github: GitHub) -> None:
    misspell(project)
    assert gate(project, github, event={"ref": "refs/heads/main"}).returncode == 1
    assert github.comments == []


def test_text_of_a_file_stays_text_in_the_comment(project: Path, github: GitHub) -> None:
    name = '"|<img src=x>@everyone`**"'
    write(project, {"w.yaml": workflow().replace("kind: Functional", f"kind: Functional\n      {name}: 1")})
    gate(project, github)
    (comment,) = github.comments
    assert "<img" not in comment["body"]
    assert "@" not in comment["body"]
    rows = [line for line in comment["body"].splitlines() if "TV101" in line]
    assert [len(re.findall(r"(?<!\\)\|", row)) for row in rows] == [5]


def test_settings_reach_the_command(project: Path, github: GitHub) -> None:
    write(project, {"w.yaml": workflow().replace("Hello", "yes"), "other.yaml": workflow("other")})
    assert gate(project, github, GATE_STRICT="false", GATE_COMMENT="false").returncode == 0
    assert gate(project, github, GATE_PATHS="other.yaml\n\n", GATE_SARIF="r.sarif").returncode == 0
    assert json.loads((project / "r.sarif").read_text(encoding="utf-8"))["version"] == "2.1.0"
    assert gate(project, github).returncode == 1
    assert gate(project, github, GATE_CHANGED_SINCE="--help").returncode == 2
    assert gate(project, github, GATE_PATHS="--help").returncode == 2


HOSTILE = """
import os, pathlib
pathlib.Path("ran").write_text(os.environ.get("GATE_TOKEN", ""))
os._exit(0)
"""


def test_modules_in_the_folder_that_is_checked_are_never_run(project: Path, github: GitHub) -> None:
    """Python looks there first for whatever it imports, when it is started as `python -m`."""
    misspell(project)
    names = ("yaml.py", "json.py", "venv.py", "sitecustomize.py", "tuvl/__init__.py", "tuvl/__main__.py")
    write(project, dict.fromkeys(names, HOSTILE))
    ended = gate(project, github, GATE_DIFF="gate")
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "::error file=w.yaml,line=8," in ended.stdout
    assert not (project / "ran").exists()


def test_every_python_of_the_action_is_told_not_to_look_in_the_folder_it_is_started_in() -> None:
    action = yaml.safe_load((FOLDER / "action.yml").read_text(encoding="utf-8"))
    started = [line for step in action["runs"]["steps"] for line in step["run"].splitlines() if "python" in line]
    assert len(started) == 2
    assert all(re.search(r"python3?\"? -I ", line) for line in started), started


def test_action_gives_every_input_to_the_script_as_a_variable() -> None:
    """An input inside a script would be run as code."""
    action = yaml.safe_load((FOLDER / "action.yml").read_text(encoding="utf-8"))
    steps = action["runs"]["steps"]
    assert all("${{" not in step["run"] for step in steps)
    given = {variable for step in steps for variable in step["env"]}
    used = set(re.findall(r"['\"](GATE_\w+)['\"]", (FOLDER / "gate.py").read_text(encoding="utf-8")))
    assert used == given - {"TUVL_INSTALL"}
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE)) == action["inputs"].keys()


def test_hooks_for_pre_commit_are_commands_that_exist(project: Path) -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    for hook in hooks:
        command, *words = hook["entry"].split()
        assert command == "tuvl"
        ended = subprocess.run([sys.executable, "-m", "tuvl", *words], cwd=project, capture_output=True, timeout=60)
        assert ended.returncode == 0


def test_hook_runs_for_every_kind_of_file_that_the_check_reads() -> None:
    """A change of `pyproject.toml` alone may decide the gate."""
    hooks = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
    assert set(hooks["tuvl-validate"]["types_or"]) >= {"yaml", "markdown", "python", "toml", "json"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("GATE_STRICT", value) for value in ("TRUE", "yes", "1", "", " true", "no")),
        *(("GATE_DIFF", value) for value in ("Gate", "nope", "true", "")),
        *(("GATE_COMMENT", value) for value in ("False", "0", "yes\n::warning::x")),
    ],
)
def test_input_that_is_not_known_is_refused(name: str, value: str, project: Path, github: GitHub) -> None:
    ended = gate(project, github, **{name: value})
    assert (ended.returncode, ended.stderr) == (2, "")
    (line,) = ended.stdout.splitlines()
    assert line.startswith(f"::error title=tuvl::the input '{name.removeprefix('GATE_').lower()}' takes ")
    assert (project.parent / "output").read_text(encoding="utf-8") == "exit-code=2\n"


@pytest.mark.parametrize("output", ["nowhere/r.sarif", "."])
def test_sarif_report_that_is_not_written_is_2(output: str, project: Path, github: GitHub) -> None:
    ended = gate(project, github, GATE_SARIF=output, GATE_DIFF="off", GATE_COMMENT="false")
    assert ended.returncode == 2
    assert "::error title=tuvl::the SARIF report was not written" in ended.stdout
    assert (project.parent / "output").read_text(encoding="utf-8") == "exit-code=2\n"


def test_sarif_report_of_an_earlier_run_is_not_taken_for_this_one(project: Path, github: GitHub) -> None:
    write(project, {"there/r.sarif": "old"})
    (project / "r.sarif").symlink_to("../elsewhere")
    assert gate(project, github, GATE_SARIF="r.sarif", GATE_COMMENT="false").returncode == 2
    assert gate(project, github, GATE_SARIF="there/r.sarif", GATE_COMMENT="false").returncode == 0
    assert json.loads((project / "there" / "r.sarif").read_text(encoding="utf-8"))["version"] == "2.1.0"


@pytest.mark.parametrize("event", ["missing", "no JSON", "[]", '{"pull_request": []}', '{"pull_request": {"base": 1}}'])
def test_event_that_says_nothing_is_no_traceback(event: str, project: Path, github: GitHub) -> None:
    path = project.parent / "said.json"
    if event != "missing":
        path.write_text(event, encoding="utf-8")
    ended = gate(project, github, GITHUB_EVENT_PATH=str(path))
    assert (ended.returncode, github.comments) == (0, [])
    assert "Traceback" not in ended.stderr
    unknown = event in ("missing", "no JSON")
    assert ("the event cannot be read" in ended.stdout) == unknown
    strictly = gate(project, github, GITHUB_EVENT_PATH=str(path), GATE_DIFF="gate")
    assert strictly.returncode == (2 if unknown else 0)


def test_output_that_cannot_be_written_is_2(project: Path, github: GitHub) -> None:
    ended = gate(project, github, GITHUB_OUTPUT=str(project / "nowhere" / "output"))
    assert ended.returncode == 2
    assert "::error title=tuvl::the output exit-code could not be written" in ended.stdout
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("user", [None, {}, {"type": None}, 7])
def test_comment_of_nobody_is_left_alone(user: object, project: Path, github: GitHub) -> None:
    misspell(project)
    github.add(MARK)
    github.comments[0]["user"] = user
    github.add("")
    github.comments[1]["body"] = None
    ended = gate(project, github)
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    assert github.comments[0]["body"] == MARK


def commit(project: Path) -> str:
    """Commit the project, and return the digest."""
    who = {f"GIT_{each}_{what}": "me@desk.example" for each in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environ = {**os.environ, **who, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "--allow-empty", "-m", "state"]):
        subprocess.run(["git", *words], cwd=project, env=environ, check=True, capture_output=True)
    said = subprocess.run(["git", "rev-parse", "HEAD"], cwd=project, check=True, capture_output=True, encoding="utf-8")
    return said.stdout.strip()


def based_on(digest: str) -> object:
    return {"pull_request": {"number": 7, "base": {"sha": digest}}}


def loosen(project: Path) -> None:
    write(project, {"w.yaml": workflow().replace("spec:", "spec:\n  limits: { max_steps: 900 }")})


def test_comment_says_what_the_change_means(project: Path, github: GitHub) -> None:
    base = commit(project)
    loosen(project)
    ended = gate(project, github, event=based_on(base))
    assert ended.returncode == 0, ended.stderr
    (comment,) = github.comments
    assert comment["body"].startswith(f"{MARK}\n### tuvl\n\nNothing found.\n")
    assert "widens authority: 1" in comment["body"]
    assert "bound-raised" in comment["body"]
    assert "<code>200</code> → <code>900</code>" in comment["body"]


def test_change_closes_the_gate_only_where_it_is_to(project: Path, github: GitHub) -> None:
    base = commit(project)
    loosen(project)
    assert gate(project, github, event=based_on(base), GATE_DIFF="gate").returncode == 1
    assert gate(project, github, GATE_CHANGED_SINCE="HEAD", GATE_DIFF="off").returncode == 0
    assert "widens" not in github.comments[0]["body"]


def test_without_a_change_nobody_is_disturbed(project: Path, github: GitHub) -> None:
    assert gate(project, github, event=based_on(commit(project))).returncode == 0
    assert github.comments == []


def test_base_that_is_not_there_is_a_warning(project: Path, github: GitHub) -> None:
    commit(project)
    ended = gate(project, github, event=based_on("1" * 40))
    assert ended.returncode == 0
    assert "::warning title=tuvl::the change could not be compared with its base" in ended.stdout
    assert github.comments == []


def test_comment_is_no_longer_than_it_may_be(project: Path, github: GitHub) -> None:
    steps = "".join(
        f"    - {{ id: s{number}, kind: Functional, runner: set, values: {{ x: 1 }} }}\n" for number in range(400)
    )
    write(project, {"w.yaml": workflow() + steps})
    base = commit(project)
    write(project, {"w.yaml": workflow() + steps.replace("values", '"va|ues"').replace("x: 1", "x: 2, y: 3")})
    gate(project, github, event=based_on(base))
    (comment,) = github.comments
    assert 20_000 < len(comment["body"]) <= 65_536
    assert "left out" in comment["body"]
