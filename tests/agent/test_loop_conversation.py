"""What the model is sent: every call paired with one result, in call order, fit for the provider."""

import asyncio

import pytest

from tests.agent.loop_support import Loop, Model, ask, boom, say, tool
from tuvl.errors import ModelError
from tuvl.llm.messages import Message, ModelReply, ToolCall
from tuvl.tools.tool import ToolOutcome
from tuvl.tools.toolbox import ToolPolicy

STRICT = {"type": "object", "properties": {"n": {"type": "integer"}, "force": {"type": "boolean"}}, "required": ["n"]}


@pytest.mark.parametrize("arguments", ["", "  ", None, "{}", "null"])
async def test_every_spelling_of_no_arguments_is_an_empty_object(arguments):
    """A01."""
    loop = Loop([ask(("lookup", arguments)), say("done")])
    await loop.run()
    assert loop.ran == [("lookup", {})]
    assert loop.sent(2)[2].tool_calls[0].arguments == "{}"


async def test_malformed_arguments_are_answered_and_never_run():
    """A03, A04, B03."""
    loop = Loop([ask(("purge", '{"scope": "tmp')), say("done")], tools={"purge": {}})
    ended = await loop.run()
    assert loop.ran == []
    assert ended.writes == {"result": "done"}
    assert "not valid JSON" in loop.results(2)[0].content
    assert loop.sent(2)[2].tool_calls[0].arguments == "{}"
    assert loop.entries("assistant")[0]["tool_calls"][0]["arguments"] == '{"scope": "tmp'


async def test_arguments_encoded_twice_are_read():
    """A06."""
    schema = {"type": "object", "properties": {"items": {"type": "array"}}}
    loop = Loop(
        [ask(("f", '"{\\"items\\": [1,2]}"')), ask(("f", '{"items": "[1,2]"}', "c2")), say("done")],
        tools={"f": lambda items: {}},
        plans={"f": tool("f", parameters=schema)},
    )
    await loop.run()
    assert loop.ran == [("f", {"items": [1, 2]}), ("f", {"items": [1, 2]})]


async def test_decoded_arguments_are_taken_and_sent_back_as_text():
    """A08."""
    call = ToolCall(id="c1", name="f", arguments={"id": 7})
    reply = ModelReply(message=Message(role="assistant", tool_calls=(call,)))
    loop = Loop([reply, say("done")], tools={"f": lambda id: {}})
    await loop.run()
    assert loop.ran == [("f", {"id": 7})]
    assert loop.sent(2)[2].tool_calls[0].arguments == '{"id":7}'


async def test_schema_violation_names_path_and_rule_and_never_the_value():
    """A09."""
    loop = Loop(
        [ask(("f", {"_": {"question": "SECRET"}, "n": "SECRET"})), say("done")],
        tools={"f": {}},
        plans={"f": tool("f", parameters=STRICT)},
    )
    await loop.run()
    content = loop.results(2)[0].content
    assert loop.ran == []
    assert "n: must be of type" in content
    assert "'_'" in content
    assert "SECRET" not in content


@pytest.mark.parametrize("arguments", [{"n": "5"}, {"n": 1, "force": "false"}, {"n": "1.5"}, {"n": 1, "force": "no"}])
async def test_strict_validation_coerces_no_scalar(arguments):
    """A10."""
    loop = Loop([ask(("f", arguments)), say("done")], tools={"f": {}}, plans={"f": tool("f", parameters=STRICT)})
    await loop.run()
    assert loop.ran == []


async def test_lenient_validation_coerces_what_is_certain_and_refuses_the_rest():
    loop = Loop(
        [ask(("f", {"n": "5", "force": "false"})), ask(("f", {"n": "1.5"}, "c2")), say("done")],
        tools={"f": lambda n, force: {}},
        plans={"f": tool("f", parameters=STRICT)},
        policy=ToolPolicy(arg_validation="lenient"),
    )
    await loop.run()
    assert loop.ran == [("f", {"n": 5, "force": False})]
    assert "must be of type" in loop.results(3)[1].content


