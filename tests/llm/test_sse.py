"""Server-sent events, however they are cut and written."""

import pytest

from tuvl.llm.sse import SseParser


def read(*pieces: bytes) -> list[tuple[str, str]]:
    parser = SseParser()
    events = [event for piece in pieces for event in parser.feed(piece)] + parser.end()
    return [(event.event, event.data) for event in events]


STREAM = 'data: {"a": "é😀"}\n\n: a comment\nevent: error\ndata: one\ndata: two\n\ndata: [DONE]\n\n'
EVENTS = [("", '{"a": "é😀"}'), ("error", "one\ntwo"), ("", "[DONE]")]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_are_the_same_wherever_the_network_cuts_them(end, size):
    raw = STREAM.replace("\n", end).encode()
    assert read(*[raw[at : at + size] for at in range(0, len(raw), size)]) == EVENTS


def test_one_space_after_the_colon_is_not_data_and_a_second_one_is():
    assert read(b"data:a\n\ndata: b\n\ndata:  c\n\n") == [("", "a"), ("", "b"), ("", " c")]


def test_mark_at_the_beginning_fields_of_no_interest_and_empty_events_are_skipped():
    assert read(b"\xef\xbb\xbfdata: a\nid: 7\nretry: 10\nnonsense\n\n\n\nevent: ping\n\ndata: b\n\n") == [
        ("", "a"),
        ("", "b"),
    ]


def test_last_event_counts_without_the_blank_line_after_it():
    assert read(b"data: a\n\ndata: b") == [("", "a"), ("", "b")]
    assert read(b"data: a\n\ndata: b\n") == [("", "a"), ("", "b")]


def test_bytes_that_are_no_text_do_not_end_the_stream():
    assert read(b"data: \xff\n\ndata: b\n\n") == [("", "\N{REPLACEMENT CHARACTER}"), ("", "b")]


def test_one_huge_line_in_small_pieces_is_read_in_time_that_grows_with_it_and_no_faster():
    line = b"data: " + b"x" * 2_000_000 + b"\n\n"
    ((_, data),) = read(*[line[at : at + 512] for at in range(0, len(line), 512)])
    assert len(data) == 2_000_000
