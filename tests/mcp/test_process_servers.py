"""Servers as processes: found, called, survived, and ended, whatever they do."""

import asyncio
import contextlib
import json
import logging
import re
from pathlib import Path

import pytest

from tests.mcp.mcp_support import alive, calling, odd_server, stdio_server
from tests.support.clock import LoopTime
from tuvl import redaction
from tuvl.errors import ConfigError
from tuvl.mcp import wording
from tuvl.mcp.fault import McpFault
from tuvl.spec.artifact import StdioServer


@pytest.fixture(autouse=True)
def no_secrets(monkeypatch):
    monkeypatch.setattr(redaction, "_secrets", set())


async def failing(call) -> McpFault:
    with pytest.raises(McpFault) as caught:
        await call
    return caught.value


def messages(log: Path) -> list[dict]:
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


async def test_one_process_serves_all_calls_of_a_pool_and_is_gone_afterwards():
    async with calling(odd_server()) as call:
        first = await call.pid()
        assert (await call("echo", text="hi")).value == "hi"
        assert await call.pid() == first
        assert alive(first)
    assert not alive(first)


async def test_calls_at_once_share_one_session_and_get_their_own_results(tmp_path):
    log = tmp_path / "log"
    async with calling(odd_server(f"log={log}")) as call:
        replies = await asyncio.gather(*(call("echo", text=f"{n}") for n in range(20)))
    assert [reply.value for reply in replies] == [f"{n}" for n in range(20)]
    assert [message["method"] for message in messages(log)].count("initialize") == 1


@pytest.mark.parametrize("habit", ["paged", "split", "flood", "banner", "odd"])
async def test_habits_of_servers_do_no_harm(habit):
    """J01 mcp.pagination, J09 mcp.stderr_deadlock, J10 mcp.framing, I01 schema.no_args: the last tool is found."""
    async with calling(odd_server(habit)) as call:
        assert (await call("echo", text="a")).value == "a"
        assert re.fullmatch(r"\d+", (await call("orphan")).text)


async def test_lines_that_are_no_messages_are_logged_without_their_content(caplog):
    with caplog.at_level(logging.INFO, logger="tuvl.mcp"):
        async with calling(odd_server("banner")) as call:
            await call("echo", text="a")
    assert sum("that is no message" in line for line in caplog.messages) == 4
    assert "ready" not in caplog.text


async def test_list_of_tools_that_never_ends_is_read_so_far_and_no_further(tmp_path):
    log = tmp_path / "log"
    async with calling(odd_server("endless", f"log={log}")) as call:
        assert (await call("echo", text="a")).value == "a"
    assert [message["method"] for message in messages(log)].count("tools/list") == 100


async def test_tool_that_is_not_there_is_refused_with_a_near_name_and_nothing_is_called(tmp_path):
    log = tmp_path / "log"
    async with calling(odd_server(f"log={log}")) as call:
        near = await failing(call("ecco"))
        far = await failing(call("translate_document"))
    assert near.kind == "no_such_tool"
    assert near.message == "MCP server 'artifact://odd@1' has no tool 'ecco'; did you mean 'echo'?"
    assert "it has 'echo', 'say', 'pid'" in far.message
    assert "tools/call" not in [message["method"] for message in messages(log)]


async def test_same_tool_name_on_two_servers_reaches_each_its_own():
    """J06 mcp.collision."""
    async with calling(odd_server(name="a", env={"WHO": "a"})) as call:
        other = odd_server(name="b", env={"WHO": "b"})
        mine = await call("environ")
        theirs = await call.pool.call(other, "environ", {}, timeout_s=20)
    assert (mine.value["WHO"], theirs.value["WHO"]) == ("a", "b")


async def test_server_that_dies_during_a_call_fails_it_at_once_with_its_last_words_and_serves_the_next_call(tmp_path):
    """J07 mcp.dead_server: the failed call is not repeated."""
    log = tmp_path / "log"
    async with calling(odd_server(f"log={log}")) as call:
        before = await call.pid()
        async with asyncio.timeout(30):
            fault = await failing(call("die", 60, words="first\nout of disk\n"))
        assert await call.pid() != before
    assert fault.kind == "connection"
    assert fault.sent
    assert "it exited with code 3; its last words: first / out of disk" in fault.message
    assert fault.detail == {"stderr": "first\nout of disk"}
    assert [m["params"]["name"] for m in messages(log) if m["method"] == "tools/call"] == ["pid", "die", "pid"]


async def test_all_calls_under_way_fail_when_their_server_dies():
    async with calling(odd_server()) as call:
        await call("echo", text="a")
        hanging = [asyncio.create_task(failing(call("hang", 60))) for _ in range(3)]
        await call("echo", text="they are under way")
        await failing(call("die", 60))
        async with asyncio.timeout(30):
            faults = await asyncio.gather(*hanging)
    assert {fault.kind for fault in faults} == {"connection"}