async def test_oversized_arguments_are_refused_unread():
    loop = Loop([ask(("lookup", '{"x": "' + "a" * 70_000 + '"}')), say("done")])
    await loop.run()
    assert loop.ran == []
    assert "larger than" in loop.results(2)[0].content


@pytest.mark.parametrize(
    "arguments",
    ['{"x": NaN}', '{"x": 1e999}', '{"x": "\\ud800"}', "[1]", "7", "[" * 5000, '{"a":' * 70 + "1" + "}" * 70],
)
async def test_arguments_json_cannot_hold_are_an_error_answer(arguments):
    loop = Loop([ask(("lookup", arguments)), say("done")])
    assert (await loop.run()).signal == "default"
    assert loop.ran == []


@pytest.mark.parametrize(
    "name", ["__class__", "toString", "lookup_v2", "LOOKUP", "functions.lookup", '{"q":"dogs"} | search', ""]
)
async def test_unknown_names_are_answered_with_the_offered_ones(name):
    """A12, C01, and lookups that must not become attribute lookups."""
    loop = Loop([ask((name, {})), ask(("lookup", {}, "c2")), say("done")])
    assert (await loop.run()).signal == "default"
    assert "the tools are 'lookup'" in loop.results(2)[0].content
    assert loop.sent(2)[2].tool_calls[0].id == "c1"
    assert loop.results(2)[0].tool_call_id == "c1"


async def test_padded_name_finds_its_tool_and_history_keeps_the_clean_one():
    """C02."""
    loop = Loop([ask(("lookup \n", {})), say("done")])
    await loop.run()
    assert loop.ran == [("lookup", {})]
    assert loop.sent(2)[2].tool_calls[0].name == "lookup"


async def test_missing_and_repeated_ids_are_made_unique_and_paired():
    """C05."""
    reply = ask(
        ("w", {"c": "paris"}, ""), ("w", {"c": "tokyo"}, ""), ("w", {"c": "oslo"}, "x"), ("w", {"c": "rome"}, "x")
    )
    loop = Loop([reply, ask(("w", {"c": "bern"}, "x")), say("done")], tools={"w": lambda c: {"city": c}})
    await loop.run()
    sent = loop.sent(3)
    ids = [call.id for message in sent for call in message.tool_calls]
    assert len(set(ids)) == 5
    assert all(ids)
    assert [message.tool_call_id for message in loop.results(3)] == ids
    cities = ["paris", "tokyo", "oslo", "rome", "bern"]
    assert [message.content for message in loop.results(3)] == [f'{{"city":"{city}"}}' for city in cities]


@pytest.mark.parametrize("error", [RuntimeError(), KeyError("x"), TimeoutError()])
async def test_blank_errors_show_at_least_their_type(error):
    """C07."""

    def fail():
        raise error

    loop = Loop([ask(("f", {})), say("done")], tools={"f": fail})
    await loop.run()
    assert type(error).__name__ in loop.results(2)[0].content
    assert loop.results(2)[0].tool_call_id == "c1"


async def test_text_beside_a_call_is_kept_and_is_no_answer():
    """C08."""
    loop = Loop([ask(("lookup", {}), text="Checking."), say("done")])
    ended = await loop.run()
    assert loop.sent(2)[2].content == "Checking."
    assert ended.writes == {"result": "done"}


async def test_provider_parts_of_an_assistant_turn_go_back_unchanged():
    """C11."""
    parts = {"reasoning_content": "let me see", "signature": "abc"}
    reply = ask(("lookup", {}))
    message = Message(role="assistant", tool_calls=reply.message.tool_calls, provider=parts)
    loop = Loop([ModelReply(message=message), say("done")])
    await loop.run()
    assert loop.sent(2)[2].provider == parts
    assert "let me see" not in str(loop.transcript.entries)


async def test_result_at_the_cap_is_untouched_and_one_past_it_is_cut_with_a_marker_inside_the_cap():
    """H03."""
    sizes = iter([8000, 8001])
    overhead = len('{"x":""}')
    loop = Loop(
        [ask(("f", {})), ask(("f", {}, "c2")), say("done")],
        tools={"f": lambda: {"x": "a" * (next(sizes) - overhead)}},
    )
    await loop.run()
    whole, cut = loop.results(3)
    assert len(whole.content) == 8000
    assert "cut" not in whole.content
    assert len(cut.content) <= 8000
    assert "[cut: 8001 characters in full]" in cut.content
    assert [entry["size"] for entry in loop.entries("tool_result")] == [8000, 8001]
    assert [entry["truncated"] for entry in loop.entries("tool_result")] == [False, True]


