"""A history is cut between turns, never between a call and its result."""

from __future__ import annotations

import pytest

from ferrule.types.cuts import cut_after, start_of_last, title_of, unanswered
from ferrule.types.errors import StoreError
from ferrule.types.messages import Message
from ferrule.types.tools import ToolCall

TWO = (ToolCall(id="c1", name="t", arguments={}), ToolCall(id="c2", name="t", arguments={}))
HISTORY = [
    Message(id="msg_a1", role="user", text="one"),
    Message(id="msg_a2", role="assistant", calls=TWO),
    Message(id="msg_b1", role="tool", call_id="c1"),
    Message(id="msg_b2", role="tool", call_id="c2"),
    Message(id="msg_c", role="assistant", text="done"),
    Message(id="msg_d", role="user", text="two"),
]


@pytest.mark.parametrize(
    ("at", "taken"),
    [("", 6), ("msg_a1", 1), ("msg_a2", 4), ("msg_b1", 4), ("msg_b2", 4), ("msg_c", 5), ("msg_d", 6)],
)
def test_a_cut_takes_a_group_of_calls_and_results_whole(at: str, taken: int) -> None:
    assert cut_after(HISTORY, at) == taken


@pytest.mark.parametrize(("at", "words"), [("msg_x", "no message"), ("msg_a", "more than one")])
def test_a_cut_at_no_message_or_at_several_is_an_error_with_a_hint(at: str, words: str) -> None:
    with pytest.raises(StoreError, match=words) as caught:
        cut_after(HISTORY, at)
    assert caught.value.hint
    assert caught.value.code == "session.message"


def test_a_whole_id_counts_before_ids_that_begin_with_it() -> None:
    assert cut_after([Message(id="m", role="user"), Message(id="m2", role="user")], "m") == 1


def test_turns_begin_with_a_message_of_a_person() -> None:
    assert (start_of_last(HISTORY, 1), start_of_last(HISTORY, 2)) == (5, 0)


@pytest.mark.parametrize(
    ("history", "turns", "words"),
    [(HISTORY, 3, "2 turns"), (HISTORY[:1], 2, "1 turn$"), ([], 1, "0 turns"), (HISTORY, 0, "2 turns")],
)
def test_more_turns_than_there_are_cannot_be_taken_back(history: list[Message], turns: int, words: str) -> None:
    with pytest.raises(StoreError, match=words) as caught:
        start_of_last(history, turns)
    assert caught.value.hint


def test_calls_without_a_result_are_found() -> None:
    assert unanswered(HISTORY) == []
    assert unanswered(HISTORY[:3]) == [TWO[1]]


@pytest.mark.parametrize(
    ("texts", "title"),
    [
        ([], ""),
        (["", "  \n\t"], ""),
        (["\n\n  first \t line\nsecond", "other"], "first line"),
        (["x" * 200], "x" * 80),
        (["a\x0bb"], "a"),
    ],
)
def test_the_title_is_the_first_line_that_a_person_wrote(texts: list[str], title: str) -> None:
    said = [Message(id=str(i), role="user", text=text) for i, text in enumerate(texts)]
    assert title_of([Message(id="a", role="assistant", text="model"), *said]) == title
