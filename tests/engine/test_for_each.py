"""A step for each item of a list: bounded, in order, and the first that fails says which it was."""

import asyncio
import json

import pytest

from tests.agent.loop_support import Model, ask, say
from tests.engine import signals
from tests.engine.agent_support import module_of
from tests.engine.run_support import Project, Seen
from tests.support.clock import LoopTime
from tuvl.control import RunControl

EACH = '- { id: each, kind: ForEach, items: "{{ numbers }}", as: number, step: body%s, output_key: out }'
SQUARE = '- { id: body, kind: Functional, runner: set, values: { square: "{{ number * number }}" } }'
NODES = """
    import asyncio
    from tests.engine import signals
    from tuvl import node

    here, most, started, ended, stopped = 0, 0, [], [], []
    together = asyncio.Event()


    @node("pair")
    async def pair(ctx):
        global here, most
        started.append(ctx["number"])
        here += 1
        most = max(most, here)
        if here == 2:
            together.set()
        async with asyncio.timeout(5):
            await together.wait()
        if ctx["number"] == 1:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        ended.append(ctx["number"])
        here -= 1
        return {"n": ctx["number"]}


    @node("picky")
    async def picky(ctx):
        started.append(ctx["number"])
        if ctx["number"] == 2:
            raise RuntimeError("two is too much")
        return {"n": ctx["number"]}


    @node("hangs")
    async def hangs(ctx):
        started.append(ctx["number"])
        if len(started) == 2 and "reached" in ctx:
            signals.reached(ctx["reached"])
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(ctx["number"])


    @node("half")
    async def half(ctx):
        started.append(ctx["number"])
        if len(started) == 2:
            together.set()
        await together.wait()
        if ctx["number"] == 1:
            raise RuntimeError("no")
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(ctx["number"])
"""


def project(tmp_path, body: str = SQUARE, *, extra: str = "", limits: dict | None = None) -> Project:
    spec = {"limits": limits} if limits else {}
    return Project(tmp_path, EACH % extra + "\n" + body, **spec).node(NODES)


def node(runner: str, **fields: object) -> str:
    return "- " + json.dumps({"id": "body", "kind": "Functional", "runner": runner, **fields})


async def test_results_come_in_the_list_s_order_and_the_body_changes_nothing_else(tmp_path):
    result = await project(tmp_path).run({"numbers": [3, 1, 2]})
    assert result.context == {"numbers": [3, 1, 2], "out": [{"square": 9}, {"square": 1}, {"square": 4}]}


async def test_empty_list_gives_an_empty_list(tmp_path):
    assert (await project(tmp_path).run({"numbers": []})).context["out"] == []


async def test_items_run_together_up_to_the_bound_and_their_results_stay_in_order(tmp_path):
    subject = project(tmp_path, node("pair"), extra=", concurrency: 2")
    result = await subject.run({"numbers": [1, 2, 3, 4]})
    module = module_of(subject)
    assert (module.most, sorted(module.ended), sorted(module.started)) == (2, [1, 2, 3, 4], [1, 2, 3, 4])
    assert module.ended != [1, 2, 3, 4]
    assert result.context["out"] == [{"n": 1}, {"n": 2}, {"n": 3}, {"n": 4}]


async def test_more_items_than_allowed_is_an_error_before_any_runs(tmp_path):
    subject = project(tmp_path, node("picky"), extra=", max_items: 2")
    seen = Seen()
    result = await subject.run({"numbers": [1, 3, 4]}, sinks=[seen])
    assert result.error is not None
    assert (result.error.type, result.error.detail["items"]) == ("too_many_items", 3)
    assert seen.types.count("step_started") == 1


async def test_items_that_are_no_list_are_an_error(tmp_path):
    result = await project(tmp_path).run({"numbers": "many"})
    assert result.error is not None
    assert result.error.type == "bad_value"


async def test_first_failure_in_the_list_s_order_names_its_item(tmp_path):
    result = await project(tmp_path, node("picky")).run({"numbers": [1, 2, 3]})
    assert result.error is not None
    assert (result.status, result.error.type, result.error.step) == ("failed", "node_error", "each")
    assert result.error.message.startswith("item 1 of 'each': node 'picky' raised RuntimeError: two is too much")
    assert (result.error.detail["item"], result.error.detail["step"]) == (1, "body")
    assert "out" not in result.context


