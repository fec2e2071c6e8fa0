"""The page names everything that the code records and reads, so that nobody has to guess."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "observability.md").read_text(encoding="utf-8")
RECORDING = (
    "engine/spans.py",
    "agent/turn_span.py",
    "tools/call_span.py",
    "llm/chat_span.py",
    "telemetry/metrics.py",
    "telemetry/log_sink.py",
)


def names_in(module: str, pattern: str) -> set[str]:
    return set(re.findall(pattern, (ROOT / "src" / "tuvl" / module).read_text(encoding="utf-8")))


@pytest.mark.parametrize("module", RECORDING)
def test_every_attribute_counter_and_record_is_on_the_page(module):
    names = names_in(module, r'"((?:gen_ai|tuvl|agent|run|step)\.[a-z_.]+)"') - {"tuvl.agent", "tuvl.run"}
    assert names
    assert {name for name in names if f"`{name}`" not in PAGE} == set()


def test_every_setting_is_on_the_page():
    names = names_in("settings.py", r'"((?:TUVL|OTEL_EXPORTER)_[A-Z_]+)"')
    assert {"TUVL_LOG_FORMAT", "OTEL_EXPORTER_OTLP_ENDPOINT"} <= names
    assert {name for name in names if f"| `{name}` |" not in PAGE} == set()
