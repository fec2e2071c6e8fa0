"""Processes that perform the runs of a host, to be killed, stopped or let go of.

A process of this script has everything imported and forks one for each: so they are there in a fraction of a second. It
reads one JSON line for each, `{"cwd": ..., "environ": ..., "concurrency": ..., "kill": "before NAME", "start": {...}}`,
and answers with its process id.
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import tuvl.hosting.performers
from tests.durable import crashing
from tuvl.hosting.host import Host
from tuvl.hosting.requests import StartRequest
from tuvl.project.index import ProjectIndex
from tuvl.settings import load_settings

IMPORTED = (tuvl.hosting.performers,)
"""So that no child has to."""


async def _perform(asked: dict) -> None:
    settings = load_settings(asked["environ"])
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with Host.open(ProjectIndex(Path(asked["cwd"])), settings, concurrency=asked["concurrency"]) as host:
        if asked["start"]:
            await host.start(StartRequest(**asked["start"]))
        await stop.wait()
        await host.drain(30)


def serve() -> None:
    crashing.warm()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody has to wait for them
    for line in sys.stdin:
        asked = json.loads(line)
        pid = os.fork()
        if pid == 0:
            os.chdir(asked["cwd"])
            os.dup2(os.open(os.devnull, os.O_RDWR), 0)
            os.dup2(0, 1)
            if asked["kill"]:
                crashing._dying(asked["kill"])
            asyncio.run(_perform(asked))
            os._exit(0)
        print(json.dumps(pid), flush=True)


if __name__ == "__main__":
    serve()