async def test_server_killed_between_calls_is_started_anew_for_the_next():
    """J07 mcp.dead_server."""
    async with calling(odd_server()) as call:
        before = await call.pid()
        await call("vanish")
        async with asyncio.timeout(20):
            while alive(before):
                await asyncio.sleep(0)
        after = None
        while after is None:
            with contextlib.suppress(McpFault):  # when the death was noticed while the call was on its way
                after = await call.pid()
    assert after != before


async def test_server_that_exits_at_once_says_why_and_a_later_call_tries_again():
    async with calling(odd_server("dead")) as call:
        for _ in range(2):
            fault = await failing(call("echo"))
            assert fault.kind == "connection"
            assert not fault.sent
            assert "it exited with code 1; its last words: the configuration file is missing" in fault.message


@pytest.mark.parametrize("habit", ["mute", "deaf"])
async def test_greeting_has_a_timeout_of_its_own(habit):
    """J07 mcp.dead_server."""
    async with calling(odd_server(habit), connect_timeout_s=0.5) as call:
        fault = await failing(call("echo", 60))
    assert (fault.kind, fault.message) == (
        "timeout",
        "MCP server 'artifact://odd@1' was not ready within 0.5 s",
    )


async def test_server_that_writes_something_else_than_messages_is_told_of_it(caplog):
    said = "to stdout that are no messages of the protocol: stdout is for these alone"
    caplog.set_level(logging.INFO, logger="tuvl.mcp")
    async with calling(odd_server("mute", "banner"), connect_timeout_s=60.0) as call:
        waiting = asyncio.create_task(failing(call("echo", 600)))
        async with asyncio.timeout(30):
            while sum("that is no message" in line for line in caplog.messages) < 4:
                await asyncio.sleep(0.01)
        LoopTime().advance(60)
        slow = await waiting
    async with calling(odd_server("prose")) as call:
        gone = await failing(call("echo"))
    assert slow.message.startswith(f"MCP server 'artifact://odd@1' was not ready within 60 s; it wrote 4 lines {said}")
    assert gone.message.startswith(
        f"MCP server 'artifact://odd@1' is gone: it exited with code 2; it wrote 2 lines {said}"
    )


async def test_program_that_is_not_there_is_named():
    spec = StdioServer(type="mcp", transport="stdio", command="no-such-program-anywhere")
    async with calling(stdio_server(spec)) as call:
        fault = await failing(call("echo"))
    assert fault.kind == "connection"
    assert "cannot be started: 'no-such-program-anywhere': no such file or directory" in fault.message


async def test_timeout_announces_one_cancellation_and_a_late_reply_confuses_nobody(tmp_path):
    """J12 mcp.cancel_notify."""
    log = tmp_path / "log"
    async with calling(odd_server(f"log={log}")) as call:
        waiting = asyncio.create_task(failing(call("late", 60)))
        async with asyncio.timeout(30):
            while not log.exists() or "late" not in log.read_text(encoding="utf-8"):
                await asyncio.sleep(0.01)
        LoopTime().advance(60)
        fault = await waiting
        for _ in range(2):  # the server answers in order: first what came too late
            assert (await call("echo", text="mine")).value == "mine"
    assert (fault.kind, fault.sent) == ("timeout", True)
    assert fault.message == "MCP server 'artifact://odd@1' did not answer the call of 'late' within 60 s"
    sent = messages(log)
    (late,) = [m["id"] for m in sent if m.get("params", {}).get("name") == "late"]
    (cancelled,) = [m for m in sent if m["method"] == "notifications/cancelled"]
    assert cancelled["params"]["requestId"] == late


async def test_cancelled_call_is_announced_once_and_the_session_goes_on(tmp_path):
    """J12 mcp.cancel_notify."""
    log = tmp_path / "log"
    async with calling(odd_server(f"log={log}")) as call:
        before = await call.pid()
        hanging = asyncio.create_task(call("hang", 60))
        async with asyncio.timeout(10):
            while "hang" not in log.read_text(encoding="utf-8"):
                await asyncio.sleep(0.01)
        hanging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hanging
        assert await call.pid() == before
    assert [m["method"] for m in messages(log)].count("notifications/cancelled") == 1


async def test_call_cancelled_while_its_server_starts_takes_nothing_from_the_others():
    async with calling(odd_server()) as call:
        first = asyncio.create_task(call("echo", text="a"))
        second = asyncio.create_task(call("echo", text="b"))
        await asyncio.sleep(0)
        first.cancel()
        assert (await second).value == "b"
        assert first.cancelled()


@pytest.mark.parametrize("habits", [(), ("stubborn",)], ids=["willing", "stubborn"])
async def test_what_a_server_started_ends_with_it(habits):
    async with calling(odd_server(*habits)) as call:
        await call.pid()
        call.pids.append(int((await call("orphan")).text))


async def test_closing_ends_a_server_that_is_still_starting(tmp_path):
    log = tmp_path / "log"
    async with calling(odd_server("mute", f"log={log}")) as call:
        hanging = asyncio.create_task(call("echo"))
        async with asyncio.timeout(10):
            while not log.exists():
                await asyncio.sleep(0.01)
    with pytest.raises(McpFault):
        await hanging


