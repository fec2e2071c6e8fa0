"""Quick fixes: what `tuvl validate --fix` would mend, mended in the open text, and comments that accept a finding."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import Editor, applied, editing


def finding(editor: Editor, path: Path, code: str) -> dict[str, Any]:
    shown = editor.diagnostics(path, lambda found: any(one["code"] == code for one in found))
    return next(one for one in shown if one["code"] == code)


def edits_of(action: dict[str, Any]) -> list[dict[str, Any]]:
    (change,) = action["edit"]["documentChanges"]
    edits: list[dict[str, Any]] = change["edits"]
    return edits


def workflow(project: Path) -> Path:
    return project / "workflows" / "triage_ticket.yaml"


def test_misspelt_name_is_mended_as_the_command_line_mends_it(editor: Editor, project: Path) -> None:
    path = workflow(project)
    sound = path.read_text(encoding="utf-8")
    editor.open(path, sound.replace("because_order_held, default: triage", "because_order_hold, default: triage"))
    action = editor.actions(path, finding(editor, path, "TV201"))[0]
    assert action["kind"] == "quickfix"
    assert action["isPreferred"] is True
    assert action["diagnostics"][0]["code"] == "TV201"
    assert action["edit"]["documentChanges"][0]["textDocument"]["version"] == 1
    assert applied(editor.texts[path], edits_of(action)) == sound


def test_everything_that_is_certain_is_mended_at_once(editor: Editor, project: Path) -> None:
    path = workflow(project)
    text = path.read_text(encoding="utf-8").replace("default: assess,", "default: asess,")
    text = text.replace("max_iterations: 6", "max_iteratons: 6").replace("      timeout: 10\n", "      timeuot: 10\n")
    editor.open(path, text)
    found = finding(editor, path, "TV101")
    (action,) = editor.actions(path, found, only=["source.fixAll"])
    mended = applied(text, edits_of(action))
    path.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "tuvl", "validate", str(path), "--fix", "--quiet"]
    subprocess.run(command, capture_output=True, check=False, cwd=project)
    assert mended == path.read_text(encoding="utf-8")


def test_finding_can_be_accepted_with_a_comment(editor: Editor, project: Path) -> None:
    path = workflow(project)
    text = path.read_text(encoding="utf-8").replace("default: triage }", "default: triage, never: triage }")
    editor.open(path, text)
    action = next(one for one in editor.actions(path, finding(editor, path, "TV303")) if "Accept" in one["title"])
    accepted = applied(text, edits_of(action))
    assert "      # tuvl: ignore[TV303] say here why this is accepted\n      routes: { held:" in accepted
    editor.write(path, accepted)
    assert editor.codes(path) == []


@pytest.mark.parametrize(
    ("code", "old", "new"),
    [
        ("TV201", "default: assess,", "default: nowhere_at_all,"),
        ("TV401", "mode: autonomous", "mode: on_its_own_somehow"),
    ],
)
def test_error_that_keeps_a_file_from_running_cannot_be_accepted(
    editor: Editor, project: Path, code: str, old: str, new: str
) -> None:
    path = workflow(project)
    editor.open(path, path.read_text(encoding="utf-8").replace(old, new))
    assert editor.actions(path, finding(editor, path, code)) == []


def test_comment_of_a_file_with_windows_line_ends_ends_like_its_lines(editor: Editor, project: Path) -> None:
    path = workflow(project)
    text = path.read_text(encoding="utf-8").replace("default: triage }", "default: triage, never: triage }")
    editor.open(path, text.replace("\n", "\r\n"))
    action = next(one for one in editor.actions(path, finding(editor, path, "TV303")) if "Accept" in one["title"])
    assert edits_of(action)[0]["newText"].endswith("accepted\r\n")


def test_text_that_changed_since_it_was_checked_gets_no_stale_edit(editor: Editor, project: Path) -> None:
    path = workflow(project)
    sound = path.read_text(encoding="utf-8")
    editor.open(path, sound.replace("because_order_held, default: triage", "because_order_hold, default: triage"))
    found = finding(editor, path, "TV201")
    editor.write(path, sound)
    assert editor.actions(path, found) == []


def test_editor_without_versioned_edits_gets_plain_ones(project: Path) -> None:
    with editing(project, capabilities={"textDocument": {"publishDiagnostics": {}}}) as plain:
        path = workflow(project)
        sound = path.read_text(encoding="utf-8")
        plain.open(path, sound.replace("because_order_held, default: triage", "because_order_hold, default: triage"))
        action = plain.actions(path, finding(plain, path, "TV201"))[0]
        ((edits),) = action["edit"]["changes"].values()
        assert applied(plain.texts[path], edits) == sound
        assert plain.registered == []
