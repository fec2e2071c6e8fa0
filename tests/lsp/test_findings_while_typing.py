"""Findings as someone types: of the text as it is open, in its version, in the project around it."""

from pathlib import Path
from typing import Any

from tests.support.editor import Editor, text_at

SMALL = """kind: Workflow
metadata: { name: small }
spec:
  input: { type: object, additionalProperties: false, required: [city], properties: { city: { type: string } } }
  steps:
    - id: note
      kind: Functional
      runner: set
      values: { where: "{{ city }}" }
      routes: { default: END }
"""


def speaking(editor: Editor, path: Path, code: str) -> dict[str, Any]:
    """Wait until a check speaks on a file; returns its first finding."""
    found = editor.diagnostics(path, lambda shown: any(one["code"] == code for one in shown))
    return next(one for one in found if one["code"] == code)


def workflow_of(project: Path) -> Path:
    return project / "workflows" / "triage_ticket.yaml"


def test_sound_file_shows_nothing(editor: Editor, project: Path) -> None:
    editor.open(workflow_of(project))
    assert editor.diagnostics(workflow_of(project)) == []


def test_unsaved_change_is_checked_and_its_mend_clears_it(editor: Editor, project: Path) -> None:
    path = workflow_of(project)
    before = path.read_bytes()
    editor.open(path)
    text = editor.type(path, "default: assess,", "default: asses,")
    found = speaking(editor, path, "TV201")
    assert text_at(text, found["range"]) == "asses"
    assert found["severity"] == 1
    assert found["source"] == "tuvl"
    assert "hint: did you mean 'assess'?" in found["message"]
    assert editor.shown[path][0] == 2
    editor.type(path, "default: asses,", "default: assess,")
    assert editor.codes(path) == []
    assert path.read_bytes() == before


def test_findings_are_as_heavy_as_they_are(editor: Editor, project: Path) -> None:
    path = project / "workflows" / "small.yaml"
    editor.open(path, SMALL.replace("routes: { default: END }", "routes: { default: END, nowhere: END }"))
    found = editor.diagnostics(path, lambda shown: any(one["code"] == "TV303" for one in shown))
    dead = next(one for one in found if one["code"] == "TV303")
    assert dead["severity"] == 2
    assert dead["tags"] == [1]


def test_severities_of_the_project_hold_in_the_editor(project: Path, editor: Editor) -> None:
    config = project / "tuvl.yaml"
    config.write_text(config.read_text().replace("spec:\n", "spec:\n  checks: { severity: { TV303: note } }\n", 1))
    path = project / "workflows" / "small.yaml"
    editor.open(path, SMALL.replace("routes: { default: END }", "routes: { default: END, nowhere: END }"))
    found = editor.diagnostics(path, lambda shown: any(one["code"] == "TV303" for one in shown))
    assert [one["severity"] for one in found if one["code"] == "TV303"] == [3]


def test_accepted_finding_is_not_shown(editor: Editor, project: Path) -> None:
    path = project / "workflows" / "small.yaml"
    bad = SMALL.replace("routes: { default: END }", "routes: { default: END, nowhere: END }")
    editor.open(path, bad)
    editor.codes(path, "TV303")
    editor.write(path, bad.replace("nowhere: END }", "nowhere: END } # tuvl: ignore[TV303] on its way"))
    assert editor.codes(path) == []


def test_way_on_which_a_key_is_missing_is_shown_step_by_step(editor: Editor, project: Path) -> None:
    path = project / "workflows" / "small.yaml"
    late = SMALL.replace(
        "  steps:\n",
        "  steps:\n    - id: choose\n      kind: Router\n      when: [{ if: \"{{ city == 'Ulm' }}\", signal: skip }]\n"
        "      routes: { skip: tell, default: note }\n",
    ).replace("routes: { default: END }", "routes: { default: tell }")
    late += "    - id: tell\n      kind: Functional\n      runner: log\n      message: '{{ where }}'\n"
    editor.open(path, late)
    found = editor.diagnostics(path, lambda shown: any(one["code"] in ("TV501", "TV502") for one in shown))
    missing = next(one for one in found if one["code"] in ("TV501", "TV502") and "where" in one["message"])
    steps = [one["message"] for one in missing["relatedInformation"]]
    assert steps == ["1. step 'choose', leaves by 'skip'", "2. step 'tell'"]
    lines = [one["location"]["range"]["start"]["line"] for one in missing["relatedInformation"]]
    assert [late.splitlines()[line].strip() for line in lines] == ["- id: choose", "- id: tell"]


def test_file_that_uses_what_an_unsaved_change_takes_away_is_shown(editor: Editor, project: Path) -> None:
    """The workflow is not open; the preset that it names is renamed in the editor, and back."""
    preset = project / "llms" / "default.yaml"
    editor.open(preset)
    assert editor.diagnostics(preset) == []
    # What is on disk is known once the first check has been through.
    editor.type(preset, "name: default", "name: usual")
    found = speaking(editor, workflow_of(project), "TV206")
    assert "'default'" in found["message"]
    editor.type(preset, "name: usual", "name: default")
    assert editor.codes(workflow_of(project)) == []


