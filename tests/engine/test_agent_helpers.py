"""Functional steps that an agent asks around its turns: what they get, what they may return, and how they fail."""

import asyncio

import pytest

from tests.agent.loop_support import ask, say
from tests.engine import signals
from tests.engine.agent_support import agent_project, errors_told, model_of, module_of, sent
from tests.engine.run_support import Seen
from tuvl.control import RunControl
from tuvl.errors import ConfigError, ModelError

LOOK = ask(("look", {"q": "a"}))
DONE = say("done")


def helper(body: str, *, name: str = "helper", sync: bool = True) -> str:
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    return f"""
    import asyncio
    from tests.engine import signals
    from tuvl import node
    from tuvl.errors import StepError

    log = []


    @node("{name}")
    {"" if sync else "async "}def {name}(ctx):
{lines}
    """


async def ends(tmp_path, body: str, *replies: object, **fields: object):
    project = agent_project(tmp_path, *replies, nodes=helper(body), helpers=("helper",), **fields)
    result = await project.run(trace=True)
    assert result.error is not None
    return result.signal, result.error


FIELDS = {
    "trim": ({"trim": "helper"}, [DONE]),
    "tool_surface": ({"tool_surface": "helper"}, [LOOK]),
    "continue_on_stop": ({"continue_on_stop": "helper"}, [DONE]),
    "reserve.reserve": ({"reserve": {"reserve": "helper"}}, []),
    "reserve.observe_request": ({"reserve": {"reserve": "put", "observe_request": "helper"}}, []),
}


@pytest.mark.parametrize("field", FIELDS)
async def test_node_that_raises_ends_the_agent_under_the_node_s_own_type(field, tmp_path):
    """Loop 89; the message names the step and the field."""
    agent, replies = FIELDS[field]
    signal, error = await ends(tmp_path, "raise StepError('the books are closed', type='books')", *replies, **agent)
    assert (signal, error.type, error.detail["field"]) == ("error", "books", field)
    assert error.message == f"step 'helper' ({field}): the books are closed"


async def test_node_that_raises_anything_else_is_a_node_error(tmp_path):
    signal, error = await ends(tmp_path, "raise ValueError('odd')", DONE, trim="helper")
    assert (signal, error.type) == ("error", "node_error")


@pytest.mark.parametrize(
    ("field", "returned"),
    [
        ("trim", '{"messages": "all"}'),
        ("trim", '{"messages": []}'),
        ("trim", '{"messages": [{"index": 9}]}'),
        ("trim", '{"messages": [{"index": True}]}'),
        ("trim", '{"messages": [{"role": "tool", "content": "x"}]}'),
        ("trim", '{"messages": [{"role": "user"}]}'),
        ("trim", '{"messages": [{"index": 0, "content": 5}]}'),
        ("trim", '{"messages": ["all"]}'),
        ("tool_surface", '{"tools": "look"}'),
        ("tool_surface", '{"tools": [1]}'),
        ("continue_on_stop", '{"messages": "more"}'),
        ("continue_on_stop", '{"message": 5}'),
    ],
)
async def test_node_that_returns_something_else_is_told_what_was_wrong(field, returned, tmp_path):
    agent, replies = FIELDS[field]
    signal, error = await ends(tmp_path, f"return {returned}", *replies, **agent)
    assert (signal, error.type) == ("error", "bad_result")
    assert error.message.startswith(f"step 'helper' ({field}) returned ")


async def test_trim_may_drop_reorder_and_write_anew_and_keeps_what_belongs_to_the_provider(tmp_path):
    body = """
messages = ctx.args["messages"]
if len(messages) < 4:
    return None
log.append([(message["index"], message["role"]) for message in messages])
assert messages[2]["tool_calls"] == [{"id": "c1", "name": "look", "arguments": '{"q": "a"}'}]
return {"messages": [0, {"role": "user", "content": "In short."}, 2, {"index": 3, "content": "cut"}]}
""".strip()
    project = agent_project(tmp_path, LOOK, DONE, nodes=helper(body), helpers=("helper",), trim="helper")
    result = await project.run(trace=True)
    assert result.error is None
    assert sent(project, 2)[1:] == ["In short.", "", "cut"]
    asked, answered = model_of(project).requests[1].messages[2:]
    assert (asked.tool_calls[0].id, answered.tool_call_id) == ("c1", "c1")
    assert module_of(project, "extra.py").log == [[(0, "system"), (1, "user"), (2, "assistant"), (3, "tool")]]