async def test_failure_stops_the_items_beside_it(tmp_path):
    subject = project(tmp_path, node("half"), extra=", concurrency: 2")
    result = await asyncio.wait_for(subject.run({"numbers": [1, 2, 3]}), 10)
    assert result.error is not None
    assert result.error.detail["item"] == 0
    module = module_of(subject)
    assert (sorted(module.started), module.stopped) == ([1, 2], [2])


async def test_item_has_the_body_s_time(tmp_path):
    subject = project(tmp_path, node("hangs", timeout_s=0.02))
    result = await asyncio.wait_for(subject.run({"numbers": [7]}), 10)
    assert result.error is not None
    assert (result.error.type, result.error.message) == ("timeout", "item 0 of 'each': did not finish within 0.02 s")


async def test_timeout_of_the_step_stops_every_item(tmp_path):
    subject = project(tmp_path, node("hangs"), extra=", concurrency: 2, timeout_s: 60")
    name, time = str(tmp_path), LoopTime()
    signals.listen(name, lambda: time.advance(60))
    result = await subject.run({"numbers": [1, 2, 3], "reached": name})
    assert result.error is not None
    assert result.error.type == "timeout"
    assert sorted(module_of(subject).stopped) == [1, 2]


async def test_abort_stops_every_item(tmp_path):
    subject = project(tmp_path, node("hangs"), extra=", concurrency: 2")
    control = RunControl()
    name = str(tmp_path)
    signals.listen(name, lambda: asyncio.get_running_loop().call_soon(control.abort, "stop it"))
    given = {"numbers": [1, 2, 3], "reached": name}
    result = await asyncio.wait_for(subject.run(given, control=control), 20)
    assert result.status == "aborted"
    module = module_of(subject)
    assert (sorted(module.started), sorted(module.stopped)) == ([1, 2], [1, 2])


async def test_events_name_the_item(tmp_path):
    seen = Seen()
    await project(tmp_path).run({"numbers": [5, 6]}, sinks=[seen])
    assert [event.step_id for event in seen.events if event.body.type == "step_started"] == [
        "each",
        "each[0]/body",
        "each[1]/body",
    ]


async def test_each_item_counts_as_a_step(tmp_path):
    subject = project(tmp_path, limits={"max_steps": 4})
    assert (await subject.run({"numbers": [1, 2, 3]})).status == "completed"


async def test_more_items_than_steps_are_left_end_the_run_before_any_is_run(tmp_path):
    """Not as a failure of the step, which a route could take care of: the run is out of steps."""
    seen = Seen()
    subject = project(tmp_path, extra=", routes: { error: END }", limits={"max_steps": 3})
    result = await subject.run({"numbers": [1, 2, 3]}, sinks=[seen])
    assert (result.status, result.signal, result.exit_code) == ("failed", "error", 1)
    assert result.error is not None
    assert (result.error.type, result.error.detail) == ("max_steps", {"limit": "max_steps", "bound": 3})
    assert (
        str(result.error.message)
        == "'body' was to run 3 times, and 2 of 3 steps were left (limits.max_steps); none was run"
    )
    assert [event.step_id for event in seen.events if event.body.type == "step_started"] == ["each"]


async def test_items_of_a_list_inside_a_list_count_too(tmp_path):
    outer = '- { id: rows, kind: ForEach, items: "{{ rows }}", as: row, step: each, output_key: all }'
    inner = EACH.replace("{{ numbers }}", "{{ row }}") % ""
    body = "- { id: body, kind: Functional, runner: set, values: { x: 1 } }"
    subject = Project(tmp_path, f"{outer}\n{inner}\n{body}", limits={"max_steps": 5})
    result = await subject.run({"rows": [[1], [2, 3]]})
    assert result.error is not None
    assert (result.status, result.error.type) == ("failed", "max_steps")
    assert (await subject.run({"rows": [[1], [2]]})).status == "completed"


