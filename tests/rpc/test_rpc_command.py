"""`tuvl serve --grpc-port`: both ports of one process, what SIGTERM does to calls, and what is said of misuse."""

import asyncio
import json
import re
import signal
import socket
import subprocess
import sys

import grpc
import pytest
from grpc import StatusCode

from tests.rpc.rpc_support import Client, refused
from tests.server.test_serve_command import open_gate, served, shop, token_of
from tuvl.cli.app import main
from tuvl.rpc import runs_pb2 as pb


@pytest.fixture
def token(tmp_path, capsys) -> str:
    shop(tmp_path)
    return token_of(tmp_path, capsys)


async def test_sigterm_lets_callers_have_the_end_of_their_runs_and_takes_no_new_ones(tmp_path, token):
    async with served(tmp_path, token, "--grpc-port", "0", "--grace", "600") as server:
        found = re.search(
            r"serving gRPC at (127\.0\.0\.1:\d+)$", (await server.process.stderr.readline()).decode(), re.M
        )
        assert found
        client = Client(found[1], f"Bearer {token}")
        assert (
            await client.Start(pb.StartRequest(workflow="quick", input_json='{"name": "Ada"}'))
        ).status == "completed"
        stream = client.StartAndWatch(pb.StartRequest(workflow="gated"))
        assert (await stream.read()).type == "run_started"
        waiting = asyncio.ensure_future(_whole(client.Start(pb.StartRequest(workflow="gated"))))
        async with asyncio.timeout(30):
            while len((await client.List(pb.ListRequest(status="running"))).runs) < 2:
                pass
        server.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(30):
            while (await server.client.get("/readyz")).status_code == 200:
                pass
        async with refused(StatusCode.UNAVAILABLE, "closing"):
            await client.Start(pb.StartRequest(workflow="quick", input_json='{"name": "Ada"}'))
        open_gate(tmp_path)
        last = None
        while (event := await stream.read()) is not grpc.aio.EOF:
            last = event
        assert last is not None
        assert (last.type, json.loads(last.json)["status"]) == ("run_finished", "completed")
        assert (await waiting).status == "completed"
        assert await server.ended() == 0
        assert [
            line for line in server.said.splitlines() if not line.startswith(("tuvl serve: ", "warning: run "))
        ] == []
        await client.channel.close()


async def _whole(call) -> pb.StartResponse:
    return await call


def test_a_port_that_cannot_be_had_is_told_with_its_option(tmp_path, capsys):
    shop(tmp_path)
    words = ["serve", "--port", "0", "--project", str(tmp_path), "--grpc-port"]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        command = [sys.executable, "-m", "tuvl", *words, str(taken.getsockname()[1])]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "--grpc-port" in done.stderr
    assert "in use" in done.stderr
    assert "Traceback" not in done.stderr
    assert main([*words, "70000"]) == 2
    assert "--grpc-port" in capsys.readouterr().err


def test_without_its_packages_the_extra_is_named(tmp_path, capsys, monkeypatch):
    shop(tmp_path)
    for name in [name for name in sys.modules if name.startswith("tuvl.rpc.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "grpc", None)
    assert main(["serve", "--port", "0", "--grpc-port", "0", "--project", str(tmp_path)]) == 2
    assert "pip install 'tuvl[server,grpc]'" in capsys.readouterr().err


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_other_machines_are_not_let_in_without_a_token_over_grpc_either(tmp_path, capsys, host):
    shop(tmp_path)
    assert main(["serve", "--host", host, "--port", "0", "--grpc-port", "0", "--project", str(tmp_path)]) == 2
    assert "tuvl token create" in capsys.readouterr().err