async def test_a_byte_cap_never_splits_a_character():
    plan = tool("f", max_result_bytes=100)
    loop = Loop([ask(("f", {})), say("done")], tools={"f": {"x": "☃" * 200}}, plans={"f": plan})
    await loop.run()
    assert len(loop.results(2)[0].content.encode()) <= 100


async def test_a_tool_that_changes_nothing_is_still_answered():
    loop = Loop([ask(("f", {})), say("done")], tools={"f": None})
    await loop.run()
    assert loop.results(2)[0].content == "null"


async def test_a_router_used_as_a_tool_answers_with_its_signal():
    loop = Loop(
        [ask(("r", {})), say("done")],
        tools={"r": ToolOutcome(signal="true")},
        plans={"r": tool("r", kind="Router")},
    )
    await loop.run()
    assert loop.results(2)[0].content == '{"signal":"true"}'


async def test_a_failing_tool_is_told_to_the_model_and_the_loop_goes_on():
    loop = Loop([ask(("f", {})), say("done")], tools={"f": boom})
    assert (await loop.run()).signal == "default"
    assert loop.results(2)[0].content == '{"error":{"type":"RuntimeError","message":"no stock"}}'


async def test_policy_fail_ends_on_the_first_failure_in_call_order_with_its_cause():
    loop = Loop([ask(("f", {}), ("f", {}, "c2"))], tools={"f": boom}, policy=ToolPolicy(on_error="fail"))
    ended = await loop.run()
    assert (ended.signal, ended.reason.type) == ("error", "tool_error")
    assert ended.reason.detail == {"tool": "f", "call_id": "c1", "error_type": "RuntimeError"}
    assert isinstance(ended.reason.cause, RuntimeError)
    assert len(loop.ran) == 1
    assert len(loop.entries("tool_result")) == 2


async def test_only_writing_tools_change_the_context_and_in_call_order():
    loop = Loop(
        [ask(("w", {"n": 1}), ("r", {}, "c2"), ("w", {"n": 2}, "c3")), say("done")],
        tools={"w": lambda n: {"total": n}, "r": {"seen": True}},
        plans={"w": tool("w", writes_context=True)},
    )
    await loop.run()
    assert loop.merged == [{"total": 1}, {"total": 2}]


async def test_a_repeated_call_of_one_reply_runs_once_under_dedup():
    raw = ask(("f", '{"a":1,"b":2}'), ("f", '{ "b": 2, "a": 1 }', "c2"))
    loop = Loop([raw, raw, say("done")], tools={"f": lambda a, b: {}}, policy=ToolPolicy(dedup_within_turn=True))
    await loop.run()
    assert len(loop.ran) == 2  # once in each turn
    assert "repeats an earlier one" in loop.results(2)[1].content
    assert loop.results(2)[1].tool_call_id == "c2"


@pytest.mark.parametrize(("one", "two"), [("1", "1.0"), ("9007199254740992", "9007199254740993"), ("{", "{")])
async def test_dedup_tells_numbers_apart_and_leaves_malformed_calls_alone(one, two):
    arguments = [f'{{"a": {value}}}' if value != "{" else "{" for value in (one, two)]
    loop = Loop(
        [ask(("f", arguments[0]), ("f", arguments[1], "c2")), say("done")],
        tools={"f": lambda a: {}},
        policy=ToolPolicy(dedup_within_turn=True),
    )
    await loop.run()
    assert not any(entry.get("duplicate") for entry in loop.entries("tool_result"))


async def test_the_twin_of_a_failed_call_stays_suppressed():
    loop = Loop(
        [ask(("f", {}), ("f", {}, "c2")), say("done")], tools={"f": boom}, policy=ToolPolicy(dedup_within_turn=True)
    )
    await loop.run()
    assert len(loop.ran) == 1


