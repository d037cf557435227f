"""Reasoning between tags never shows, and an answer is never swallowed."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.providers._chat.think import ThinkFilter
from ferrule.types.completion import ReasoningChunk, TextChunk


def parted(*pieces: str) -> tuple[str, str]:
    """Return the visible text and the reasoning."""
    tags = ThinkFilter()
    events = [event for piece in pieces for event in tags.feed(piece)] + tags.close()
    shown = "".join(e.text for e in events if isinstance(e, TextChunk))
    return shown, "".join(e.text for e in events if isinstance(e, ReasoningChunk))


def test_tags_split_over_pieces_never_show() -> None:
    assert parted("<thi", "nk>secret plan</th", "ink>Hello") == ("Hello", "secret plan")


def test_an_unclosed_tag_does_not_swallow_the_answer() -> None:
    assert parted("<think>the answer ", "is 4") == ("the answer is 4", "the answer is 4")
    assert parted("<think>   ") == ("", "   ")
    assert parted("Look:\n<think>x</th")[0] == "Look:\nx</th"


def test_a_tag_that_never_becomes_one_is_text() -> None:
    assert parted("<th", "ree>") == ("<three>", "")
    assert parted("<thi") == ("<thi", "")
    assert parted("a < b, and <b>c</b>") == ("a < b, and <b>c</b>", "")


def test_a_tag_inside_a_line_of_prose_stays() -> None:
    assert parted("Models write <think> and </think>.") == ("Models write <think> and </think>.", "")
    assert parted("Models write ", "<think>", " tags") == ("Models write <think> tags", "")


def test_a_tag_at_the_start_of_a_later_line_counts() -> None:
    assert parted("First.\n", "<think>hm", "m</think>", "\nSecond.") == ("First.\n\nSecond.", "hmm")


def test_two_blocks_in_a_row_are_both_reasoning() -> None:
    assert parted("<think>a</think>\n<thinking>b</thinking>\n\nHi") == ("Hi", "ab")


def test_white_space_before_the_first_word_stays_unless_a_tag_took_it() -> None:
    assert parted("\n", "  ", "code") == ("\n  code", "")
    assert parted(" \n", "<think>x</think>", "\n\n", "Hi") == ("Hi", "x")
    assert parted("  \n ") == ("", "")
    assert parted("\n", "<think>", "x</think>Hi") == ("Hi", "x")


def test_ordinary_text_is_given_at_once() -> None:
    tags = ThinkFilter()
    assert tags.feed("Hi") == [TextChunk(text="Hi")]
    assert tags.feed(" there") == [TextChunk(text=" there")]
    assert tags.feed(" 1 <") == [TextChunk(text=" 1 <")]


PIECES = st.lists(
    st.sampled_from(["<think>", "</think>", "<thinking>", "</thinking>", "a", "<", "\n", " ", "th"]), max_size=10
)


@pytest.mark.property
@given(PIECES, st.data())
def test_however_the_text_is_cut_the_same_is_shown_and_thought(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts)
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=6).map(sorted))
    edges = [0, *cuts, len(text)]
    pieces = [text[a:b] for a, b in itertools.pairwise(edges) if b > a]
    assert parted(*pieces) == parted(text) == parted(*text)


@pytest.mark.property
@given(st.text(alphabet="ab \n", min_size=1).filter(str.strip), st.text(alphabet="ab <>/\n"))
def test_what_stands_behind_a_closed_block_is_all_that_shows(answer: str, thought: str) -> None:
    shown, reasoning = parted(f"<think>{thought}</think>{answer}")
    assert (shown, reasoning) == (answer.lstrip(), thought)


def test_a_closing_tag_before_the_first_word_is_none_of_the_answer() -> None:
    assert parted("\n</th", "ink>\n\nHello") == ("Hello", "")
    assert parted("</thinking>Hello") == ("Hello", "")
    assert parted("</thi") == ("</thi", "")
    assert parted("Hello\n</think> x") == ("Hello\n</think> x", "")
