"""Record and replay: what a run said can be run again, and the first request that differs is shown."""

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuvl import redaction
from tuvl.errors import ModelError, UsageError
from tuvl.llm.messages import Message, ModelReply, ModelRequest, ToolCall, ToolSpec, Usage
from tuvl.llm.recording import Recorder
from tuvl.llm.replay import Replay
from tuvl.llm.script import parse_script
from tuvl.llm.scripted import ScriptedModel
from tuvl.source.loading import load_data
from tuvl.source.yaml_text import to_yaml
from tuvl.testing.model import calls, failing, reply

SYSTEM = Message(role="system", content="Be brief.")
USER = Message(role="user", content="Where is order 7?\nIt is late. \u2028 é")
TOOL = ToolSpec(name="lookup", description="Look up.", parameters={"type": "object", "properties": {}})


@pytest.fixture
def secret(monkeypatch):
    monkeypatch.setattr(redaction, "_secrets", set())
    redaction.register_secret("hunter2hunter2")
    return "hunter2hunter2"


async def conversation(model, *, order="7", tools=(TOOL,), temperature=None) -> list[ModelReply]:
    """Two turns of an agent, the way the loop makes them: one list that grows."""
    history = [SYSTEM, USER]
    first = await model.complete(ModelRequest(messages=history, tools=tools, temperature=temperature))
    history.append(first.message)
    history.append(Message(role="tool", tool_call_id=first.message.tool_calls[0].id, content=f"order {order} is late"))
    second = await model.complete(ModelRequest(messages=history, tools=tools, temperature=temperature))
    return [first, second]


def scripted(name="default") -> ScriptedModel:
    return ScriptedModel([calls("lookup", {"id": 7}, text="Looking.", tokens=12), reply("Late.", tokens=20)], name=name)


async def recorded(path) -> list[ModelReply]:
    recorder = Recorder(path)
    said = await conversation(recorder.wrap(scripted()))
    recorder.save()
    return said


def content(replies: list[ModelReply]) -> list:
    return [(one.message, one.finish_reason, one.usage) for one in replies]


async def test_replay_gives_the_recorded_replies(tmp_path):
    path = tmp_path / "run.yaml"
    said = await recorded(path)
    again = await conversation(Replay.load(path).model("default", None))
    assert content(again) == content(said)


async def test_recording_is_a_script_too(tmp_path):
    path = tmp_path / "run.yaml"
    said = await recorded(path)
    replies = parse_script(load_data(path.read_bytes(), name=str(path)), where=str(path))
    assert content(await conversation(ScriptedModel(replies))) == content(said)


async def test_everything_a_provider_sent_survives(tmp_path):
    path = tmp_path / "run.yaml"
    made = ModelReply(
        message=Message(
            role="assistant",
            content="",
            tool_calls=(ToolCall(id="c1", name="lookup", arguments='{"id": ', provider={"sig": "x"}),),
            provider={"reasoning_content": "hm", "blocks": [{"type": "thinking", "n": 1}]},
        ),
        finish_reason="length",
        usage=Usage(input_tokens=1, output_tokens=2, total_tokens=9, cached_input_tokens=1, cost_usd=0.25),
    )

    class One:
        name = "default"
        price = None

        async def complete(self, request):
            return made

        async def aclose(self):
            pass

    recorder = Recorder(path)
    request = ModelRequest(messages=[USER])
    await recorder.wrap(One()).complete(request)
    recorder.save()
    again = await Replay.load(path).model("default", None).complete(request)
    assert content([again]) == content([made])


async def test_history_is_written_once_however_long_the_run(tmp_path):
    path = tmp_path / "run.yaml"
    await recorded(path)
    assert path.read_text(encoding="utf-8").count("Where is order 7?") == 1


async def test_failed_attempts_are_recorded_and_fail_again(tmp_path):
    path = tmp_path / "run.yaml"
    recorder = Recorder(path)
    model = recorder.wrap(ScriptedModel([failing("rate_limited", status=429, retry_after_s=2.0), reply("ok")]))
    request = ModelRequest(messages=[USER])
    with pytest.raises(ModelError):
        await model.complete(request)
    await model.complete(request)
    recorder.save()

    replay = Replay.load(path).model("scripted", None)
    with pytest.raises(ModelError) as caught:
        await replay.complete(request)
    assert (caught.value.type, caught.value.status, caught.value.retry_after_s) == ("rate_limited", 429, 2.0)
    assert (await replay.complete(request)).message.content == "ok"


