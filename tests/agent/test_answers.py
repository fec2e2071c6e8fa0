"""The final answer: one reading, on every surface."""

import pytest

from tests.agent.loop_support import Loop, say
from tuvl.agent.outcome import BadAnswer, OutcomeContract
from tuvl.plan.model import OutcomePlan

ENUM = ("done", "escalate")


def read(text, **plan):
    return OutcomeContract(plan=OutcomePlan(write="result", **plan)).finalize_autonomous(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"outcome":"done","result":1}',
        '```json\n{"outcome":"done","result":1}\n```',
        '```JSON\r\n{"outcome":"done","result":1}',
        '\ufeff  ```\n{"outcome":"done","result":1}\n```  ',
        '~~~~ json\n{"outcome":"done","result":1}\n~~~~~',
        'Here it is:\n\n```json\n{"outcome":"done","result":1}\n```\nBye.',
        'Code first:\n```python\nprint("{}")\n```\nthen\n````\n{"outcome":"done","result":1}\n````',
    ],
)
def test_answer_is_read_bare_or_from_its_one_json_fence(text):
    """D01."""
    ended = read(text, enum=ENUM)
    assert (ended.signal, ended.writes) == ("done", {"result": 1})


@pytest.mark.parametrize(
    "text",
    [
        '{"outcome":"Done"}',
        '{"outcome":" done"}',
        '{"outcome":"DONE"}',
        '{"outcome":1}',
        '{"outcome":["done"]}',
        '{"result":1}',
        '[{"outcome":"done"}]',
        '{"outcome":"done"} and more',
        '{"outcome":"done","outcome":"escalate"}',
        '```json\n{"outcome":"done"}\n```\n```json\n{"outcome":"escalate"}\n```',
        "I am done.",
        '{"outcome":"done"',
        '{"outcome":"done","result":NaN}',
        "{" * 4000,
    ],
)
def test_anything_else_is_an_invalid_outcome_that_shows_the_declared_ones(text):
    """D04, D06."""
    with pytest.raises(BadAnswer) as bad:
        read(text, enum=ENUM)
    assert bad.value.type == "invalid_outcome"
    assert bad.value.detail["allowed"] == ["done", "escalate"]
    assert len(bad.value.detail["received"]) <= 500


def test_the_message_lists_the_enum_and_the_value_received():
    with pytest.raises(BadAnswer) as bad:
        read('{"outcome":"Resolved"}', enum=ENUM)
    assert str(bad.value) == "the answer has the outcome 'Resolved'; declared are: done, escalate"


@pytest.mark.parametrize(
    ("text", "result"),
    [
        (" plain text \n", "plain text"),
        ('{"result": [1]}', [1]),
        ('{"a": 1, "outcome": "x"}', {"a": 1}),
        ("[1, 2]", "[1, 2]"),
        ('{"a": 1', '{"a": 1'),
        ("```\ncode\n```", "```\ncode\n```"),
    ],
)
def test_without_an_enum_text_is_the_result_and_an_object_is_read(text, result):
    ended = read(text)
    assert (ended.signal, ended.writes) == ("default", {"result": result})


def test_with_an_enum_the_object_without_outcome_is_the_result_when_there_is_no_result_key():
    assert read('{"outcome":"done","order":7}', enum=ENUM).writes == {"result": {"order": 7}}


async def test_outcome_schema_is_checked_on_the_result():
    ended = await Loop([say('{"result": "x"}')], schema={"type": "integer"}).run()
    assert (ended.signal, ended.reason.type, ended.writes) == ("error", "invalid_result", {})


def test_fields_of_an_answer_that_meet_in_one_key_are_unreadable_and_none_is_lost_in_silence():
    contract = OutcomeContract(plan=OutcomePlan(write="result", format="json", map={"n": "num"}))
    assert contract.finalize_completion('{"n": 1, "m": 2}').writes["num"] == 1
    with pytest.raises(BadAnswer, match="two fields of the answer go to one context key") as bad:
        contract.finalize_completion('{"n": 1, "num": 2}')
    assert bad.value.signal == "parse_error"


@pytest.mark.parametrize("text", ["no JSON", '{"_last_error": "x"}', '{"kept": 1}'])
def test_completion_whose_answer_cannot_be_merged_ends_on_the_signal_parse_error(text):
    """Reserved keys, those that `map` makes included, are as unreadable as text that is no JSON."""
    contract = OutcomeContract(plan=OutcomePlan(write="result", format="json", map={"kept": "_kept"}))
    with pytest.raises(BadAnswer) as bad:
        contract.finalize_completion(text)
    assert (bad.value.signal, bad.value.type) == ("parse_error", "parse_error")
