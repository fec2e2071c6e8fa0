"""What the figures take for the engine's own words, held against what it says."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tuvl.agent.compaction import SUMMARY_TITLE
from tuvl.agent.prompt import correction, fenced_json, system_text, untrusted, user_text
from tuvl.agent.summary import INSTRUCTION
from tuvl.analysis import own_words
from tuvl.analysis.language_models import DEFAULT_TIMEOUT_S
from tuvl.analysis.waiting import GRACE_S, LONGEST_WAIT_S
from tuvl.guardrails.guards import llm_judge
from tuvl.guardrails.masking.masker import masker_for
from tuvl.llm.messages import Message
from tuvl.plan.compile_agent import DEFAULT_MODEL_TIMEOUT_S
from tuvl.plan.model import ConcludePlan, RunLimits
from tuvl.steps import api_call
from tuvl.tools import deadline
from tuvl.tools.result import failure_text
from tuvl.tools.tool import ToolFailure
from tuvl.values import dump_json

ENUM = ("resolved", "escal\u00e9")
WORST = ["`" * 5000, '"' * 5000, "\\" * 5000, "\U0001f600" * 5000, "\x1b" * 5000]


def size(message: Message | str) -> int:
    return len((message if isinstance(message, str) else message.content or "").encode())


def test_prompts_are_no_longer_than_they_are_taken_for() -> None:
    outcomes = sum(len(dump_json(name).encode()) + 2 for name in ENUM)
    assert size(system_text("s", ["a", "b"], ENUM)) - 3 <= own_words.SYSTEM + outcomes + 4
    assert size(untrusted("key", "")) <= own_words.DELIMITERS + 2 * len("key")
    assert size(user_text({}, [])) <= own_words.FENCE
    assert size(INSTRUCTION) <= own_words.SUMMARY
    assert size(SUMMARY_TITLE) <= own_words.SUMMARY_TITLE
    assert size(llm_judge.INSTRUCTION) <= own_words.JUDGE
    assert size(ConcludePlan().notice) <= own_words.NOTICE


def test_words_do_not_grow_with_what_they_are_about() -> None:
    outcomes = sum(len(dump_json(name).encode()) + 2 for name in ENUM)
    for text in WORST:
        assert size(fenced_json(text)) - size(text) <= own_words.FENCE
        assert size(failure_text(ToolFailure(type="context_too_large", message=text))) <= own_words.REFUSAL
        assert size(correction(text, ENUM)) <= own_words.CORRECTION + outcomes


def test_times_and_attempts_are_those_of_the_engine() -> None:
    assert (deadline.GRACE_S, api_call.LONGEST_WAIT_S) == (GRACE_S, LONGEST_WAIT_S)
    assert DEFAULT_MODEL_TIMEOUT_S == DEFAULT_TIMEOUT_S
    assert (llm_judge.RETRY.attempts, llm_judge.RETRY.max_backoff_s) == (2, 5.0)
    assert RunLimits().max_steps == 200


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet='a1@.:="{},[] \n-x', max_size=80))
def test_masks_let_a_text_grow_no_more_than_is_reckoned_with(text: str) -> None:
    masked = masker_for(("x", "a"))
    assert size(masked.text(text)) <= 2 * size(text) + 8
