"""Where signals lead: routes, fall-through, ends, and what is not mapped."""

import asyncio

import pytest

from tests.engine.run_support import Project, ids

A_B_C = """
- { id: a, kind: Functional, runner: set, values: { seen_a: true } }
- { id: b, kind: Functional, runner: set, values: { seen_b: true } }
- { id: c, kind: Functional, runner: set, values: { seen_c: true } }
"""


async def test_unmapped_default_falls_through_to_the_end(tmp_path):
    result = await Project(tmp_path, A_B_C).run()
    assert (result.status, result.signal, result.exit_code) == ("completed", "default", 0)
    assert ids(result) == ["a", "b", "c"]
    assert result.context == {"seen_a": True, "seen_b": True, "seen_c": True}
    assert result.output == result.context
    assert result.error is None


async def test_a_route_to_end_ends_the_run_there(tmp_path):
    result = await Project(
        tmp_path,
        """
        - { id: a, kind: Functional, runner: set, values: { x: 1 }, routes: { default: END } }
        - { id: b, kind: Functional, runner: set, values: { y: 1 } }
        """,
    ).run()
    assert (result.status, ids(result)) == ("completed", ["a"])


async def test_an_unmapped_error_ends_the_run_cleanly_as_failed_with_a_warning(tmp_path):
    result = await Project(
        tmp_path,
        """
        - { id: a, kind: Functional, runner: fail, message: "no stock of {{ item }}" }
        - { id: b, kind: Functional, runner: set, values: { y: 1 } }
        """,
        input={"type": "object"},
    ).run({"item": "tea"})
    assert (result.status, result.signal, result.exit_code) == ("failed", "error", 1)
    assert ids(result) == ["a"]
    assert result.error is not None
    assert result.error.to_json() == {"type": "failed", "message": "no stock of tea", "step": "a", "detail": {}}
    assert result.warnings == ("step 'a' left on 'error', which it does not map; the run ends here",)


async def test_a_routed_error_completes_and_is_still_told(tmp_path):
    result = await Project(
        tmp_path,
        """
        - { id: a, kind: Functional, runner: fail, message: no stock, routes: { error: mend } }
        - { id: mend, kind: Functional, runner: set, values: { why: "{{ _last_error }} ({{ _last_error_type }})" } }
        """,
    ).run()
    assert (result.status, result.signal) == ("completed", "default")
    assert result.context == {"why": "no stock (failed)"}
    assert result.error is not None
    assert (result.error.step, result.error.message) == ("a", "no stock")


async def test_another_unmapped_signal_is_an_engine_error_that_names_everything(tmp_path):
    project = Project(
        tmp_path,
        """
        - { id: a, kind: Functional, runner: pick, routes: { left: END } }
        - { id: b, kind: Functional, runner: set, values: { y: 1 } }
        """,
    )
    project.node(
        """
        from tuvl import node

        @node("pick")
        async def pick(ctx):
            return "rihgt"
        """
    )
    result = await project.run()
    assert (result.status, result.signal, result.exit_code) == ("failed", "rihgt", 1)
    assert result.error is not None
    assert (result.error.type, result.error.step) == ("unmapped_signal", "a")
    assert "'rihgt'" in result.error.message
    assert "'left'" in result.error.message
    assert result.error.detail == {"signal": "rihgt", "mapped": ["left"]}


async def test_a_cycle_without_exit_ends_on_max_steps_with_a_clear_error(tmp_path):
    """N02 wf.cycle."""
    result = await Project(
        tmp_path,
        """
        - id: a
          kind: Router
          match: { field: where }
          routes: { on: b, out: END, default: END }
        - { id: b, kind: Functional, runner: set, values: { where: "on" }, routes: { default: a } }
        """,
        limits={"max_steps": 7},
    ).run({"where": "on"})
    assert (result.status, len(result.steps)) == ("failed", 7)
    assert result.error is not None
    assert (result.error.type, result.error.detail) == ("max_steps", {"limit": "max_steps", "bound": 7})
    assert "limits.max_steps is 7" in result.error.message


async def test_exactly_max_steps_steps_may_run(tmp_path):
    result = await Project(tmp_path, A_B_C, limits={"max_steps": 3}).run()
    assert (result.status, len(result.steps)) == ("completed", 3)


async def test_a_legal_loop_of_ten_passes_ends_by_its_own_router(tmp_path):
    """N02 wf.cycle."""
    result = await Project(
        tmp_path,
        """
        - { id: count, kind: Functional, runner: set, values: { n: "{{ n + 1 }}" } }
        - id: enough
          kind: Router
          condition: { field: n, operator: gte, value: 10 }
          routes: { "true": END, "false": count }
        """,
    ).run({"n": 0})
    assert (result.status, result.context) == ("completed", {"n": 10})
    assert len(result.steps) == 20


