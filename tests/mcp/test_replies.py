"""What becomes of a tool's content: text, structured values, and what is named instead of forwarded."""

import base64

import pytest

from tuvl.mcp.reply import read_reply

PNG = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(b"123456").decode()}
WAV = {"type": "audio", "mimeType": "audio/wav", "data": base64.b64encode(b"1").decode()}
FILE = {"type": "resource", "resource": {"uri": "file:///a.txt", "mimeType": "text/plain", "text": "file body"}}
BLOB = {"type": "resource", "resource": {"uri": "file:///a.zip", "mimeType": "application/zip", "blob": "AAAA"}}
LINK = {"type": "resource_link", "uri": "https://x.example/a", "name": "a", "description": "the a", "size": 7}


def text(value: str) -> dict:
    return {"type": "text", "text": value}


@pytest.mark.parametrize(
    ("content", "value"),
    [
        ([text("one")], "one"),
        ([text("meta"), text("body"), FILE], "meta\nbody\nfile body"),
        ([], ""),
        (
            [PNG],
            {
                "text": "",
                "content": [{"type": "image", "mime_type": "image/png", "bytes": 6}],
                "not_forwarded": ["1 image/png"],
            },
        ),
        (
            [text("meta"), PNG, WAV, PNG, FILE],
            {
                "text": "meta\nfile body",
                "content": [
                    {"type": "image", "mime_type": "image/png", "bytes": 6},
                    {"type": "audio", "mime_type": "audio/wav", "bytes": 1},
                    {"type": "image", "mime_type": "image/png", "bytes": 6},
                ],
                "not_forwarded": ["2 image/png", "1 audio/wav"],
            },
        ),
        (
            [BLOB],
            {
                "text": "",
                "content": [{"type": "resource", "uri": "file:///a.zip", "mime_type": "application/zip", "bytes": 3}],
                "not_forwarded": ["1 application/zip"],
            },
        ),
        (
            [text("see"), LINK],
            {
                "text": "see",
                "content": [
                    {"type": "resource_link", "uri": "https://x.example/a", "name": "a", "description": "the a"}
                ],
            },
        ),
        (
            [{"type": "hologram", "depth": 3}, "no block", {"type": 7}],
            {
                "text": "",
                "content": [{"type": "hologram"}, {"type": "unknown"}],
                "not_forwarded": ["1 hologram", "1 7"],
            },
        ),
    ],
    ids=["text", "texts in order", "nothing", "image only", "mixed", "blob", "link", "unknown"],
)
def test_all_text_is_kept_in_order_and_other_content_is_named(content, value):
    """J05 mcp.content_blocks."""
    reply = read_reply({"content": content})
    assert reply.value == value
    assert not reply.failed


@pytest.mark.parametrize("structured", [{"n": 1}, [1], 0, False, "x"])
def test_structured_content_is_preferred(structured):
    reply = read_reply(
        {"content": [text("as text")], "structuredContent": structured}, output_schema={"type": "object"}
    )
    assert (reply.value, reply.text, reply.structured) == (structured, "as text", True)


def test_error_keeps_all_its_content():
    """J03 mcp.is_error."""
    reply = read_reply({"isError": True, "content": [text("quota"), PNG], "structuredContent": {"left": 0}})
    assert reply.failed
    assert reply.text == "quota"
    assert reply.value == {
        "text": "quota",
        "content": [{"type": "image", "mime_type": "image/png", "bytes": 6}],
        "not_forwarded": ["1 image/png"],
        "structured": {"left": 0},
    }


@pytest.mark.parametrize("result", [{}, {"content": None}, {"content": {}}, {"content": [None, 3]}, {"isError": "yes"}])
def test_result_that_is_none_is_an_empty_text(result):
    reply = read_reply(result)
    assert (reply.value, reply.failed) == ("", False)
