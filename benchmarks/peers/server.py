"""A chat-completions server that asks for a tool a given number of times, then answers. Standard library only.

It keeps no state: how far a conversation is stands in the request. `python server.py TURNS` prints its port.
"""

import asyncio
import json
import sys

USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


def reply(body: bytes, turns: int) -> bytes:
    """Return the completion that comes next."""
    done = sum(message.get("role") == "assistant" for message in json.loads(body)["messages"])
    message: dict[str, object] = {"role": "assistant", "content": None}
    if done < turns:
        arguments = json.dumps({"query": f"question {done}"})
        function = {"name": "lookup", "arguments": arguments}
        message["tool_calls"] = [{"id": f"call_{done}", "type": "function", "function": function}]
    else:
        message["content"] = "done"
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if done < turns else "stop"}
    completion = {"id": "c", "object": "chat.completion", "created": 1, "model": "scripted", "choices": [choice]}
    return json.dumps({**completion, "usage": USAGE}).encode()


async def serve(turns: int) -> None:
    """Serve until the process is ended."""

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    int(line.split(b":")[1])
                    for line in head.split(b"\r\n")
                    if line.lower().startswith(b"content-length:")
                )
                body = reply(await reader.readexactly(length), turns)
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
                    + body
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(client, "127.0.0.1", 0, limit=1 << 24)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
