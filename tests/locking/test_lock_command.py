"""`tuvl lock` at the terminal: what it writes and prints, and what becomes of every wrong word and every odd server."""

import json
import sys
from pathlib import Path

import pytest

from tests.check.project_files import write
from tests.locking.lock_project import FILES
from tuvl.__main__ import main
from tuvl.locking.lock_file import LOCK_NAME, read_lock
from tuvl.locking.tools import locked_tools

ODD = Path(__file__).parents[1] / "support" / "odd_mcp_server.py"
OFFLINE = {name: text for name, text in FILES.items() if name != "artifacts/clock.yaml"}
OFFLINE["workflows/triage.yaml"] = """\
kind: Workflow
metadata: { name: triage }
spec:
  steps:
    - id: answer
      kind: Agent
      mode: completion
      agent: { model: main, system: "artifact://voice@2", prompt: Answer., outcome: { write: reply } }
      routes: { error: END, aborted: END, timeout: END }
"""
CLOCK = """\
kind: Workflow
metadata: { name: clock }
spec:
  steps:
    - { id: now, kind: MCP, mcp: { server: "artifact://clock@1", tool: TOOL, arguments: ARGUMENTS } }
"""


def server(*words: str, env: str = "{}") -> str:
    args = json.dumps(list(words))
    return (
        "kind: Artifact\nmetadata: { name: clock }\n"
        f"spec: {{ type: mcp, transport: stdio, command: {json.dumps(sys.executable)}, args: {args}, env: {env} }}\n"
    )


TIME = {
    "workflows/clock.yaml": CLOCK.replace("TOOL", "get_current_time").replace("ARGUMENTS", "{ timezone: UTC }"),
    "artifacts/clock.yaml": server("-m", "mcp_server_time", "--local-timezone", "UTC"),
}


@pytest.fixture(autouse=True)
def servers_take_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """How long they need to start is the machine's affair, but where a test says how long they may."""
    monkeypatch.setattr("tuvl.cli.lock.CONNECT_TIMEOUT_S", 100.0)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(write(tmp_path, OFFLINE))
    return tmp_path


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(write(tmp_path, TIME))
    return tmp_path


def odd(root: Path, *habits: str, tool: str = "echo", env: str = "{}") -> None:
    text = CLOCK.replace("TOOL", tool).replace("ARGUMENTS", "{}")
    write(root, {"workflows/clock.yaml": text, "artifacts/clock.yaml": server(str(ODD), *habits, env=env)})


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["lock", *words])
    done = capsys.readouterr()
    return code, done.out, done.err


def test_first_lock_is_written_and_the_second_says_what_has_changed(shop: Path, capsys) -> None:
    assert run(capsys) == (0, "", "tuvl lock: tuvl.lock written: 9 entries\n")
    assert run(capsys) == (0, "", "tuvl lock: tuvl.lock is as it was: 9 entries\n")
    path = shop / "artifacts/voice.md"
    path.write_text(path.read_text(encoding="utf-8").replace("Be brief.", "Talk."), encoding="utf-8")
    told = "prompt `voice@2` changed: 1 line differs\n     Be kind.\n    -Be brief.\n    +Talk.\n     Sign it.\n"
    assert run(capsys) == (0, told, "tuvl lock: tuvl.lock written: 9 entries, 1 change\n")


def test_check_is_clean_after_a_lock_and_fails_with_what_drifted(shop: Path, capsys) -> None:
    run(capsys)
    before = (shop / LOCK_NAME).read_bytes()
    assert run(capsys, "--check") == (0, "", "tuvl lock: all is as it was locked\n")
    (shop / "llms/main.yaml").write_text(FILES["llms/main.yaml"].replace("0.2", "0.9"), encoding="utf-8")
    assert run(capsys, "--check") == (1, "preset `main`: temperature 0.2 → 0.9\n", "")
    assert (shop / LOCK_NAME).read_bytes() == before


def test_check_for_programs_names_place_and_kind(shop: Path, capsys) -> None:
    run(capsys)
    (shop / "llms/main.yaml").write_text(FILES["llms/main.yaml"].replace("0.2", "0.9"), encoding="utf-8")
    code, out, _ = run(capsys, "--check", "--format", "json")
    assert code == 1
    assert json.loads(out)["drift"] == [
        {
            "section": "presets",
            "name": "main",
            "kind": "changed",
            "file": "llms/main.yaml",
            "path": "spec.temperature",
            "line": None,
            "message": "preset `main`: temperature 0.2 → 0.9",
            "diff": [],
        }
    ]


