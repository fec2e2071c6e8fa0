"""The server as a process: it begins, ends, keeps stdout for the protocol, and runs nothing of a project."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import CAPABILITIES, Editor, editing, uri_of
from tuvl.cli.app import main

COMMAND = [sys.executable, "-m", "tuvl", "lsp"]


def test_closed_stdin_ends_it_cleanly(tmp_path: Path) -> None:
    ended = subprocess.run(COMMAND, stdin=subprocess.DEVNULL, capture_output=True, cwd=tmp_path, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")


def test_editor_that_goes_away_in_the_middle_ends_it(project: Path) -> None:
    with editing(project) as editor:
        editor.open(project / "workflows" / "triage_ticket.yaml")
        assert editor.process.stdin is not None
        editor.process.stdin.close()
        assert editor.process.wait(timeout=30) == 0


def test_exit_without_shutdown_is_code_one(project: Path) -> None:
    with editing(project) as editor:
        editor.notify("exit", None)
        assert editor.process.wait(timeout=30) == 1


def test_shutdown_and_exit_are_code_zero_while_a_check_is_under_way(project: Path) -> None:
    path = project / "workflows" / "long.yaml"
    steps = "".join(
        f"    - {{ id: s{n}, kind: Functional, runner: set, values: {{ k{n}: x }} }}\n" for n in range(1500)
    )
    with editing(project) as editor:
        editor.open(path, f"kind: Workflow\nmetadata: {{ name: long }}\nspec:\n  steps:\n{steps}")
        assert editor.end() == 0


def test_nothing_of_the_project_is_run(project: Path) -> None:
    """A node that leaves a trace when it is imported, and prints; a file of the project that shadows a module."""
    trace = project / "trace.txt"
    (project / "nodes" / "loud.py").write_text(
        f"from tuvl import node\nopen({str(trace)!r}, 'w')\nprint('loud')\n@node('loud')\ndef loud(ctx): ...\n",
        encoding="utf-8",
    )
    (project / "lsprotocol.py").write_text("raise SystemExit('imported')\n", encoding="utf-8")
    path = project / "workflows" / "triage_ticket.yaml"
    with editing(project) as editor:
        editor.open(path, path.read_text(encoding="utf-8").replace("runner: assess_order", "runner: loud"))
        editor.diagnostics(path)
        assert "`nodes/loud.py:4`" in editor.hover(path, "runner: loud", at=9)
    assert not trace.exists()


@pytest.mark.parametrize("uri", ["untitled:Untitled-1", "file:///nowhere/at/all.yaml", "git:/x.yaml", ""])
def test_text_that_is_no_file_of_a_project_harms_nothing(server: Editor, desk: Path, uri: str) -> None:
    item = {"uri": uri, "languageId": "yaml", "version": 1, "text": "kind: Workflow\n"}
    server.notify("textDocument/didOpen", {"textDocument": item})
    params = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 1}}
    answer = server.request("textDocument/hover", params)
    assert answer is None or "kind" in answer["contents"]["value"]
    server.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert "**assess**" in server.hover(desk, "default: assess,", at=10)


def test_questions_about_places_that_are_not_there_get_nothing(server: Editor, desk: Path) -> None:
    blank = desk.read_text(encoding="utf-8").split("\n").index("")
    for place in ({"line": 99999, "character": 0}, {"line": blank, "character": 99999}):
        assert server.request("textDocument/hover", server.at(desk, place)) is None
        assert server.request("textDocument/definition", server.at(desk, place)) == []
        assert server.request("textDocument/completion", server.at(desk, place))["isIncomplete"] is False
    unopened = desk.parent / "unopened.yaml"
    assert server.request("textDocument/documentSymbol", {"textDocument": {"uri": uri_of(unopened)}}) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "\x00",
        "a: &x [*x]",
        "- - - -",
        "{" * 500,
        "kind: [",
        "!!python/object:os.system x",
        "'",
        "\ufeffkind: Workflow",
        "\udc80",
    ],
)
def test_odd_texts_are_answered(editor: Editor, project: Path, text: str) -> None:
    path = project / "workflows" / "odd.yaml"
    editor.open(path, text)
    editor.diagnostics(path)
    for method in ("hover", "definition", "completion"):
        editor.request(f"textDocument/{method}", editor.at(path, {"line": 0, "character": 1}))
    editor.request("textDocument/documentSymbol", {"textDocument": {"uri": uri_of(path)}})


def test_file_of_ten_thousand_steps_is_checked_and_answered(project: Path) -> None:
    path = project / "workflows" / "huge.yaml"
    steps = "".join(
        f"    - id: s{n}\n      kind: Functional\n      runner: set\n      values: {{ k{n}: x }}\n"
        for n in range(10_000)
    )
    steps = steps.replace("runner: set\n", "runner: sett\n", 1)
    with editing(project) as editor:
        editor.open(path, f"kind: Workflow\nmetadata: {{ name: huge }}\nspec:\n  steps:\n{steps}")
        assert "**s5000**" in editor.hover(path, "id: s5000", at=5)
        editor.diagnostics(path, lambda found: any(one["code"] == "TV207" for one in found))


def test_missing_package_is_told_with_what_installs_it(tmp_path: Path) -> None:
    """The server's package is hidden by one that cannot be imported."""
    (tmp_path / "pygls").mkdir()
    (tmp_path / "pygls" / "__init__.py").write_text("raise ModuleNotFoundError('no', name='pygls')\n", encoding="utf-8")
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    ended = subprocess.run(COMMAND, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environ, check=False)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr == "tuvl: tuvl lsp needs the package 'pygls'; install it with pip install 'tuvl[lsp]'\n"