async def test_first_request_that_differs_is_shown_with_the_message_and_the_place(tmp_path):
    path = tmp_path / "run.yaml"
    await recorded(path)
    with pytest.raises(ModelError) as caught:
        await conversation(Replay.load(path).model("default", None), order="8")
    error = caught.value
    assert (error.type, error.retryable) == ("replay_mismatch", False)
    assert "reply 2 of the recording 'run.yaml'" in error.message
    assert "message 4 (tool): 'content' was 'order 7 is late', is 'order 8 is late'" in error.message


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"tools": ()}, "the offered tools differ: lookup"),
        ({"temperature": 0.5}, '"temperature":0.5'),
    ],
)
async def test_other_differences_are_named(tmp_path, change, says):
    path = tmp_path / "run.yaml"
    await recorded(path)
    with pytest.raises(ModelError, match="differs from reply 1") as caught:
        await conversation(Replay.load(path).model("default", None), **change)
    assert says in caught.value.message


async def test_call_beyond_the_recording_and_unknown_models_are_named(tmp_path):
    path = tmp_path / "run.yaml"
    await recorded(path)
    replay = Replay.load(path)
    model = replay.model("default", None)
    await conversation(model)
    with pytest.raises(ModelError, match="no further reply of model 'default'"):
        await model.complete(ModelRequest(messages=[USER]))
    with pytest.raises(ModelError, match="no further reply of model 'other'"):
        await replay.model("other", None).complete(ModelRequest(messages=[USER]))


async def test_models_called_at_the_same_time_are_told_apart(tmp_path):
    path = tmp_path / "run.yaml"
    recorder = Recorder(path)

    async def one(model, text):
        request = ModelRequest(messages=[Message(role="user", content=text)])
        return (await model.complete(request)).message.content

    texts = [f"question {number}" for number in range(20)]
    first = recorder.wrap(ScriptedModel([reply(f"a {text}", when=None) for text in texts], name="a"))
    said = await asyncio.gather(*(one(first, text) for text in texts))
    recorder.save()
    replay = Replay.load(path)
    shuffled = list(reversed(texts))
    again = await asyncio.gather(*(one(replay.model("a", None), text) for text in shuffled))
    assert dict(zip(texts, said, strict=True)) == dict(zip(shuffled, again, strict=True))


async def test_secrets_are_masked_in_the_file_and_in_the_difference(tmp_path, secret):
    path = tmp_path / "run.yaml"
    recorder = Recorder(path)
    request = ModelRequest(messages=[Message(role="user", content=f"key {secret}, order 7")])
    await recorder.wrap(ScriptedModel([reply(f"you said {secret}")])).complete(request)
    recorder.save()
    assert secret not in path.read_text(encoding="utf-8")

    assert (await Replay.load(path).model("scripted", None).complete(request)).message.content == "you said ***"
    changed = ModelRequest(messages=[Message(role="user", content=f"key {secret}, order 8")])
    with pytest.raises(ModelError) as caught:
        await Replay.load(path).model("scripted", None).complete(changed)
    assert secret not in caught.value.message
    assert "order 8" in caught.value.message


async def test_saving_replaces_the_file_whole_and_leaves_no_other(tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text("old", encoding="utf-8")
    await recorded(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.yaml"]
    assert path.read_text(encoding="utf-8").startswith("# Recorded by tuvl")


def test_folder_that_is_not_there_is_an_error_with_the_name(tmp_path):
    with pytest.raises(UsageError, match="cannot write the recording"):
        Recorder(tmp_path / "missing" / "run.yaml").save()


def test_run_without_calls_is_a_recording_without_replies(tmp_path):
    path = tmp_path / "run.yaml"
    Recorder(path).save()
    assert load_data(path.read_bytes(), name="run.yaml") == {"replies": []}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("replies: [{text: hi}]", "reply 1 has no recorded request"),
        ("replies: [{request: {messages: [], after: 4}}]", "reply 1 has no recorded request"),
        ("nonsense", "no list of replies"),
        ("a: [", "run.yaml"),
    ],
)
def test_file_that_is_no_recording_is_an_error_with_the_place(tmp_path, text, says):
    path = tmp_path / "run.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=says):
        Replay.load(path)


def test_missing_recording_is_an_error_with_the_name(tmp_path):
    with pytest.raises(UsageError, match="cannot read the recording"):
        Replay.load(tmp_path / "none.yaml")


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(value=st.dictionaries(TEXTS, VALUES, min_size=1, max_size=4))
def test_written_yaml_reads_back_as_it_was(value):
    text = to_yaml(value)
    read = load_data(text.encode(), name="x.yaml")
    assert json.dumps(read, sort_keys=True) == json.dumps(value, sort_keys=True)