async def test_a_tool_past_its_deadline_ends_the_run_and_what_it_returns_later_is_void():
    async def hang():
        await asyncio.Event().wait()

    loop = Loop(
        [ask(("slow", {}))], tools={"slow": hang}, plans={"slow": tool("slow", timeout_s=0.02, writes_context=True)}
    )
    ended = await loop.run()
    assert (ended.signal, ended.reason.type) == ("error", "tool_timeout")
    assert loop.merged == []


async def test_a_timeout_that_is_reported_is_read_by_the_model():
    async def hang():
        await asyncio.Event().wait()

    plan = tool("slow", timeout_s=0.02, on_timeout="report")
    loop = Loop([ask(("slow", {})), say("done")], tools={"slow": hang}, plans={"slow": plan})
    assert (await loop.run()).signal == "default"
    assert '"type":"timeout"' in loop.results(2)[0].content


async def test_a_tool_that_cancels_itself_has_failed_and_no_more():
    async def quit():
        raise asyncio.CancelledError

    loop = Loop([ask(("q", {})), say("done")], tools={"q": quit})
    assert (await loop.run()).signal == "default"
    assert '"type":"cancelled"' in loop.results(2)[0].content


@pytest.mark.parametrize("calls", [True, False])
async def test_a_cut_off_reply_runs_nothing_and_is_no_answer(calls):
    """B02, B05."""
    cut = ask(("lookup", '{"body":"aaa'), finish="length") if calls else say('{"outcome":"done","resu', finish="length")
    loop = Loop([cut], enum=("done",))
    ended = await loop.run()
    assert (ended.signal, ended.reason.type, ended.writes) == ("error", "truncated_reply", {})
    assert loop.ran == []
    assert len(loop.entries("assistant")) == 1


async def test_a_filtered_reply_is_an_error_of_its_own():
    """B04."""
    ended = await Loop([say(None, finish="content_filter")]).run()
    assert (ended.signal, ended.reason.type) == ("error", "content_filter")


@pytest.mark.parametrize("text", [None, "", "  \n"])
async def test_an_empty_reply_is_no_answer(text):
    ended = await Loop([say(text)]).run()
    assert (ended.signal, ended.reason.type) == ("error", "empty_response")


async def test_answer_retries_ask_again_saying_what_was_missing():
    """B07."""
    loop = Loop([say(""), say(""), say('{"outcome":"done"}')], enum=("done",), answer_retries=2)
    assert (await loop.run()).signal == "done"
    assert "empty reply" in loop.sent(2)[-1].content
    assert '"done"' in loop.sent(2)[-1].content


async def test_answer_retries_end_with_the_last_mistake():
    ended = await Loop([say("what"), say("now")], enum=("done",), answer_retries=1).run()
    assert (ended.signal, ended.reason.type) == ("error", "invalid_outcome")


async def test_a_model_failure_is_the_error_exit_and_keeps_its_cause():
    failure = ModelError("no such key", type="authentication", retryable=False, status=401)
    ended = await Loop([failure]).run()
    assert (ended.signal, ended.reason.type) == ("error", "authentication")
    assert ended.reason.cause is failure


async def test_a_call_written_as_prose_is_never_run():
    """A12."""
    loop = Loop([say('Tool call lookup({"q":1})')])
    assert (await loop.run()).writes == {"result": 'Tool call lookup({"q":1})'}
    assert loop.ran == []


async def test_one_loop_definition_run_many_times_at_once_shares_nothing():
    loops = [Loop([ask(("lookup", {})), say(f"answer {n}")], max_tool_calls=1) for n in range(20)]
    ended = await asyncio.gather(*(loop.runner.run("s", "u") for loop in loops))
    assert [end.writes["result"] for end in ended] == [f"answer {n}" for n in range(20)]


async def test_history_is_one_list_that_only_grows():
    class Peek(Model):
        async def complete(self, request):
            lists.append(request.messages)
            return await super().complete(request)

    lists = []
    await Loop(Peek([ask(("lookup", {})), ask(("lookup", {}, "c2")), say("done")])).run()
    assert lists[0] is lists[1] is lists[2]
