"""What a `secure` field was given, and what is a secret of the configuration, shows nowhere once a run has ended."""

import json
from pathlib import Path

import pytest

from tests.engine.run_support import Seen
from tests.sql.records_support import Records, op
from tests.sql.test_streamed_conversations import Pieces
from tests.support.openai_server import message, serving
from tuvl.hooks import actions

PIN = "hunter2-secret"
STORED = op("stored", "create", payload={"id": 1, "email": "a@b.c", "iban": "{{ pin }}"})

RAISES = """
    from tuvl import node

    @node("raises")
    def raises(ctx):
        raise ValueError("it was " + ctx["pin"])

    @node("elsewhere")
    def elsewhere(ctx):
        return "went to " + ctx["pin"]
    """

FAILING = {
    "a message that says it": {"kind": "Functional", "runner": "fail", "message": "failed on {{ pin }}"},
    "a message that is cut inside it": {
        "kind": "Functional",
        "runner": "fail",
        "message": "x" * 490 + "{{ pin }}",
    },
    "an exception of a node": {"kind": "Functional", "runner": "raises"},
    "a signal that nothing maps": {"kind": "Functional", "runner": "elsewhere"},
    "an address that answers nothing": {"kind": "APICall", "http": {"url": "http://127.0.0.1:9/{{ pin }}"}},
}


@pytest.mark.parametrize("step", FAILING.values(), ids=FAILING)
async def test_a_secure_value_shows_in_no_error_event_or_hook_of_a_failed_step(tmp_path: Path, step, caplog) -> None:
    project = Records(tmp_path).customers().node(RAISES)
    project.config(http={"allow_hosts": ["127.0.0.1"]})
    project.steps(STORED, {"id": "last", **step}, hooks=["artifact://note@1"])
    note = {"type": "hook", "on": "on_error", "action": "log"}
    (tmp_path / "artifacts").mkdir()
    hook = {"kind": "Artifact", "metadata": {"name": "note", "version": 1}, "spec": note}
    (tmp_path / "artifacts" / "note.yaml").write_text(json.dumps(hook), encoding="utf-8")
    seen = Seen()
    with caplog.at_level("INFO", actions.__name__):
        result = await project.run({"pin": PIN}, sinks=[seen])
    assert result.status == "failed"
    for text in (json.dumps(result.to_json()), repr(seen.events), caplog.text, *result.warnings):
        assert PIN[:9] not in text
    assert result.error is not None
    assert PIN not in result.error.message


async def test_a_secure_value_is_masked_where_a_fallback_reads_of_the_failure(tmp_path: Path) -> None:
    project = Records(tmp_path).customers()
    fails = {"id": "work", **FAILING["a message that says it"], "routes": {"error": "keep"}}
    project.steps(STORED, fails, {"id": "keep", "kind": "Response", "mapping": {"why": "_last_error"}})
    result = await project.run({"pin": PIN})
    assert result.output == {"why": "failed on ***"}
    assert result.error is not None
    assert result.error.message == "failed on ***"


async def test_a_tool_that_fails_with_a_secure_value_hides_it_from_model_trace_and_error(tmp_path: Path) -> None:
    project = Records(tmp_path).customers().node(RAISES)
    project.model({"tool_calls": [{"name": "boom", "arguments": {}}]})
    agent = {"model": "default", "steering": "Go.", "tools": [{"ref": "boom"}], "tool_error_policy": "fail"}
    project.steps(
        STORED,
        {"id": "agent", "kind": "Agent", "mode": "autonomous", "agent": agent},
        {"id": "boom", "kind": "Functional", "runner": "raises", "description": "Fails."},
    )
    result = await project.run({"pin": PIN})
    assert result.error is not None
    assert result.error.type == "tool_error"
    assert "it was ***" in result.error.message
    assert PIN not in json.dumps(result.to_json())


async def test_a_secure_value_is_masked_in_names_of_keys(tmp_path: Path) -> None:
    node = """
    from tuvl import node

    @node("keyed")
    def keyed(ctx):
        return {"found": {ctx["pin"]: 1}}
    """
    project = Records(tmp_path).customers().node(node)
    project.steps(STORED, {"id": "keyed", "kind": "Functional", "runner": "keyed"})
    result = await project.run({"pin": PIN})
    assert result.context["found"] == {"***": 1}


@pytest.mark.parametrize("pieces", [["It is hunter2-", "secret, hunter"], [*"It is hunter2-secret, hunter"]])
async def test_a_secure_value_is_masked_in_streamed_text_however_it_is_cut(tmp_path: Path, pieces) -> None:
    project = Records(tmp_path).customers()
    project.model("unused")
    project.chat_models["default"] = Pieces([*pieces, "stop"])
    agent = {"model": "default", "steering": "Go.", "tools": [{"ref": "look"}], "stream": True}
    project.steps(
        STORED,
        {"id": "agent", "kind": "Agent", "mode": "autonomous", "agent": agent},
        {"id": "look", "kind": "Functional", "runner": "log", "message": "m", "description": "Looks."},
    )
    seen = Seen()
    result = await project.run({"pin": PIN}, sinks=[seen])
    assert result.context["agent_result"] == "It is ***, hunter"
    assert "".join(event.body.text for event in seen.events if event.body.type == "text_delta") == "It is ***, hunter"
    assert [event.seq for event in seen.events] == [*range(1, len(seen.events) + 1)]


@pytest.mark.parametrize("trace", [False, True], ids=["abnormal end", "asked for"])
async def test_a_model_that_repeats_its_key_shows_it_nowhere_in_the_trace(tmp_path: Path, trace: bool) -> None:
    project = Records(tmp_path)
    agent = {"model": "default", "steering": "Go.", "tools": [{"ref": "look"}]}
    agent |= {} if trace else {"outcome": {"enum": ["ok"]}}
    project.steps(
        {"id": "agent", "kind": "Agent", "mode": "autonomous", "agent": agent, "routes": {"ok": "END"}},
        {"id": "look", "kind": "Functional", "runner": "log", "message": "m", "description": "Looks."},
    )
    project.environ["KEY"] = "sekret-key-12345678"
    async with serving() as server:
        project.model(provider="openai_compatible", model="m", api_base=server.url, api_key="${KEY}", replies=None)
        server.queue(message("It is sekret-key-12345678."))
        engine = project.engine()
        try:
            result = await engine.run(project.plan(), {}, trace=trace)
        finally:
            await engine.aclose()
    assert result.trace is not None
    (said,) = [entry["content"] for entry in result.trace if entry["type"] == "assistant"]
    assert said == "It is ***."
    assert "sekret" not in json.dumps(result.to_json())
