"""Lines of JSON, however the network cuts them."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.providers._lines import LineParser


def parsed(*pieces: bytes) -> list[bytes]:
    parser = LineParser()
    found = [line for piece in pieces for line in parser.feed(piece)]
    return found + parser.close()


def test_lines_end_with_either_line_end_and_blank_ones_are_read_over() -> None:
    assert parsed(b"a\r\n\n  \nb c\n d") == [b"a", b"b c", b"d"]
    assert parsed() == parsed(b"") == parsed(b"\n") == []


def test_a_line_is_given_as_soon_as_it_is_whole() -> None:
    parser = LineParser()
    assert parser.feed(b"a") == []
    assert parser.feed(b"b\nc") == [b"ab"]
    assert (parser.close(), parser.close()) == ([b"c"], [])


@pytest.mark.property
@given(st.lists(st.sampled_from([b"{}", "北京🌧".encode(), b"", b" ", b"\n", b"\r\n", b"\r"]), max_size=12), st.data())
def test_however_the_bytes_are_cut_the_lines_are_the_same(parts: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(parts)
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=8).map(sorted))
    edges = [0, *cuts, len(stream)]
    assert parsed(*[stream[a:b] for a, b in itertools.pairwise(edges)]) == parsed(stream)
    assert parsed(*[stream[i : i + 1] for i in range(len(stream))]) == parsed(stream)
