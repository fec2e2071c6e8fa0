"""Both lanes against one server: the same answer gives the same reply or the same kind of failure."""

import asyncio
import json

import pytest

from tests.support.openai_server import Answer, call, captured, message, serving
from tuvl.errors import ModelError
from tuvl.http.client import HttpClient
from tuvl.llm.direct import DirectModel
from tuvl.llm.litellm_model import LiteLLMModel, close_connections
from tuvl.llm.messages import Message, ModelRequest, Price, ToolCall, ToolSpec
from tuvl.llm.settings import CallSettings

KEY = "sk-very-secret-0123456789"
USER = Message(role="user", content="Answer as JSON.")
PING = ToolSpec(name="ping", description="Ping.", parameters={"type": "object", "properties": {}})


@pytest.fixture
async def server():
    async with serving() as made:
        yield made


@pytest.fixture(params=["direct", "litellm"])
async def make(request, server):
    """A maker of models of one lane; keywords go into its settings."""
    http = HttpClient()

    def make(**settings):
        values = {"api_base": server.url, "api_key": KEY, **settings}
        if request.param == "direct":
            return DirectModel(CallSettings(name="m", model="local", **values), http)
        return LiteLLMModel(CallSettings(name="m", model="openai/local", **values))

    make.close = http.aclose if request.param == "direct" else close_connections
    yield make
    await make.close()


def asking(*messages, **fields) -> ModelRequest:
    return ModelRequest(messages=list(messages) or [USER], **fields)


async def fail(model, server, answer) -> ModelError:
    server.queue(answer)
    with pytest.raises(ModelError) as caught:
        await model.complete(asking())
    assert KEY not in str(caught.value)
    return caught.value


async def test_text_usage_and_finish_reason_are_read(make, server):
    usage = {"prompt_tokens": 30, "completion_tokens": 4, "total_tokens": 34}
    server.queue(message("hello", usage={**usage, "prompt_tokens_details": {"cached_tokens": 10}}))
    reply = await make().complete(asking())
    assert (reply.message.content, reply.finish_reason) == ("hello", "stop")
    counted = reply.usage
    assert (counted.input_tokens, counted.output_tokens, counted.total_tokens) == (30, 4, 34)
    assert (counted.cached_input_tokens, counted.cost_usd) == (10, None)


async def test_request_says_all_that_was_declared_and_nothing_empty(make, server):
    """I05: without tools there is no key for them."""
    server.queue(message("x"), message("x"))
    model = make(temperature=0.25, max_tokens=77, extra={"top_p": 0.5, "seed": 3})
    await model.complete(asking(tools=(PING,)))
    await model.complete(asking(temperature=0.75, max_output_tokens=9))
    first, second = server.bodies
    assert {name: first[name] for name in ("temperature", "max_tokens", "top_p", "seed")} == {
        "temperature": 0.25,
        "max_tokens": 77,
        "top_p": 0.5,
        "seed": 3,
    }
    assert first["model"] == "local"
    assert first["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "ping",
                "description": "Ping.",
                "parameters": {"type": "object", "properties": {}},
            },
        }
    ]
    assert (second["temperature"], second["max_tokens"]) == (0.75, 9)
    assert "tools" not in second
    assert server.requests[0].path == "/v1/chat/completions"
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


async def test_json_answer_is_asked_for_where_a_message_names_json(make, server):
    server.queue(message("{}"), message("{}"))
    await make().complete(asking(json_answer=True))
    await make().complete(asking(Message(role="user", content="hello"), json_answer=True))
    assert server.bodies[0]["response_format"] == {"type": "json_object"}
    assert "response_format" not in server.bodies[1]


@pytest.mark.parametrize("arguments", ["", "  ", None, "missing"], ids=["empty", "blank", "null", "missing"])
async def test_absent_arguments_do_not_break_the_reply(make, server, arguments):
    """A01."""
    made = call("ping", arguments)
    if arguments == "missing":
        del made["function"]["arguments"]
    server.queue(message(None, calls=[made], finish="tool_calls"))
    (read,) = (await make().complete(asking(tools=(PING,)))).message.tool_calls
    assert read.name == "ping"
    assert not (read.arguments or "").strip()


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ("", "{}"),
        ("  ", "{}"),
        (None, "{}"),
        ('{"q": "x",}', "{}"),
        ('{"body":"aaa', "{}"),
        ("[1]", "{}"),
        ({"id": 7}, '{"id":7}'),
        ('{"id": 7}', '{"id": 7}'),
    ],
)
async def test_history_carries_arguments_every_provider_takes(make, server, arguments, sent):
    """A01, A04, A08, B03: malformed arguments go back as an empty object, decoded ones as text."""
    said = Message(role="assistant", tool_calls=(ToolCall(id="c1", name="ping", arguments=arguments),))
    server.queue(message("done"))
    await make().complete(asking(USER, said, Message(role="tool", tool_call_id="c1", content="1"), tools=(PING,)))
    assistant, tool = server.bodies[0]["messages"][1:]
    assert assistant["tool_calls"][0]["function"]["arguments"] == sent
    assert (tool["role"], tool["tool_call_id"], tool["content"]) == ("tool", "c1", "1")


