"""Clients that leave before they have said what they want: nobody's mistake."""

import asyncio
import logging
from urllib.parse import urlsplit

import pytest

from tests.server.server_support import serving, shop


@pytest.mark.parametrize("path", ["/api/runs", "/api/greet", "/api/runs/nowhere/answer", "/session"])
async def test_a_client_that_leaves_before_its_body_is_there_is_no_error_of_the_server(tmp_path, caplog, path):
    async with serving(shop(tmp_path)) as server:
        token = await server.token()
        where = urlsplit(server.url)
        _, writer = await asyncio.open_connection(where.hostname, where.port)
        writer.write(
            f"POST {path} HTTP/1.1\r\nHost: {where.netloc}\r\nAuthorization: Bearer {token}\r\n"
            'Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"workflow":'.encode()
        )
        await writer.drain()
        await asyncio.sleep(0.2)
        writer.close()
        client = await server.client()

        def counted() -> list[str]:
            lines = metrics.text.splitlines()
            return [line for line in lines if line.startswith("tuvl_http_requests_total") and '"POST"' in line]

        async with asyncio.timeout(20):
            while True:
                metrics = await client.get("/metrics")
                if counted():
                    break
                await asyncio.sleep(0.05)
        assert not [line for line in counted() if 'status="5' in line]
        assert [each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR] == []