async def test_trim_that_tears_a_call_from_its_result_ends_the_agent(tmp_path):
    body = "return {'messages': [0, 1, 2]} if len(ctx.args['messages']) > 3 else None"
    signal, error = await ends(tmp_path, body, LOOK, trim="helper")
    assert (signal, error.type) == ("error", "trim")


async def test_history_shortened_after_an_overflow_is_trimmed_and_held_to_its_limits_too(tmp_path):
    """Loop 72."""
    too_long = ModelError("too long", type="context_overflow", retryable=False)
    turns = [ask(("look", {"q": "x" * 40}, f"c{n}")) for n in range(4)]
    body = "return {'messages': [{'index': 0, 'content': 'S'}, *range(1, len(ctx.args['messages']))]}"
    project = agent_project(
        tmp_path,
        *turns,
        too_long,
        say("summary"),
        DONE,
        nodes=helper(body),
        helpers=("helper",),
        trim="helper",
        compaction={"max_tokens": 100_000, "recent_tail": 2, "target_percent": 1},
    )
    assert (await project.run()).signal == "default"
    assert sent(project, 7)[0] == "S"
    assert any("summary" in text for text in sent(project, 7))


async def test_refused_reservation_makes_no_call_and_gives_nothing_back(tmp_path):
    """Loop 75."""
    body = "log.append(1)\nreturn 'used_up'"
    project = agent_project(
        tmp_path, nodes=helper(body), helpers=("helper",), reserve={"reserve": "helper", "refund": "helper"}
    )
    result = await project.run()
    assert result.error is not None
    assert (result.signal, result.error.type) == ("error", "reservation_refused")
    assert "'used_up'" in result.error.message
    assert model_of(project).requests == []
    assert module_of(project, "extra.py").log == [1]


async def test_reservation_covers_all_attempts_and_a_veto_is_asked_before_each(tmp_path):
    """The reservation is outside of the retries, the observer inside."""
    body = """
log.append("settle" if "usage" in ctx.args else "inspect" if "tools" in ctx.args else "take")
""".strip()
    down = ModelError("down", type="server_error", retryable=True)
    project = agent_project(
        tmp_path,
        down,
        DONE,
        nodes=helper(body),
        helpers=("helper",),
        retry={"attempts": 2, "backoff": 0},
        reserve={"reserve": "helper", "refund": "helper", "observe_request": "helper"},
    )
    assert (await project.run()).error is None
    assert module_of(project, "extra.py").log == ["take", "inspect", "inspect", "settle"]


async def test_veto_ends_the_agent_and_is_not_retried(tmp_path):
    project = agent_project(
        tmp_path,
        nodes=helper("log.append(1)\nreturn 'no' if 'tools' in ctx.args else {}"),
        helpers=("helper",),
        retry={"attempts": 3, "backoff": 0},
        reserve={"reserve": "put", "observe_request": "helper"},
    )
    result = await project.run()
    assert result.error is not None
    assert result.error.type == "request_vetoed"
    assert (model_of(project).requests, module_of(project, "extra.py").log) == ([], [1])


@pytest.mark.parametrize(("reply", "settled"), [(say("x", tokens=None), []), (say("x", tokens=7), [7])])
async def test_reservation_is_settled_when_usage_is_known(reply, settled, tmp_path):
    """Loop 76."""
    body = "if 'usage' in ctx.args:\n    log.append(ctx.args['usage']['total_tokens'])"
    reserve = {"reserve": "helper", "refund": "helper"}
    project = agent_project(tmp_path, reply, nodes=helper(body), helpers=("helper",), reserve=reserve)
    await project.run()
    assert module_of(project, "extra.py").log == settled


async def test_aborted_call_is_given_back_and_the_run_is_aborted_though_giving_back_fails(tmp_path, caplog):
    control = RunControl()
    body = "if 'usage' in ctx.args:\n    log.append(ctx.args['usage'])\n    raise RuntimeError('books closed')"

    async def never(_request):
        asyncio.get_running_loop().call_soon(control.abort, "stop it")
        await asyncio.Event().wait()

    reserve = {"reserve": "helper", "refund": "helper"}
    project = agent_project(tmp_path, never, nodes=helper(body), helpers=("helper",), reserve=reserve)
    result = await asyncio.wait_for(project.run(control=control), 10)
    assert (result.status, result.error and result.error.type) == ("aborted", "aborted")
    assert module_of(project, "extra.py").log == [None]
    assert "was not given back" in caplog.text


