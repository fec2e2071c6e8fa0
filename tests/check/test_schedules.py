"""What `tuvl validate` says of schedules, and that such a workflow does not run."""

from pathlib import Path

import pytest

from tests.check.checking import check, messages, workflow
from tuvl.errors import ConfigError
from tuvl.plan.compile import compile_workflow
from tuvl.project.index import ProjectIndex

STEP = "- { id: a, kind: Functional, runner: set, values: { done: true } }"
REGION = "input: { type: object, properties: { region: { type: string } }, required: [region] }"


@pytest.mark.parametrize(
    ("head", "code", "said"),
    [
        ('trigger: { schedule: "0 25 * * *" }', "TV111", "25 is outside 0-23"),
        ('trigger: { schedule: "0 5 * * *", timezone: Mars/Base }', "TV111", "no time zone 'Mars/Base'"),
        ('trigger: { schedule: "0 5 * * *", timezone: ../etc }', "TV111", "no time zone '../etc'"),
        ('trigger: { schedule: "0 5 * * *", timezone: Europe }', "TV111", "no time zone 'Europe'"),
        ("trigger: { path: /a, timezone: Europe/Berlin }", "TV111", "`trigger.timezone` is for runs"),
        ("trigger: { path: /a, input: { region: eu } }", "TV111", "`trigger.input` is for runs"),
        ("trigger: { path: /login }", "TV111", "'/login' of the trigger is one of the server itself"),
        ("trigger: { path: / }", "TV111", "is one of the server itself"),
        ("trigger: { path: /api/runs/x }", "TV111", "is one of the server itself"),
        ('trigger: { path: "/a%20b" }', "TV111", "compared without their escapes"),
        ('trigger: { path: "/a?b=1" }', "TV111", "no part of a path"),
        ("trigger: { path: /a/../b }", "TV111", "clients resolve"),
        (f'trigger: {{ schedule: "0 5 * * *" }}\n{REGION}', "TV503", "requires 'region', and `trigger.input` has none"),
        ('trigger: { schedule: "0 5 * * *", input: { _x: 1 } }', "TV503", "'_x' is reserved"),
    ],
)
def test_a_trigger_that_would_start_nothing_is_an_error(tmp_path: Path, head: str, code: str, said: str) -> None:
    (message,) = messages(check(tmp_path, workflow(STEP, head)), code)
    assert said in message
    project = ProjectIndex(tmp_path)
    document = project.workflow("w")
    assert document is not None
    with pytest.raises(ConfigError):
        compile_workflow(document, project)


@pytest.mark.parametrize(
    "head",
    [
        f'trigger: {{ schedule: "0 5 * * *", timezone: Europe/Berlin, input: {{ region: eu }} }}\n{REGION}',
        'trigger: { path: /a, schedule: "0 5 * * mon" }',
        f"trigger: {{ path: /a }}\n{REGION}",
    ],
)
def test_a_schedule_that_starts_runs_is_none(tmp_path: Path, head: str) -> None:
    report = check(tmp_path, workflow(STEP, head))
    assert messages(report, "TV111") == messages(report, "TV503") == []