async def test_decoded_and_double_encoded_arguments_arrive_whole(make, server):
    """A06, A08: an object stays an object or its text; a text inside a text is left to the reader of arguments."""
    double = json.dumps(json.dumps({"items": [1, 2]}))
    server.queue(message(None, calls=[call("a", {"id": 7}), call("b", double, "c2")], finish="tool_calls"))
    first, second = (await make().complete(asking(tools=(PING,)))).message.tool_calls
    decoded = first.arguments if isinstance(first.arguments, dict) else json.loads(first.arguments)
    assert decoded == {"id": 7}
    assert second.arguments == double


async def test_malformed_arguments_arrive_as_they_came(make, server):
    """A04, B03."""
    server.queue(message("", calls=[call("search", '{"q": "x",}')], finish="tool_calls"))
    reply = await make().complete(asking(tools=(PING,)))
    assert reply.message.tool_calls[0].arguments == '{"q": "x",}'
    assert reply.finish_reason == "tool_calls"


async def test_calls_without_usable_ids_are_two_calls_in_order(make, server):
    """C05."""
    calls = [call("weather", '{"city":"paris"}', ""), call("weather", '{"city":"tokyo"}', None)]
    server.queue(message(None, calls=calls, finish="tool_calls"))
    read = (await make().complete(asking(tools=(PING,)))).message.tool_calls
    assert [json.loads(made.arguments)["city"] for made in read] == ["paris", "tokyo"]


async def test_indexes_out_of_order_are_sorted_and_equal_ones_keep_their_order(make, server):
    """Edge case 21."""
    calls = [call("b", index=1), call("a", call_id="c2", index=0), call("c", call_id="c3", index=1)]
    server.queue(message(None, calls=calls, finish="tool_calls"))
    read = (await make().complete(asking(tools=(PING,)))).message.tool_calls
    assert [made.name for made in read] == ["a", "b", "c"]


async def test_text_beside_a_call_is_kept_and_goes_back(make, server):
    """C08."""
    server.queue(message("Checking.", calls=[call("ping")], finish="tool_calls"), message("done"))
    model = make()
    reply = await model.complete(asking(tools=(PING,)))
    assert reply.message.content == "Checking."
    await model.complete(asking(USER, reply.message, Message(role="tool", tool_call_id="c1", content="{}")))
    assert server.bodies[1]["messages"][1]["content"] == "Checking."


async def test_provider_owned_parts_go_back_unchanged(make, server):
    """C11: reasoning fields of a message, and signatures of a call."""
    signature = {"google": {"thought_signature": "c2ln"}}
    made = call("ping", extra_content=signature)
    server.queue(message(None, calls=[made], finish="tool_calls", reasoning_content="I think."), message("done"))
    model = make()
    reply = await model.complete(asking(tools=(PING,)))
    await model.complete(asking(USER, reply.message, Message(role="tool", tool_call_id="c1", content="{}")))
    back = server.bodies[1]["messages"][1]
    assert back["reasoning_content"] == "I think."
    assert back["tool_calls"][0]["extra_content"] == signature


async def test_call_written_as_text_is_text(make, server):
    """A12 and what a small model really said."""
    server.queue(captured("call_as_fenced_text"))
    reply = await make().complete(asking(tools=(PING,)))
    assert reply.message.tool_calls == ()
    assert reply.message.content.startswith("```json")


async def test_glued_name_arrives_as_it_is(make, server):
    """A12."""
    server.queue(message(None, calls=[call('{"q":"dogs"} | search')], finish="tool_calls"))
    reply = await make().complete(asking(tools=(PING,)))
    assert reply.message.tool_calls[0].name == '{"q":"dogs"} | search'


@pytest.mark.parametrize("name", ["truncated_args_length", "required_runs_to_length"])
async def test_cut_off_reply_says_so(make, server, name):
    """B02, B05."""
    server.queue(captured(name))
    assert (await make().complete(asking(tools=(PING,)))).finish_reason == "length"


@pytest.mark.parametrize("name", ["double_brace_call_text", "hallucinated_tool_text", "irrelevant_call"])
async def test_what_small_models_really_answer_is_read(make, server, name):
    server.queue(captured(name))
    reply = await make().complete(asking(tools=(PING,)))
    assert reply.usage.total_tokens == reply.usage.input_tokens + reply.usage.output_tokens > 300
    assert bool(reply.message.tool_calls) == (name == "irrelevant_call")


@pytest.mark.parametrize("name", ["server_500_format_code", "server_500_format_json"])
async def test_server_fault_may_pass(make, server, name):
    error = await fail(make(), server, captured(name))
    assert (error.type, error.retryable, error.status) == ("server_error", True, 500)
    assert "does not match the expected peg-native format" in error.message


