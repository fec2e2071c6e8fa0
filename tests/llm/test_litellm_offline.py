"""LiteLLM is imported late and without touching the network; its table prices models without importing it."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tuvl.llm.pricing import table_price

IMPORT_BLOCKED = """
    import asyncio, socket

    tried = []

    def refuse(*args, **kwargs):
        tried.append(args[:2])
        raise OSError("the network is off")

    socket.getaddrinfo = refuse
    socket.socket.connect = refuse
    socket.socket.connect_ex = refuse

    from tuvl.llm.litellm_model import LiteLLMModel
    from tuvl.llm.settings import CallSettings

    model = LiteLLMModel(CallSettings(name="m", model="openai/gpt-4o"))
    asyncio.run(model.prepare())

    import litellm, os, threading
    print(tried, len(litellm.model_cost) > 1000, litellm.drop_params, os.environ.get("LEAKED"))
    print(threading.active_count())
"""


def run(code: str, cwd: Path) -> subprocess.CompletedProcess:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("LITELLM")}
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environ,
        timeout=100,
    )


def test_importing_litellm_fetches_nothing_says_nothing_and_reads_no_env_file(tmp_path):
    (tmp_path / ".env").write_text("LEAKED=yes\n", encoding="utf-8")
    done = run(IMPORT_BLOCKED, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "[] True False None"
    assert done.stderr == ""


def test_nothing_heavy_is_loaded_before_the_first_call(tmp_path):
    code = """
        import sys
        import tuvl.llm.factory, tuvl.steps.api_call
        from tuvl.http.client import HttpClient
        from tuvl.llm.litellm_model import LiteLLMModel
        from tuvl.llm.settings import CallSettings
        HttpClient()
        LiteLLMModel(CallSettings(name="m", model="openai/gpt-4o")).name
        print([name for name in ("litellm", "openai", "httpx", "httpcore", "jinja2") if name in sys.modules])
    """
    done = run(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_table_knows_prices_with_and_without_the_provider():
    price = table_price("openai/gpt-4o")
    assert price is not None
    assert price == table_price("gpt-4o")
    assert 0 < price.input_per_mtok < price.output_per_mtok < 1000
    assert price.cached_input_per_mtok < price.input_per_mtok


@pytest.mark.parametrize("name", ["acme/unknown", "unknown", "anthropic/gpt-4o", "sample_spec"])
def test_model_the_table_does_not_price_has_an_unknown_price(name):
    """E08: unknown is not nothing."""
    price = table_price(name)
    assert price is None
