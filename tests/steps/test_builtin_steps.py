"""The built-in runners `set`, `wait`, `fail`, `log`."""

import asyncio
import logging

import pytest

from tests.engine.run_support import Project
from tuvl.testing.clock import ManualClock


async def test_set_keeps_the_type_of_a_single_expression_at_any_depth(tmp_path):
    result = await Project(
        tmp_path,
        """
        - id: a
          kind: Functional
          runner: set
          values:
            copy: "{{ order }}"
            n: "{{ order.n }}"
            text: "n is {{ order.n }}"
            deep: [{ x: "{{ order.n }}" }]
        """,
    ).run({"order": {"n": 3}})
    assert result.context == {"order": {"n": 3}, "copy": {"n": 3}, "n": 3, "text": "n is 3", "deep": [{"x": 3}]}


async def test_what_a_template_gives_is_never_a_template_again(tmp_path):
    steps = """
        - { id: a, kind: Functional, runner: set, values: { b: "{{ a }}" } }
        - { id: b, kind: Functional, runner: set, values: { c: "{{ b }}!" } }
        """
    result = await Project(tmp_path, steps).run({"a": "{{ _last_error }}"})
    assert result.context["c"] == "{{ _last_error }}!"


async def test_wait_waits_on_the_clock(tmp_path):
    project = Project(tmp_path, '- { id: a, kind: Functional, runner: wait, seconds: "{{ n * 2 }}" }')
    project.clock = clock = ManualClock()
    run = asyncio.create_task(project.run({"n": 30}))
    async with asyncio.timeout(10):
        await clock.until_someone_sleeps()
        await clock.advance(59)
        assert not run.done()
        await clock.advance(1)
        result = await run
    assert clock.slept == [60]
    assert result.steps[0].duration_ms == 60_000


@pytest.mark.parametrize("value", ["soon", -1, True, None, [1]])
async def test_wait_for_what_is_no_number_of_seconds_is_an_error(tmp_path, value):
    result = await Project(tmp_path, '- { id: a, kind: Functional, runner: wait, seconds: "{{ n }}" }').run(
        {"n": value}
    )
    assert result.error is not None
    assert result.error.type == "bad_value"


async def test_log_writes_one_line_with_run_and_step(tmp_path, caplog):
    caplog.set_level(logging.DEBUG, logger="tuvl.workflow")
    steps = '- { id: a, kind: Functional, runner: log, message: "{{ n }} of\\n{{ m }}", level: warning }'
    result = await Project(tmp_path, steps).run({"n": 1, "m": 2})
    (record,) = caplog.records
    assert (record.levelname, record.message) == ("WARNING", "1 of\\n2")
    assert (record.run_id, record.step_id) == (result.run_id, "a")