async def test_context_overflow_is_told_from_other_bad_requests(make, server):
    """Edge case 72: what a local server really says, and what others say."""
    error = await fail(make(), server, captured("context_overflow"))
    assert (error.type, error.retryable, error.status) == ("context_overflow", False, 400)
    said = {"error": {"message": "This model's maximum context length is 8192 tokens.", "code": "x"}}
    assert (await fail(make(), server, Answer(status=400, body=said))).type == "context_overflow"
    said = {"error": {"message": "tools are not supported by this model"}}
    error = await fail(make(), server, Answer(status=400, body=said))
    assert (error.type, error.retryable) == ("bad_request", False)  # E12: refused, not dropped
    assert "tools are not supported" in error.message


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (401, "authentication", False),
        (403, "authentication", False),
        (404, "bad_request", False),
        (408, "timeout", True),
        (422, "bad_request", False),
        (429, "rate_limited", True),
        (500, "server_error", True),
        (503, "server_error", True),
    ],
)
async def test_statuses_map_to_one_small_tree(make, server, status, kind, retryable):
    said = {"error": {"message": f"no: {KEY} was wrong", "type": "x"}}
    error = await fail(make(), server, Answer(status=status, body=said, headers={"retry-after": "7"}))
    assert (error.type, error.retryable, error.status) == (kind, retryable, status)
    if status == 429:
        assert error.retry_after_s == 7.0
    assert len(server.requests) == 1, "retries are the engine's"


async def test_refused_and_lost_connections_may_pass(make, server):
    error = await fail(make(api_base="http://127.0.0.1:9/v1"), server, message("never asked"))
    assert (error.type, error.retryable) == ("connection", True)
    server.answers.clear()
    assert (await fail(make(), server, Answer(drop=True))).type == "connection"
    assert (await fail(make(), server, Answer(body=message("cut"), cut_after=20))).type == "connection"


@pytest.mark.parametrize(
    "answer",
    [
        {"choices": []},
        Answer(body="this is not JSON"),
        {"choices": [{"index": 0, "message": None, "finish_reason": "stop"}]},
    ],
    ids=["no-choice", "no-json", "null-message"],
)
async def test_success_that_holds_no_message_is_a_bad_response(make, server, answer):
    """B04."""
    error = await fail(make(), server, answer)
    assert (error.type, error.retryable) == ("bad_response", False)
    assert "Traceback" not in error.message


async def test_null_content_is_an_empty_message_not_a_failure(make, server):
    """B04: whether that is an answer is the agent's to say."""
    server.queue(message(None))
    reply = await make().complete(asking())
    assert (reply.message.content or "", reply.message.tool_calls) == ("", ())


async def test_error_under_status_200_is_the_error_it_names(make, server):
    error = await fail(make(), server, {"error": {"message": "overloaded", "code": 503}})
    assert (error.type, error.retryable) == ("server_error", True)


async def test_filtered_reply_says_so(make, server):
    server.queue(message("", finish="content_filter"))
    assert (await make().complete(asking())).finish_reason == "content_filter"


@pytest.mark.parametrize(
    ("usage", "total"),
    [
        (None, None),
        ({"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": None}, 8),
        ({"prompt_tokens": 5, "completion_tokens": 3, "prompt_tokens_details": None}, 8),
        ({"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 20}, 20),
    ],
)
async def test_missing_parts_of_usage_are_filled_or_unknown(make, server, usage, total):
    """E01."""
    server.queue(message("x", usage=usage))
    counted = (await make().complete(asking())).usage
    assert (counted and counted.total_tokens) == total


async def test_cost_of_an_unknown_model_is_unknown(make, server):
    """E08."""
    server.queue(message("x", usage={"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}))
    model = make()
    assert model.price is None
    assert (await model.complete(asking())).usage.cost_usd is None


async def test_price_of_the_preset_stands_and_is_left_to_the_meter(make, server):
    price = Price(input_per_mtok=1.0, output_per_mtok=2.0)
    server.queue(message("x", usage={"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}))
    model = make(price=price)
    assert model.price == price
    assert (await model.complete(asking())).usage.cost_usd is None


async def test_cancelled_call_ends_at_once_and_the_model_can_be_used_again(make, server):
    server.queue(Answer(hang=True), message("later"))
    model = make()
    running = asyncio.create_task(model.complete(asking()))
    async with asyncio.timeout(30):
        await server.arrived.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (await model.complete(asking())).message.content == "later"


async def test_lane_can_be_used_again_after_its_connections_were_closed(make, server):
    server.queue(message("one"), message("two"))
    model = make()
    assert (await model.complete(asking())).message.content == "one"
    await make.close()
    assert (await model.complete(asking())).message.content == "two"


async def test_no_task_outlives_the_lane(make, server):
    before = asyncio.all_tasks()
    server.queue(message("x"))
    await make().complete(asking())
    await make.close()
    assert {task for task in asyncio.all_tasks() - before if "handle" not in repr(task)} == set()
