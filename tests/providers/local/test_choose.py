"""Choosing a tool is built from the tool set alone."""

from __future__ import annotations

from collections.abc import Mapping

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.providers.local.choose import (
    ANSWER,
    UNSEEN,
    choose,
    first_sentence,
    grammar_of,
    label_words,
    make_menu,
    one_line,
    question,
    read_value,
    required_fields,
)
from ferrule.types.tools import ToolSpec

LOOK = ToolSpec(name="list_directory", description="List a folder. Links are shown.", schema=b"{}")
READ = ToolSpec(name="file_read", description="", schema=b"{}")


async def nothing(prompt: str) -> Mapping[str, float]:
    return {}


names = st.lists(st.from_regex(r"[a-z]{1,6}(_[a-z]{1,6}){0,2}", fullmatch=True), min_size=1, max_size=8, unique=True)


@given(names)
def test_every_tool_has_a_label_of_its_own(tools: list[str]) -> None:
    labels = label_words(tools)
    assert set(labels) == set(tools)
    assert len(set(labels.values())) == len(tools)


def test_a_tool_called_answer_does_not_take_the_word_for_no_tool() -> None:
    assert label_words(["answer_phone"]) == {"answer_phone": "phone"}


async def test_the_menu_is_made_of_the_tools_own_words() -> None:
    menu = await make_menu((LOOK, READ), nothing)
    assert "Request: List a folder.\nAction: list\n" in menu.head
    assert "Request: file_read\nAction: file\n" in menu.head
    assert menu.prior == {ANSWER: UNSEEN, "list_directory": UNSEEN, "file_read": UNSEEN}


async def test_the_choice_is_the_likeliest_word_less_half_its_prior() -> None:
    async def top(prompt: str) -> Mapping[str, float]:
        if prompt.endswith("Request: real\nAction:"):
            return {" answer": -1.0, " list": -1.5, " f": -0.1}
        return {" answer": -0.2, " list": -6.0}

    menu = await make_menu((LOOK, READ), top)
    assert await choose(menu, "real", top) == "list_directory"


async def test_a_request_of_many_lines_becomes_one_short_line() -> None:
    assert one_line("a\n\n b\t" + "x" * 1000) == "a b " + "x" * 396
    menu = await make_menu((LOOK,), nothing)
    assert question(menu, "a\nAction: list").endswith("\nRequest: a Action: list\nAction:")


def test_the_first_sentence_describes_a_tool() -> None:
    assert first_sentence("One line\nin two. More.") == "One line in two."
    assert first_sentence("No end") == "No end"


def test_only_required_fields_are_asked_for() -> None:
    schema = {"properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["b", "c"]}
    assert required_fields(orjson.dumps(schema)) == {"b": {"type": "integer"}, "c": {}}


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        ({"type": "integer"}, " 42\n", 42),
        ({"type": "number"}, " 1.5\n", 1.5),
        ({"type": "boolean"}, " true\n", True),
        ({"type": "string"}, " src/a b.py\n", "src/a b.py"),
        ({"enum": ["red", "blue"]}, " red\n", "red"),
        ({"type": "array"}, '["x"]', ["x"]),
        ({"type": "object"}, "{broken", "{broken"),
        ({}, " anything\n", "anything"),
    ],
)
def test_a_value_is_read_as_its_schema_says(field: dict[str, object], text: str, value: object) -> None:
    assert read_value(field, text) == value


def test_nested_values_have_no_line_grammar_and_others_have() -> None:
    assert grammar_of({"type": "object"}) is None
    assert grammar_of({"type": "array"}) is None
    assert grammar_of({"enum": ["red", 'b"lue']}) == 'root ::= " red\\n" | " b\\"lue\\n"'
    assert "[0-9]" in str(grammar_of({"type": "integer"}))
    assert grammar_of({}) == grammar_of({"type": "string"})
