"""The reference server of the protocol, written in another language, over all three transports."""

from contextlib import AsyncExitStack

import pytest

from tests.mcp.mcp_support import calling, remote_server, stdio_server
from tests.support.mcp_everything import program, serving_everything
from tuvl.mcp.fault import McpFault
from tuvl.spec.artifact import StdioServer


@pytest.fixture(params=["stdio", "streamableHttp", "sse"])
async def call(request):
    async with AsyncExitStack() as stack:
        if request.param == "stdio":
            server = stdio_server(StdioServer(type="mcp", transport="stdio", command=program(), args=("stdio",)))
        else:
            url = await stack.enter_async_context(serving_everything(request.param))
            server = remote_server(url, transport="sse" if request.param == "sse" else "http")
        yield await stack.enter_async_context(calling(server))


async def test_every_kind_of_content_comes_over_every_transport(call):
    assert (await call("echo", message="hi")).value == "Echo: hi"
    sum_ = await call("get-sum", a=1, b=2)
    assert sum_.value == "The sum of 1 and 2 is 3."

    image = (await call("get-tiny-image")).value
    assert image["text"].startswith("Here's the image")
    assert [(block["type"], block["mime_type"]) for block in image["content"]] == [("image", "image/png")]
    assert image["not_forwarded"] == ["1 image/png"]

    structured = await call("get-structured-content", location="New York")
    assert structured.structured
    assert set(structured.value) == {"temperature", "conditions", "humidity"}
    assert structured.output_schema is not None

    links = (await call("get-resource-links", count=2)).value
    assert [block["type"] for block in links["content"]] == ["resource_link", "resource_link"]

    resource = (await call("get-resource-reference", resourceType="Text", resourceId=1)).value
    assert "This is a plaintext resource" in resource


async def test_tools_own_error_keeps_its_words(call):
    """J03 mcp.is_error."""
    reply = await call("echo")
    assert reply.failed
    assert "expected string, received undefined" in reply.text


async def test_call_that_takes_too_long_is_given_up_and_the_session_goes_on(call):
    """J12 mcp.cancel_notify."""
    with pytest.raises(McpFault) as caught:
        await call("trigger-long-running-operation", 0.3, duration=30, steps=3)
    assert caught.value.kind == "timeout"
    assert (await call("echo", message="on")).value == "Echo: on"


async def test_server_that_was_killed_fails_the_call_and_not_the_run():
    async with AsyncExitStack() as inner:
        url = await inner.enter_async_context(serving_everything("sse"))
        async with calling(remote_server(url, transport="sse")) as call:
            await call("echo", message="a")
            await inner.aclose()
            for _ in range(2):  # when the loss is noticed on the way, and when there is nobody to connect to
                with pytest.raises(McpFault) as caught:
                    await call("echo", message="b")
                assert caught.value.kind == "connection"