async def test_node_that_takes_too_long_ends_the_agent(tmp_path):
    project = agent_project(
        tmp_path, nodes=helper("await asyncio.Event().wait()", sync=False), helpers=("helper",), trim="helper"
    )
    path = project.root / "workflows" / "flow.yaml"
    path.write_text(path.read_text().replace("runner: helper }", "runner: helper, timeout_s: 0.01 }"))
    result = await project.run()
    assert result.error is not None
    assert (result.error.type, result.error.message) == (
        "timeout",
        "step 'helper' (trim) did not finish within 0.01 s",
    )


async def test_node_that_returns_nothing_changes_nothing(tmp_path):
    fields = {"trim": "helper", "tool_surface": "helper", "continue_on_stop": "helper"}
    project = agent_project(tmp_path, LOOK, DONE, nodes=helper("return None"), helpers=("helper",), **fields)
    result = await project.run()
    assert (result.signal, result.context["agent_result"]) == ("default", "done")
    assert len(model_of(project).requests) == 2


async def test_compaction_without_a_window_is_refused_before_the_run(tmp_path):
    with pytest.raises(ConfigError, match="`compaction` of step 'agent' has no window to keep to"):
        agent_project(tmp_path, compaction={}).plan()


async def test_a_model_without_a_window_named_for_one_run_is_refused_before_it(tmp_path):
    project = agent_project(tmp_path, compaction={}).model("x", context_window=9000).model("x", name="narrow")
    (refusal,) = project.plan(default="narrow").refusals
    assert "`agent.compaction` has no window to keep to" in refusal


async def test_compaction_takes_the_window_and_the_reserve_of_the_preset(tmp_path):
    project = agent_project(tmp_path, compaction={})
    project.model("x", context_window=9000, max_tokens=1000)
    compaction = project.plan().steps["agent"].action.compaction
    assert (compaction.max_tokens, compaction.reserve) == (9000, 1000)


async def test_compaction_without_room_is_refused_before_the_run(tmp_path):
    with pytest.raises(ConfigError, match="leaves no room for messages"):
        agent_project(tmp_path, compaction={"max_tokens": 100, "reserve": 100}).plan()


LONG = [ask(("look", {"q": "x" * 900}, f"c{n}")) for n in range(2)]
COMPACTION = {"max_tokens": 700, "recent_tail": 1, "trigger_percent": 90, "calibrate": False}


async def test_failing_summary_fails_before_the_next_request_with_its_usage_counted(tmp_path):
    """Loop 71."""
    project = agent_project(tmp_path, *LONG, say("", tokens=77), compaction=COMPACTION)
    result = await project.run()
    assert result.error is not None
    assert result.error.type == "compaction_failed"
    assert result.usage.total_tokens == 97
    assert len(model_of(project).requests) == 3


async def test_summary_is_retried_and_bounded_like_any_call(tmp_path):
    """Loop 71."""

    async def never(_request):
        await asyncio.Event().wait()

    project = agent_project(tmp_path, *LONG, never, compaction=COMPACTION, timeout_s=0.01)
    result = await project.run()
    assert result.error is not None
    assert result.error.type == "timeout"


async def test_another_model_may_write_the_summary(tmp_path):
    compaction = {**COMPACTION, "model": "cheap"}
    project = agent_project(tmp_path, *LONG, DONE, compaction=compaction)
    project.model("In short: nothing.", name="cheap")
    assert (await project.run()).signal == "default"
    assert any("In short: nothing." in text for text in sent(project, 3))


async def test_heartbeat_of_a_tool_names_it_and_stops_with_it(tmp_path):
    """Loop 88."""
    beaten, seen = asyncio.Event(), Seen()
    loop = asyncio.get_running_loop()
    signals.listen(str(tmp_path), beaten.wait)

    class Beats:
        def accept(self, event):
            if event.body.type == "heartbeat" and event.body.activity == "tool":
                loop.call_soon_threadsafe(beaten.set)

    body = "await asyncio.wait_for(signals.reached(ctx['reached']), 5)\nreturn {}"
    tools = [{"ref": "helper", "description": "d"}]
    call = ask(("helper", {}, "c9"))
    project = agent_project(tmp_path, call, DONE, nodes=helper(body, sync=False), tools=tools, heartbeat_s=0.005)
    result = await project.run({"reached": str(tmp_path)}, sinks=[Beats(), seen], trace=True)
    assert errors_told(result) == []
    beats = [event.body for event in seen.events if event.body.type == "heartbeat"]
    assert {(beat.activity, beat.tool, beat.call_id) for beat in beats} >= {("tool", "helper", "c9")}
    answered = seen.types.index("tool_call")
    assert all(body.activity == "model" for body in (event.body for event in seen.events[answered:]) if body in beats)
