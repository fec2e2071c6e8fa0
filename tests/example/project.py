"""The example project for tests: a copy of its files, and its shop on a free port."""

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from demo.shop_service import DEFAULT_PORT, ShopServer

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("workflows", "artifacts", "llms", "nodes", "demo", "scenarios", "tuvl.yaml")


def copy_example(folder: Path, *, port: int) -> None:
    """Copy the project, with the shop's address changed to another port."""
    folder.mkdir()
    for name in PARTS:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)
    for path in folder.rglob("*.yaml"):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(f"127.0.0.1:{DEFAULT_PORT}", f"127.0.0.1:{port}"), encoding="utf-8")


@contextmanager
def open_shop() -> Iterator[ShopServer]:
    """Keep a shop of its own open on a free port."""
    server = ShopServer(0)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
