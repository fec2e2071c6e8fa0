"""From a preset or a provider string to a model."""

import json

import pytest

from tests.support.openai_server import message, serving
from tuvl import redaction
from tuvl.errors import ConfigError, ModelError
from tuvl.http.client import HttpClient
from tuvl.llm.direct import DirectModel
from tuvl.llm.factory import make_model
from tuvl.llm.litellm_model import LiteLLMModel
from tuvl.llm.messages import Message, ModelRequest, Price
from tuvl.llm.pricing import table_price
from tuvl.llm.recording import Recorder
from tuvl.llm.replay import Replay
from tuvl.llm.scripted import ScriptedModel
from tuvl.spec.llm import AgentModel

REQUEST = ModelRequest(messages=[Message(role="user", content="hi")])


@pytest.fixture(autouse=True)
def no_secrets(monkeypatch):
    monkeypatch.setattr(redaction, "_secrets", set())


def preset(**spec) -> AgentModel:
    return AgentModel.model_validate({"kind": "AgentModel", "metadata": {"name": "default"}, "spec": spec})


def make(tmp_path, made, name="default", *, environ=None, **more):
    return make_model(name, made, environ=environ or {}, script_dir=tmp_path, http=HttpClient(), **more)


def test_provider_string_needs_no_preset(tmp_path):
    model = make(tmp_path, None, "openai/gpt-4o")
    assert isinstance(model, LiteLLMModel)
    assert (model.name, model.price) == ("openai/gpt-4o", table_price("openai/gpt-4o"))


@pytest.mark.parametrize(
    ("provider", "model", "sent"),
    [
        ("openai", "gpt-4.1", "openai/gpt-4.1"),
        ("openai", "openai/gpt-4.1", "openai/gpt-4.1"),
        ("openrouter", "anthropic/claude", "openrouter/anthropic/claude"),
        ("openrouter", "openrouter/anthropic/claude", "openrouter/anthropic/claude"),
    ],
)
def test_provider_is_put_before_the_model_once(tmp_path, provider, model, sent):
    made = make(tmp_path, preset(provider=provider, model=model))
    assert made._settings.model == sent


def test_unknown_name_gets_a_hint(tmp_path):
    with pytest.raises(ConfigError, match=r"no AgentModel 'defualt'.*did you mean 'default'"):
        make(tmp_path, None, "defualt", known=["default", "cheap"])
    with pytest.raises(ConfigError, match="provider string"):
        make(tmp_path, None, "zzz", known=["default"])


async def test_variables_are_read_when_the_model_is_made_and_the_key_is_a_secret(tmp_path):
    async with serving() as server:
        made = preset(
            provider="openai_compatible",
            model="${MODEL:small}",
            api_base="${BASE}",
            api_key="${KEY}",
            extra={"extra_headers": {"x-team-key": "${TEAM_KEY}"}},
        )
        environ = {"BASE": server.url, "KEY": "sk-abcdef-123", "TEAM_KEY": "team-key-999"}
        model = make(tmp_path, made, environ=environ)
        assert isinstance(model, DirectModel)
        server.queue(message("x"))
        await model.complete(REQUEST)
        await model._http.aclose()
    (request,) = server.requests
    assert request.json["model"] == "small"
    assert request.headers["authorization"] == "Bearer sk-abcdef-123"
    assert request.headers["x-team-key"] == "team-key-999"
    assert redaction.redact("sk-abcdef-123 team-key-999") == "*** ***"


def test_missing_variable_names_the_preset_the_field_and_the_variable(tmp_path):
    made = preset(provider="openai_compatible", model="m", api_base="https://x.example/v1", api_key="${NO_SUCH_KEY}")
    with pytest.raises(ConfigError, match=r"'default'.*'api_key'.*'NO_SUCH_KEY'"):
        make(tmp_path, made)


def test_base_that_is_no_url_is_an_error(tmp_path):
    made = preset(provider="openai_compatible", model="m", api_base="${BASE:}")
    with pytest.raises(ConfigError, match="api_base is not an http"):
        make(tmp_path, made)


def test_price_of_the_preset_comes_first(tmp_path):
    price = {"input_per_mtok": 1.0, "output_per_mtok": 2.0}
    for spec in ({"provider": "openai", "model": "gpt-4o"}, {"provider": "scripted", "replies": ["x"]}):
        assert make(tmp_path, preset(**spec, price=price)).price == Price(input_per_mtok=1.0, output_per_mtok=2.0)


async def test_script_is_read_from_beside_the_preset_and_places_are_per_model(tmp_path):
    (tmp_path / "script.yaml").write_text("replies:\n  - one\n  - two\n", encoding="utf-8")
    made = preset(provider="scripted", script="script.yaml")
    first, second = make(tmp_path, made), make(tmp_path, made)
    assert isinstance(first, ScriptedModel)
    assert (await first.complete(REQUEST)).message.content == "one"
    assert (await first.complete(REQUEST)).message.content == "two"
    assert (await second.complete(REQUEST)).message.content == "one"
    with pytest.raises(ModelError, match=r"script 'script\.yaml'"):
        await first.complete(REQUEST)


async def test_replies_in_the_preset_are_the_script(tmp_path):
    replies = [
        "plain",
        {"json": {"outcome": "done"}, "usage": {"input_tokens": 3, "output_tokens": 1}},
        {"tool_calls": [{"name": "lookup", "arguments": {"id": 7}}]},
        {"when": {"contains": "refund"}, "text": "rule"},
    ]
    model = make(tmp_path, preset(provider="scripted", replies=replies))
    assert (await model.complete(REQUEST)).message.content == "plain"
    second = await model.complete(REQUEST)
    assert (json.loads(second.message.content), second.usage.total_tokens) == ({"outcome": "done"}, 4)
    assert (await model.complete(REQUEST)).message.tool_calls[0].arguments == '{"id":7}'
    asked = ModelRequest(messages=[Message(role="user", content="a refund")])
    assert (await model.complete(asked)).message.content == "rule"


@pytest.mark.parametrize(
    ("text", "says"),
    [(None, "cannot read the script"), ("a: [", "cannot be used"), ("- {txt: x}", "did you mean 'text'")],
)
def test_script_that_cannot_be_used_is_named(tmp_path, text, says):
    if text is not None:
        (tmp_path / "bad.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=says) as caught:
        make(tmp_path, preset(provider="scripted", script="bad.yaml"))
    assert "bad.yaml" in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


async def test_changed_script_is_read_again(tmp_path):
    path = tmp_path / "script.yaml"
    made = preset(provider="scripted", script="script.yaml")
    for text in ("one", "another"):
        path.write_text(f"- {text}\n", encoding="utf-8")
        assert (await make(tmp_path, made).complete(REQUEST)).message.content == text


async def test_recorded_model_can_be_replayed_under_its_name_without_its_provider(tmp_path):
    path = tmp_path / "run.yaml"
    recorder = Recorder(path)
    await make(tmp_path, preset(provider="scripted", replies=["hello"]), recorder=recorder).complete(REQUEST)
    recorder.save()
    live = preset(provider="openai", model="gpt-4o", api_key="${NOT_SET}")
    model = make(tmp_path, live, replay=Replay.load(path))
    assert (await model.complete(REQUEST)).message.content == "hello"
    assert model.price == table_price("openai/gpt-4o")