def test_check_without_a_lock_fails_and_says_how_to_write_one(shop: Path, capsys) -> None:
    assert run(capsys, "--check") == (1, "the project has no tuvl.lock; `tuvl lock` writes it\n", "")


def test_damaged_lock_fails_a_check_and_is_written_over_by_a_lock(shop: Path, capsys) -> None:
    run(capsys)
    text = (shop / LOCK_NAME).read_text(encoding="utf-8")
    (shop / LOCK_NAME).write_text(f"<<<<<<< ours\n{text}=======\n>>>>>>> theirs\n", encoding="utf-8")
    code, out, err = run(capsys, "--check")
    assert (code, out) == (2, "")
    assert "merge" in err
    code, out, err = run(capsys)
    assert (code, out) == (0, "")
    assert "the earlier lock is written over" in err
    assert (shop / LOCK_NAME).read_text(encoding="utf-8") == text


def test_lock_of_a_newer_tuvl_is_never_written_over(shop: Path, capsys) -> None:
    run(capsys)
    newer = (shop / LOCK_NAME).read_text(encoding="utf-8").replace("lock_version: 1", "lock_version: 2")
    (shop / LOCK_NAME).write_text(newer, encoding="utf-8")
    code, _, err = run(capsys)
    assert code == 2
    assert "upgrade" in err
    assert (shop / LOCK_NAME).read_text(encoding="utf-8") == newer


def test_lock_of_another_tuvl_of_the_same_form_is_told_and_no_drift(shop: Path, capsys) -> None:
    run(capsys)
    text = (shop / LOCK_NAME).read_text(encoding="utf-8")
    (shop / LOCK_NAME).write_text(text.replace("\ntuvl: ", "\ntuvl: 0.0.9 # "), encoding="utf-8")
    code, out, err = run(capsys, "--check")
    assert (code, out) == (0, "")
    assert "locked with tuvl 0.0.9" in err


def test_project_with_errors_is_not_locked(shop: Path, capsys) -> None:
    write(shop, {"workflows/more.yaml": "kind: Workflow\nmetadata: { name: more }\nspec: { stepps: [] }\n"})
    code, out, err = run(capsys)
    assert (code, out) == (1, "")
    assert "TV101" in err
    assert "nothing was locked" in err
    assert not (shop / LOCK_NAME).exists()


def test_folder_without_documents_is_not_locked(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys)
    assert (code, out) == (1, "")
    assert "holds no document" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--project", "nowhere"], "no folder"),
        (["--timeout", "0"], "number above 0"),
        (["--formt", "json"], "did you mean '--format'?"),
        (["--format", "jsn"], "did you mean 'json'?"),
        (["extra"], "extra"),
    ],
)
def test_wrong_words_are_told(words: list[str], said: str, shop: Path, capsys) -> None:
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert said in err


def test_folder_in_the_place_of_the_lock_is_told(shop: Path, capsys) -> None:
    (shop / LOCK_NAME).mkdir()
    for words in ([], ["--check"]):
        code, _, err = run(capsys, *words)
        assert code == 2
        assert "is a directory" in err


def test_project_is_locked_from_elsewhere(shop: Path, tmp_path_factory, monkeypatch, capsys) -> None:
    run(capsys)
    here = (shop / LOCK_NAME).read_bytes()
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    code, _, err = run(capsys, "--project", str(shop))
    assert code == 0
    assert "is as it was" in err
    assert (shop / LOCK_NAME).read_bytes() == here


# ---- servers --------------------------------------------------------------------------------------------------------


def test_tools_of_a_real_server_are_locked_as_it_describes_them(clock: Path, capsys) -> None:
    code, out, err = run(capsys)
    assert (code, out) == (0, "")
    assert "asking 'clock@1' for tools" in err
    (schema,) = locked_tools(read_lock(clock))["clock@1"].values()
    assert schema.description == "Get current time in a specific timezone"
    assert schema.input_schema["required"] == ["timezone"]
    assert run(capsys, "--check")[:2] == (0, "")