def test_open_file_sees_an_unsaved_file_beside_it(editor: Editor, project: Path) -> None:
    path, other = project / "workflows" / "small.yaml", project / "workflows" / "inner.yaml"
    editor.open(
        path,
        SMALL.replace(
            'kind: Functional\n      runner: set\n      values: { where: "{{ city }}" }',
            "kind: Workflow\n      workflow: inner\n      input: { city: '{{ city }}' }",
        ),
    )
    speaking(editor, path, "TV202")
    editor.open(other, SMALL.replace("name: small", "name: inner"))
    editor.diagnostics(path, lambda shown: all(one["code"] != "TV202" for one in shown))
    assert not other.exists()


def test_closed_file_clears_what_it_showed(editor: Editor, project: Path) -> None:
    path = workflow_of(project)
    editor.open(path, path.read_text().replace("default: assess,", "default: asses,"))
    speaking(editor, path, "TV201")
    editor.close(path)
    assert editor.diagnostics(path, lambda shown: shown == []) == []


def test_deleted_file_clears_what_it_showed(editor: Editor, project: Path) -> None:
    preset = project / "llms" / "default.yaml"
    editor.open(preset)
    editor.diagnostics(preset)
    editor.type(preset, "name: default", "name: usual")
    path = workflow_of(project)
    speaking(editor, path, "TV206")
    path.unlink()
    editor.changed_on_disk(path, how=3)
    assert editor.diagnostics(path, lambda shown: shown == []) == []


def test_change_outside_of_the_editor_is_seen(editor: Editor, project: Path) -> None:
    path, nodes = workflow_of(project), project / "nodes" / "orders.py"
    editor.open(path)
    assert editor.diagnostics(path) == []
    nodes.write_text(nodes.read_text().replace('"assess_order"', '"judge_order"'))
    editor.changed_on_disk(nodes)
    speaking(editor, path, "TV207")


# ---- broken texts ---------------------------------------------------------------------------------------------------


def test_broken_line_keeps_what_stood_before(editor: Editor, project: Path) -> None:
    path = workflow_of(project)
    editor.open(path, path.read_text().replace("default: triage }", "default: triage, never: triage }"))
    editor.codes(path, "TV303")
    text = editor.type(path, "        token_budget: 12000\n", "        token_budget: 12000\n        to\n")
    found = editor.codes(path, "TV001", "TV303")
    broken = next(one for one in found if one["code"] == "TV001")
    assert text.splitlines()[broken["range"]["start"]["line"]].strip() == "to"


def test_broken_file_hides_nothing_from_the_files_that_use_it(editor: Editor, project: Path) -> None:
    preset, path = project / "llms" / "default.yaml", workflow_of(project)
    editor.open(path)
    assert editor.diagnostics(path) == []
    editor.open(preset)
    editor.diagnostics(preset)
    editor.write(preset, editor.texts[preset] + "  bro\n")
    editor.diagnostics(preset, lambda shown: any(one["code"] == "TV001" for one in shown))
    # A second change makes a check of both come to its end.
    editor.write(path, editor.texts[path] + "# end\n")
    assert editor.diagnostics(path) == []


def test_foreign_yaml_beside_the_project_shows_nothing(editor: Editor, project: Path) -> None:
    path = project / "compose.yaml"
    editor.open(path, "services: { db: { image: postgres } }\n")
    assert editor.diagnostics(path) == []


# ---- characters -----------------------------------------------------------------------------------------------------


def test_columns_are_counted_as_the_editor_counts_them(editor: Editor, project: Path) -> None:
    path = project / "workflows" / "small.yaml"
    text = SMALL.replace(
        'values: { where: "{{ city }}" }', 'values: { "🚀🚀": "𝒳 é", where: "{{ city }}", bogus: "{{ citty }}" }'
    )
    editor.open(path, text)
    found = editor.diagnostics(path, lambda shown: any("citty" in one["message"] for one in shown))
    place = next(one["range"] for one in found if "citty" in one["message"])
    assert "{{ citty }}" in text_at(text, place)


def test_changes_after_characters_of_two_units_hit_their_place(editor: Editor, project: Path) -> None:
    path = project / "workflows" / "small.yaml"
    editor.open(path, SMALL.replace("name: small", "name: small, description: '🚀 𝒳 rocket'"))
    assert editor.diagnostics(path) == []
    editor.type(path, "rocket'", "rocket', grup: x")
    (found,) = editor.codes(path, "TV101")
    assert text_at(editor.texts[path], found["range"]) == "grup"


def test_line_ends_of_windows_and_invisible_breaks_keep_the_lines(editor: Editor, project: Path) -> None:
    path = project / "workflows" / "small.yaml"
    text = SMALL.replace("name: small", "name: small, description: 'a\u2028b'").replace("\n", "\r\n")
    editor.open(path, text)
    assert editor.diagnostics(path) == []
    document = {"uri": path.as_uri(), "version": 2}
    line = text.split("\r\n").index("      runner: set")
    change = {
        "range": {"start": {"line": line, "character": 14}, "end": {"line": line, "character": 17}},
        "text": "sett",
    }
    editor.versions[path] = 2
    editor.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})
    assert speaking(editor, path, "TV207")["range"] == {
        "start": {"line": line, "character": 14},
        "end": {"line": line, "character": 18},
    }


def test_many_changes_in_a_row_end_with_the_last_text(editor: Editor, project: Path) -> None:
    path = workflow_of(project)
    editor.open(path)
    for number in range(40):
        editor.type(path, "default: assess", f"default: assess{number}") if number % 2 == 0 else editor.type(
            path, f"default: assess{number - 1}", "default: assess"
        )
    assert editor.versions[path] == 41
    assert editor.codes(path) == []
    assert editor.shown[path][0] == 41