async def test_a_chain_of_5000_steps_runs(tmp_path):
    """N02 wf.cycle: no recursion over steps."""
    chain = "\n".join(
        f"- {{ id: s{number}, kind: Functional, runner: set, values: {{ n: {number} }} }}" for number in range(5000)
    )
    result = await Project(tmp_path, chain, limits={"max_steps": 5000}).run()
    assert (result.status, len(result.steps), result.context) == ("completed", 5000, {"n": 4999})


@pytest.mark.parametrize(("go", "said"), [("left", "left ran"), ("right", "-")])
async def test_a_step_after_a_join_reads_the_skipped_branch_through_its_default(tmp_path, go, said):
    """N04 wf.skipped_ref."""
    result = await Project(
        tmp_path,
        """
        - id: choose
          kind: Router
          match: { field: go }
          routes: { left: a, right: join, default: join }
        - { id: a, kind: Functional, runner: set, values: { a_result: left ran } }
        - { id: join, kind: Functional, runner: set, values: { said: "{{ a_result | default('-') }}" } }
        """,
    ).run({"go": go})
    assert result.context["said"] == said


async def test_output_is_the_dot_path_that_the_workflow_names(tmp_path):
    steps = '- { id: a, kind: Functional, runner: set, values: { order: { lines: [{ sku: "T-1" }] } } }'
    result = await Project(tmp_path, steps, output="order.lines.0.sku").run()
    assert result.output == "T-1"


async def test_an_output_that_is_not_there_is_null_with_a_warning(tmp_path):
    steps = "- { id: a, kind: Functional, runner: set, values: { x: 1 } }"
    result = await Project(tmp_path, steps, output="y.z").run()
    assert (result.status, result.output) == ("completed", None)
    assert "`output: y.z`" in result.warnings[0]


async def test_a_response_step_gives_the_output(tmp_path):
    result = await Project(
        tmp_path,
        """
        - { id: a, kind: Functional, runner: set, values: { order: { total: 3 }, note: hi } }
        - { id: r, kind: Response, mapping: { total: order.total, note: note } }
        """,
    ).run()
    assert result.output == {"total": 3, "note": "hi"}


async def test_a_response_on_a_missing_key_fails_and_names_it(tmp_path):
    result = await Project(tmp_path, "- { id: r, kind: Response, source: order.total }").run()
    assert result.error is not None
    assert (result.error.type, result.error.step) == ("missing_key", "r")
    assert "'order.total'" in result.error.message


async def test_a_template_that_names_nothing_leaves_by_error_not_by_success(tmp_path):
    """H06 route.error_as_success, K03 tpl.undefined."""
    result = await Project(
        tmp_path,
        """
        - id: a
          kind: APICall
          http: { url: "http://127.0.0.1:9/orders/{{ order_idd }}" }
          response: { output_key: order }
          routes: { default: ok, error: bad }
        - { id: ok, kind: Functional, runner: set, values: { went: ok }, routes: { default: END } }
        - { id: bad, kind: Functional, runner: set, values: { went: bad } }
        """,
    ).run()
    assert result.context == {"went": "bad"}
    assert result.error is not None
    assert result.error.type == "template"
    assert "order_idd" in result.error.message
    assert "'a'" in result.error.message


async def test_the_result_document_has_exactly_the_promised_keys(tmp_path):
    document = (await Project(tmp_path, A_B_C).run()).to_json()
    assert list(document) == [
        "run_id",
        "workflow",
        "schema_version",
        "status",
        "signal",
        "output",
        "context",
        "error",
        "usage",
        "steps",
        "duration_ms",
    ]
    assert document["usage"] == {
        "llm_calls": 0,
        "tool_calls": 0,
        "input_tokens": 0,
        "output_tokens": 0,
        "total_tokens": 0,
        "cost_usd": 0.0,
        "estimated": False,
    }
    assert set(document["steps"][0]) == {"id", "kind", "signal", "duration_ms"}


async def test_many_runs_of_one_plan_at_once_share_nothing(tmp_path):
    project = Project(
        tmp_path,
        """
        - { id: a, kind: Functional, runner: wait, seconds: 0.001 }
        - { id: b, kind: Functional, runner: set, values: { twice: "{{ n * 2 }}" } }
        """,
    )
    engine, plan = project.engine(), project.plan()
    results = await asyncio.gather(*(engine.run(plan, {"n": number}) for number in range(50)))
    await engine.aclose()
    assert [result.context["twice"] for result in results] == [number * 2 for number in range(50)]
    assert len({result.run_id for result in results}) == 50