def test_words_that_it_does_not_take_are_misuse(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["lsp", "--stdoi"]) == 2
    assert main(["lsp", "file.yaml"]) == 2
    assert "Traceback" not in capfd.readouterr().err


def test_capabilities_are_those_that_work(server: Editor) -> None:
    assert CAPABILITIES["workspace"]["didChangeWatchedFiles"]["dynamicRegistration"]
    providers = {name for name, value in server.capabilities.items() if name.endswith("Provider") and value}
    assert providers == {
        "hoverProvider",
        "definitionProvider",
        "referencesProvider",
        "documentSymbolProvider",
        "completionProvider",
        "codeActionProvider",
        "renameProvider",
        "executeCommandProvider",
    }
    assert server.capabilities["textDocumentSync"]["change"] == 2


# ---- messages that cannot be taken -----------------------------------------------------------------------------------


def refused(editor: Editor, message: dict[str, Any]) -> tuple[int, str]:
    """Send a message as it is, and return code and text of the refusal."""
    answer = editor.answer_to(message)
    return answer["error"]["code"], answer["error"]["message"]


POSITION = {"line": 0, "character": 0}


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("textDocument/hover", {"textDocument": {"uri": "file:///x.yaml"}}, -32602),
        (
            "textDocument/hover",
            {"textDocument": {"uri": "file:///x.yaml"}, "position": POSITION | {"line": -1}},
            -32602,
        ),
        ("textDocument/hover", [1], -32602),
        ("textDocument/hover", None, -32602),
        ("textDocument/hover", ..., -32602),
        ("textDocument/rename", {"textDocument": {"uri": "file:///x.yaml"}, "position": POSITION}, -32602),
        ("no/such", {}, -32601),
        ("no/such", [1], -32601),
        ("no/such", ..., -32601),
        ("initialize", {"processId": None, "rootUri": None, "capabilities": {}}, -32600),
    ],
)
@pytest.mark.parametrize("number", [7001, "seven"])
def test_request_that_cannot_be_taken_is_refused_and_never_left_waiting(
    server: Editor, method: str, params: Any, code: int, number: int | str
) -> None:
    message = {"jsonrpc": "2.0", "id": number, "method": method}
    assert refused(server, message if params is ... else {**message, "params": params})[0] == code


@pytest.mark.parametrize("text", ["{", "[]", "1", "{}", '{"id": 5}'])
def test_what_is_no_message_is_refused_without_a_number(server: Editor, text: str) -> None:
    answer = server.answer_to(text)
    assert answer["id"] is None
    assert answer["error"]["code"] in (-32700, -32600, -32602)


def test_notification_that_cannot_be_read_harms_nothing(server: Editor, desk: Path) -> None:
    server.notify("no/such", [1])
    assert server.hover(desk, "kind: Workflow")


def test_request_before_the_beginning_is_refused(project: Path) -> None:
    with editing(project, begin=False) as editor:
        asked = {"jsonrpc": "2.0", "id": 1, "method": "textDocument/hover"}
        assert refused(editor, {**asked, "params": editor.at(project / "x.yaml", POSITION)})[0] == -32002
        assert refused(editor, {"jsonrpc": "2.0", "id": 2, "method": "shutdown"})[0] == -32002
        editor.begin()


def test_request_after_shutdown_is_refused(project: Path) -> None:
    with editing(project) as editor:
        editor.request("shutdown", None)
        asked = {"jsonrpc": "2.0", "id": 90, "method": "textDocument/hover"}
        assert refused(editor, {**asked, "params": editor.at(project / "x.yaml", POSITION)})[0] == -32600
        editor.notify("exit", None)
        assert editor.process.wait(timeout=30) == 0


def test_message_of_a_size_that_none_has_ends_it_with_a_word(tmp_path: Path) -> None:
    ended = subprocess.run(
        COMMAND, input=b"Content-Length: 99999999999999\r\n\r\n{}", capture_output=True, cwd=tmp_path, check=False
    )
    assert (ended.returncode, ended.stdout) == (1, b"")
    assert b"a message of 99,999,999,999,999 bytes is announced" in ended.stderr
    assert b"Traceback" not in ended.stderr


@pytest.mark.skipif(os.name != "posix", reason="processes cannot be asked elsewhere")
def test_it_ends_when_the_editor_that_started_it_is_gone(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    body = json.dumps(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {"processId": gone.pid, "rootUri": None, "capabilities": {}},
        }
    ).encode()
    with subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=tmp_path
    ) as server:
        assert server.stdin is not None
        assert server.stderr is not None
        server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        server.stdin.flush()
        # Stdin stays open: somebody else may hold it.
        assert server.wait(timeout=60) == 1
        assert server.stderr.read() == b"tuvl lsp: the editor that started it is gone; the server ends\n"
