"""Server-sent events, whatever the network and the server do to the lines."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.providers._sse import SseParser


def parsed(*pieces: bytes) -> list[bytes]:
    parser = SseParser()
    events = [event for piece in pieces for event in parser.feed(piece)]
    return events + parser.close()


def test_comments_are_skipped_and_several_data_lines_are_joined_by_a_line_feed() -> None:
    stream = b': WAITING IN QUEUE\r\n\r\ndata:{"a":\r\ndata:1}\r\n\r\ndata:[DONE]\r\n\r\n'
    assert parsed(stream) == [b'{"a":\n1}', b"[DONE]"]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["lf", "crlf", "cr"])
def test_every_kind_of_line_end_separates_events(end: bytes) -> None:
    assert parsed(end.join([b"data: one", b"", b"data: two", b"", b""])) == [b"one", b"two"]


def test_one_space_after_the_colon_is_dropped_and_no_more() -> None:
    assert parsed(b"data:a\n\ndata: b\n\ndata:  c\n\n") == [b"a", b"b", b" c"]


def test_other_fields_are_read_over() -> None:
    assert parsed(b"event: error\nid: 7\nretry: 10\ndatabase: x\ndata: y\n\n") == [b"y"]


def test_a_data_line_without_a_colon_is_an_empty_line_of_data() -> None:
    assert parsed(b"data: a\ndata\ndata: b\n\n") == [b"a\n\nb"]


def test_a_byte_order_mark_at_the_start_is_no_part_of_the_first_line() -> None:
    assert parsed(b"\xef\xbb\xbfdata: a\n\n") == [b"a"]
    assert parsed(b"data: a\n\n\xef\xbb\xbfdata: b\n\n") == [b"a"]


def test_an_event_that_lacks_only_its_empty_line_is_given_at_the_end() -> None:
    assert parsed(b"data: a\n\ndata: b") == [b"a", b"b"]
    assert parsed(b"data: a\n") == [b"a"]
    assert parsed() == []


LINES = st.sampled_from(
    [
        b"data: x",
        b"data:",
        b"data",
        b": hush",
        b"",
        b"",
        b"event: e",
        "data: 北京🌧".encode(),
        b"data: {}",
        b"\xef\xbb\xbf",
    ]
)


@pytest.mark.property
@given(st.lists(st.tuples(LINES, st.sampled_from([b"\n", b"\r\n", b"\r"])), max_size=12), st.data())
def test_however_the_bytes_are_cut_the_events_are_the_same(
    lines: list[tuple[bytes, bytes]], data: st.DataObject
) -> None:
    stream = b"".join(line + end for line, end in lines)
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=8).map(sorted))
    edges = [0, *cuts, len(stream)]
    pieces = [stream[a:b] for a, b in itertools.pairwise(edges)]
    assert parsed(*pieces) == parsed(stream)
    assert parsed(*[stream[i : i + 1] for i in range(len(stream))]) == parsed(stream)
