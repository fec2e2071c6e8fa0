"""A provider's missing key is told as what it is, not as trouble of a server."""

import pytest

from tuvl.errors import ModelError
from tuvl.llm.litellm_model import LiteLLMModel, close_connections
from tuvl.llm.messages import Message, ModelRequest
from tuvl.llm.settings import CallSettings


@pytest.mark.parametrize(
    ("model", "variable"),
    [("openai/gpt-4o-mini", "OPENAI_API_KEY"), ("anthropic/claude-3-5-haiku-20241022", "ANTHROPIC_API_KEY")],
)
async def test_a_missing_key_is_named_and_not_tried_again(monkeypatch, model, variable):
    monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ModelError) as failure:
        await LiteLLMModel(CallSettings(name=model, model=model)).complete(
            ModelRequest(messages=[Message(role="user", content="hi")])
        )
    await close_connections()
    assert (failure.value.type, failure.value.retryable) == ("authentication", False)
    assert variable in failure.value.message