async def test_what_a_workflow_inside_an_item_took_care_of_is_told(tmp_path):
    inner = "- { id: no, kind: Functional, runner: fail, message: it is no good, routes: { error: END } }"
    subject = project(tmp_path, "- { id: body, kind: Workflow, workflow: inner, output_key: o }")
    subject.workflow(inner, name="inner")
    result = await subject.run({"numbers": [1, 2]})
    assert (result.status, result.signal) == ("completed", "default")
    assert result.error is not None
    assert (result.error.step, result.error.detail["item"]) == ("each", 1)
    assert result.error.message == "item 1 of 'each': workflow 'inner' completed; on the way, it is no good"


async def test_list_inside_a_list_sees_both_items(tmp_path):
    outer = '- { id: rows, kind: ForEach, items: "{{ rows }}", as: row, step: each, output_key: all }'
    inner = EACH.replace("{{ numbers }}", "{{ row }}") % ""
    body = '- { id: body, kind: Functional, runner: set, values: { at: "{{ row | length }}-{{ number }}" } }'
    subject = Project(tmp_path, f"{outer}\n{inner}\n{body}")
    result = await subject.run({"rows": [[1], [2, 3]]})
    assert result.context["all"] == [
        {"out": [{"at": "1-1"}]},
        {"out": [{"at": "2-2"}, {"at": "2-3"}]},
    ]


async def test_response_and_router_give_their_output_and_signal(tmp_path):
    response = "- { id: body, kind: Response, mapping: { double: number } }"
    assert (await project(tmp_path / "a", response).run({"numbers": [1]})).context["out"] == [{"double": 1}]
    router = "- { id: body, kind: Router, match: { field: number }, routes: { default: END } }"
    assert (await project(tmp_path / "b", router).run({"numbers": [1]})).context["out"] == [{"signal": "1"}]


AGENT = """
- id: body
  kind: Agent
  mode: autonomous
  agent: { model: default, max_iterations: 2, tools: [{ ref: note, description: d, writes_context: true }] }
  routes: { default: END, max_iterations: END }
- { id: note, kind: Functional, runner: set, values: { noted: "{{ number }}" } }
"""


def with_agent(tmp_path, *replies: object) -> Project:
    subject = project(tmp_path, AGENT).model("never")
    subject.chat_models["default"] = Model(list(replies))
    return subject


async def test_agent_for_each_item_and_what_its_tools_write_stays_with_the_item(tmp_path):
    subject = with_agent(tmp_path, ask(("note", {})), say("one"), ask(("note", {})), say("two"))
    result = await subject.run({"numbers": [1, 2]})
    assert result.context["out"] == [{"noted": 1, "body_result": "one"}, {"noted": 2, "body_result": "two"}]
    assert "noted" not in result.context


async def test_agent_that_ends_abnormally_fails_its_item_and_leaves_its_trace(tmp_path):
    subject = with_agent(tmp_path, say("one"), ask(("note", {})), ask(("note", {})))
    result = await subject.run({"numbers": [1, 2]})
    assert result.error is not None
    assert (result.error.type, result.error.detail["item"]) == ("max_iterations", 1)
    assert result.trace is not None
    assert [entry["step"] for entry in result.trace if entry["type"] == "outcome"] == ["each[0]/body", "each[1]/body"]


async def test_workflow_for_each_item(tmp_path):
    body = '- { id: body, kind: Workflow, workflow: inner, input: { n: "{{ number }}" }, output_key: got }'
    subject = project(tmp_path, body, extra=", concurrency: 3")
    subject.workflow(
        '- { id: double, kind: Functional, runner: set, values: { twice: "{{ n * 2 }}" } }',
        name="inner",
        output="twice",
    )
    result = await subject.run({"numbers": [1, 2, 3]})
    assert result.context["out"] == [{"got": 2}, {"got": 4}, {"got": 6}]


@pytest.mark.parametrize("items", [[1, 2], ["{{ numbers[0] }}", 2]])
async def test_list_may_stand_in_the_file(tmp_path, items):
    step = EACH.replace('"{{ numbers }}"', json.dumps(items)) % ""
    subject = Project(tmp_path, f"{step}\n{SQUARE}")
    assert (await subject.run({"numbers": [1]})).context["out"] == [{"square": 1}, {"square": 4}]