async def test_closing_under_cancellation_leaves_no_process():
    async with calling(odd_server("stubborn")) as call:
        await call.pid()
        closing = asyncio.create_task(call.pool.aclose())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing


async def test_process_gets_the_least_environment_and_what_is_declared(tmp_path):
    environ = {"PATH": "/usr/bin:/bin", "HOME": "/nowhere", "API_KEY": "sk-very-secret", "AWS_SECRET": "hidden"}
    server = odd_server(folder=tmp_path, env={"KEY": "key=${API_KEY}", "MODE": "${MODE:quiet}"})
    async with calling(server, environ=environ) as call:
        seen = (await call("environ")).value
    assert {name: seen.get(name) for name in ("PATH", "HOME", "KEY", "MODE", "cwd")} == {
        "PATH": "/usr/bin:/bin",
        "HOME": "/nowhere",
        "KEY": "key=sk-very-secret",
        "MODE": "quiet",
        "cwd": str(tmp_path.resolve()),
    }
    assert "AWS_SECRET" not in seen
    assert "API_KEY" not in seen


async def test_variable_without_a_value_is_named_when_the_server_is_first_used():
    async with calling(odd_server(env={"KEY": "${NOT_SET_ANYWHERE}"}), environ={}) as call:
        with pytest.raises(ConfigError, match=r"'artifact://odd@1' field 'spec.env.KEY'.*'NOT_SET_ANYWHERE'"):
            await call("echo")


async def test_secret_that_a_server_writes_to_stderr_is_masked():
    environ = {"PATH": "/usr/bin:/bin", "TOKEN": "tok-123456789"}
    async with calling(odd_server(env={"T": "${TOKEN}"}), environ=environ) as call:
        fault = await failing(call("die", words="bad token tok-123456789\n"))
    assert "tok-123456789" not in fault.message + json.dumps(fault.detail)
    assert fault.detail == {"stderr": "bad token ***"}


async def test_end_of_stderr_is_kept_and_no_more():
    async with calling(odd_server()) as call:
        fault = await failing(call("die", words="x" * 100_000 + "\nthe end\n"))
    assert len(fault.detail["stderr"]) <= 4000
    assert fault.detail["stderr"].endswith("the end")


async def test_message_past_the_cap_ends_its_session_and_not_the_pool():
    async with calling(odd_server()) as call:
        await call.pid()
        fault = await failing(call("huge", size=11_000_000))
        await call.pid()
    assert fault.kind == "response_too_large"
    assert "a message of more than 10485760 bytes" in fault.message


async def test_message_below_the_cap_is_read_whole():
    async with calling(odd_server()) as call:
        assert len((await call("huge", size=5_000_000)).text) == 5_000_000


async def test_answer_that_has_not_the_form_of_one_fails_its_call_at_once():
    async with calling(odd_server()) as call:
        async with asyncio.timeout(10):
            fault = await failing(call("say", 60, result=7))
        assert (await call("echo", text="on")).value == "on"
    assert fault.kind == "bad_response"


async def test_protocol_error_of_a_call_is_told_with_its_code():
    async with calling(odd_server("odd")) as call:
        fault = await failing(call("ghost"))
    assert (fault.kind, fault.detail) == ("rejected", {"code": -32602})
    assert fault.message == "MCP server 'artifact://odd@1' rejected the call of 'ghost': Unknown tool: ghost"


@pytest.mark.parametrize("code", [-32000, -32001, -32603, 7])
@pytest.mark.parametrize("words", ["the quota is used up", "Connection closed"])
async def test_error_of_a_server_is_its_answer_whatever_its_number(code, words):
    """The SDK calls a lost connection -32000, which is also what most servers call an error of their own."""
    async with calling(odd_server()) as call:
        fault = await failing(call("refuse", code=code, message=words))
        assert (await call("echo", text="on")).value == "on"
    assert (fault.kind, fault.detail, fault.sent) == ("rejected", {"code": code}, False)
    assert fault.message == f"MCP server 'artifact://odd@1' rejected the call of 'refuse': {words}"


async def test_greeting_that_is_refused_is_told_with_the_words_of_the_server():
    async with calling(odd_server("sorry")) as call:
        fault = await failing(call("echo"))
    assert fault.kind == "rejected"
    assert fault.message.endswith("rejected the greeting: out of licences")


def test_the_words_for_a_lost_connection_are_those_of_the_sdk():
    import mcp.client.streamable_http as over_http
    import mcp.shared.jsonrpc_dispatcher as dispatcher

    sources = "".join(Path(str(module.__file__)).read_text(encoding="utf-8") for module in (over_http, dispatcher))
    assert [words for words in sorted(wording._OF_THE_SDK) if f'"{words}"' not in sources] == []
    # Whatever else the SDK resolves a call with, under that number, would be taken for the server's answer.
    named = re.findall(r'code=CONNECTION_CLOSED, message="([^"]*)"', sources)
    assert set(named) <= wording._OF_THE_SDK
