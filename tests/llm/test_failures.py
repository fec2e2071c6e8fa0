"""Providers' words → kinds of failure, with nothing secret in them."""

import pytest

from tuvl import redaction
from tuvl.llm.failures import error_text, mask, status_failure

OVERFLOWS = [
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    '{"error": {"code": "context_length_exceeded", "message": "too much"}}',
    "prompt is too long: 210000 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "Input is too long for requested model.",
    "request (9030 tokens) exceeds the available context size (8192 tokens), try increasing it",
    "Please reduce the length of the messages or completion.",
    "prompt token count of 70000 exceeds the limit of 64000",
    "Requested tokens (9000) exceed context window of 8192",
]


@pytest.mark.parametrize("text", OVERFLOWS)
def test_many_wordings_of_a_full_context_are_known(text):
    error = status_failure("m", 400, text)
    assert (error.type, error.retryable) == ("context_overflow", False)


@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [
        (429, "Rate limit reached: too many tokens per minute (TPM)", "rate_limited"),
        (400, "too many tokens per minute, rate limit", "bad_request"),
        (400, "Invalid value for 'temperature'", "bad_request"),
        (500, "something about context", "server_error"),
        (400, '{"error": {"code": "content_filter", "message": "filtered"}}', "content_filter"),
    ],
)
def test_other_failures_are_not_taken_for_it(status, text, kind):
    assert status_failure("m", status, text).type == kind


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ('{"error": {"message": "no such model"}}', "no such model"),
        ('{"error": "plain"}', "plain"),
        ('[{"error": {"message": "in a list"}}]', "in a list"),
        ('{"detail": "from a framework"}', "from a framework"),
        ("<html><body>502</body></html>", ""),
        ("", ""),
        ("[" * 5000, "[[[["),
        ('{"other": 1}', ""),
    ],
)
def test_sentence_is_found_in_any_shape_of_error(body, says):
    found = error_text(body)
    assert found.startswith(says)
    assert len(found) <= 300
    assert bool(found) == bool(says)


def test_keys_are_masked_known_or_not(monkeypatch):
    monkeypatch.setattr(redaction, "_secrets", set())
    redaction.register_secret("my-own-secret")
    masked = mask("key sk-proj-AbCdEf123456 and Bearer abc.def-123456 and my-own-secret, not sk-1")
    assert masked == "key sk-*** and Bearer *** and ***, not sk-1"