def test_server_that_cannot_be_started_is_named_and_the_earlier_lock_is_kept(clock: Path, capsys) -> None:
    run(capsys)
    before = (clock / LOCK_NAME).read_bytes()
    write(clock, {"artifacts/clock.yaml": server("-m", "no_such_module_at_all")})
    for words in ([], ["--check"]):
        code, out, err = run(capsys, *words)
        assert (code, out) == (2, "")
        assert "'artifact://clock@1'" in err
        assert "--offline keeps" in err
        assert (clock / LOCK_NAME).read_bytes() == before


def test_offline_keeps_the_tools_and_says_so(clock: Path, capsys) -> None:
    run(capsys)
    tools = locked_tools(read_lock(clock))
    write(clock, {"artifacts/clock.yaml": server("-m", "no_such_module_at_all")})
    code, out, err = run(capsys, "--offline")
    assert code == 0
    assert out.startswith("MCP server `clock@1`: args ")
    assert "--offline asks no server" in err
    assert locked_tools(read_lock(clock)) == tools
    assert run(capsys, "--check", "--offline")[0] == 0


def test_offline_tells_of_tools_that_were_never_locked(clock: Path, capsys) -> None:
    code, _, err = run(capsys, "--offline")
    assert code == 0
    assert "'get_current_time' of server 'clock@1' was never locked" in err
    code, out, _ = run(capsys, "--check", "--offline")
    assert (code, out) == (1, "tool `get_current_time` of server `clock@1` is called, and was never locked\n")


def test_offline_cannot_keep_the_tools_of_a_damaged_lock(clock: Path, capsys) -> None:
    (clock / LOCK_NAME).write_text("", encoding="utf-8")
    code, _, err = run(capsys, "--offline")
    assert code == 2
    assert "is empty" in err


def test_tool_that_the_server_does_not_have_is_named_with_the_nearest(clock: Path, capsys) -> None:
    write(clock, {"workflows/clock.yaml": TIME["workflows/clock.yaml"].replace("get_current", "get_curent")})
    code, _, err = run(capsys)
    assert code == 2
    assert "did you mean 'get_current_time'?" in err
    assert "nothing was locked" in err


def test_server_that_never_answers_is_given_up_in_time(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {**TIME, "artifacts/clock.yaml": server("-c", "import time; time.sleep(600)")})
    code, _, err = run(capsys, "--timeout", "0.5")
    assert code == 2
    assert "was not ready within 0.5 s" in err


def test_server_whose_variable_is_not_set_is_named_with_it(clock: Path, capsys) -> None:
    write(clock, {"artifacts/clock.yaml": server("-m", "mcp_server_time", env='{ KEY: "${NO_SUCH_CLOCK_KEY}" }')})
    code, _, err = run(capsys)
    assert code == 2
    assert "'NO_SUCH_CLOCK_KEY'" in err


def test_server_that_no_step_calls_is_not_started(shop: Path, capsys) -> None:
    write(shop, {"artifacts/clock.yaml": server("-c", "raise SystemExit(1)")})
    code, _, err = run(capsys)
    assert code == 0
    assert "asking" not in err


def test_change_at_a_server_is_told_in_its_callers_words(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"server.py": SERVER.replace("REQUIRED", "[]"), **_own_server()})
    assert run(capsys)[0] == 0
    write(tmp_path, {"server.py": SERVER.replace("REQUIRED", '["tz"]')})
    code, out, _ = run(capsys, "--check")
    assert (code, out) == (1, "tool `get_time` of server `clock@1`: parameter `tz` is now required\n")
    assert run(capsys)[1] == out


SERVER = """\
import json, sys

TOOL = {"name": "get_time", "description": "The time.", "inputSchema": {"type": "object",
        "properties": {"tz": {"type": "string"}}, "required": REQUIRED}}

for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        result = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "clock", "version": "1"}}
    elif asked.get("method") == "tools/list":
        result = {"tools": [TOOL]}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


def _own_server() -> dict[str, str]:
    text = CLOCK.replace("TOOL", "get_time").replace("ARGUMENTS", "{ tz: UTC }")
    return {"workflows/clock.yaml": text, "artifacts/clock.yaml": server("server.py")}
