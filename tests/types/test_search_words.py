"""What a person types becomes words, never syntax."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.types.messages import Message
from ferrule.types.parts import FilePart, ImagePart, TextPart
from ferrule.types.search_words import QUERY_WORDS, holds, plain, search_words, searched_text, snippet
from ferrule.types.tools import ToolCall


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("", []),
        (" \n\0", []),
        ('she wrote "ok', ["she", "wrote", "ok"]),
        ("Anna's NEAR(x) x", ["Anna", "s", "NEAR", "x"]),
        ("foo_bar-baz", ["foo_bar", "baz"]),
        ("预算，花見。", ["预算", "花見"]),
        ("งบประมาณ", ["งบประมาณ"]),
        ("cafe\u0301", ["caf\u00e9"]),
        ("🌧 €5", ["🌧", "€5"]),
        ("** ==", ["**", "=="]),
        ("x" * 5000, ["x" * 1000]),
    ],
)
def test_a_query_is_cut_into_words(query: str, words: list[str]) -> None:
    assert search_words(query) == words


@pytest.mark.property
@given(st.text(max_size=200))
def test_any_text_is_a_query_and_a_text_holds_its_own_words(text: str) -> None:
    words = search_words(text)
    assert len(words) <= QUERY_WORDS
    assert holds(plain(text), words)
    assert "\n" not in snippet(plain(text), words)


def test_a_search_looks_at_text_files_and_calls() -> None:
    call = ToolCall(id="c", name="tool", arguments={"list": ["a", {"deep": 5}], "none": None, "two": (True,)})
    parts = (
        TextPart(text="part"),
        FilePart(name="plan.txt", media_type="t", data=b""),
        ImagePart(media_type="i", data=b""),
    )
    message = Message(id="m", role="user", text="text\0", parts=parts, calls=(call,))
    assert searched_text(message).split() == (
        ["text", "part", "plan.txt", "tool", "list", "a", "deep", "5", "none", "two", "True"]
    )


def test_a_snippet_of_a_text_without_the_words_is_its_beginning() -> None:
    assert snippet("a text", ["none"]) == "a text"
