"""What a history looks like on the wire."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.providers._chat.encode import encode_messages
from ferrule.providers._chat.request import REASONING, RequestWriter
from ferrule.types.completion import ModelOptions, Request
from ferrule.types.messages import Message, tool_message, user_message
from ferrule.types.parts import FilePart, ImagePart, TextPart
from ferrule.types.tools import ToolCall, ToolResult, ToolSpec

PNG = ImagePart(media_type="image/png", data=b"\x89PNG")
CALL = ToolCall(id="c1", name="look", arguments={"p": "."}, raw="{ 'p' : . }", dialect="openai-chat")


def wire(*messages: Message, reasoning: bool = True) -> list[dict[str, object]]:
    return [json.loads(m) for m in encode_messages(messages, reasoning=reasoning)]


def body(request: Request, **settings: object) -> dict[str, object]:
    made: dict[str, object] = json.loads(RequestWriter(model="m", **settings).body(request))  # type: ignore[arg-type] # a test's settings
    return made


def said(text: str = "", **fields: object) -> Message:
    return replace(Message(id="a", role="assistant", text=text), **fields)  # type: ignore[arg-type] # a test's fields


class TestAssistant:
    def test_empty_content_beside_calls_is_left_out(self) -> None:
        (encoded,) = wire(said(calls=(CALL,)))
        assert "content" not in encoded
        (encoded,) = wire(said("Look.", calls=(CALL,)))
        assert encoded["content"] == "Look."

    def test_arguments_go_back_as_a_valid_object_whatever_the_model_wrote(self) -> None:
        (encoded,) = wire(said(calls=(CALL, replace(CALL, id="c2", arguments={}, raw="[1,", fault="no"))))
        assert encoded["tool_calls"] == [
            {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"p":"."}'}},
            {"id": "c2", "type": "function", "function": {"name": "look", "arguments": "{}"}},
        ]

    @pytest.mark.parametrize("text", ["", "hm"])
    @pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
    def test_reasoning_goes_back_under_its_own_name_also_when_empty(self, field: str, text: str) -> None:
        (encoded,) = wire(said(calls=(CALL,), reasoning=text, reasoning_field=field))
        assert encoded[field] == text

    def test_reasoning_stays_here_when_there_was_none_or_its_name_is_unknown_or_it_is_refused(self) -> None:
        assert wire(said("a"), said("a", reasoning="hm")) == [{"role": "assistant", "content": "a"}] * 2
        with_field = said("a", reasoning="hm", reasoning_field="reasoning")
        assert wire(with_field, reasoning=False) == [{"role": "assistant", "content": "a"}]
        assert wire(with_field) == [{"role": "assistant", "content": "a", "reasoning": "hm"}]

    def test_unknown_fields_of_a_call_go_back_only_to_the_dialect_that_made_it(self) -> None:
        extra = {"extra_content": {"google": {"thought_signature": "c2ln"}}, "id": "not mine"}
        ours, other = replace(CALL, extra=extra), replace(CALL, extra=extra, dialect="anthropic")
        (encoded,) = wire(said(calls=(ours, other)))
        first, second = cast("list[dict[str, object]]", encoded["tool_calls"])
        assert first["extra_content"] == extra["extra_content"]
        assert first["id"] == "c1"
        assert "extra_content" not in second


class TestTool:
    def test_an_empty_result_is_sent_as_a_few_words(self) -> None:
        message = tool_message(CALL, ToolResult(), id="m")
        assert wire(message) == [{"role": "tool", "tool_call_id": "c1", "content": "(no output)"}]

    def test_parts_follow_the_last_answer_so_that_answers_stay_together(self) -> None:
        one = tool_message(CALL, ToolResult(content="a", parts=(PNG,)), id="m1")
        two = tool_message(replace(CALL, id="c2"), ToolResult(content="b"), id="m2")
        for _ in range(2):  # the second time from kept bytes
            roles = [m["role"] for m in wire(said(calls=(CALL,)), one, two, user_message("next", id="m3"))]
            assert roles == ["assistant", "tool", "tool", "user", "user"]
        shown = wire(one)[1]["content"]
        assert shown == [
            {"type": "text", "text": "Output of look (c1):"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
        ]


class TestUser:
    def test_parts_become_blocks_and_empty_text_is_left_out(self) -> None:
        (encoded,) = wire(user_message((PNG, TextPart(text="")), id="m"))
        assert encoded["content"] == [{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}}]
        parts = (
            ImagePart(media_type="", url="https://x.test/a.png"),
            FilePart(name="a.pdf", media_type="application/pdf", data=b"%"),
        )
        (encoded,) = wire(
            Message(id="m", role="user", text="see", parts=(*parts, TextPart(text=""), TextPart(text="end")))
        )
        assert encoded["content"] == [
            {"type": "text", "text": "see"},
            {"type": "image_url", "image_url": {"url": "https://x.test/a.png"}},
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JQ=="}},
            {"type": "text", "text": "end"},
        ]

    def test_half_a_surrogate_pair_does_not_poison_the_request(self) -> None:
        tool = tool_message(replace(CALL, arguments={"\udc00": ["\ud83d"]}), ToolResult(content="ok \ud83d"), id="m")
        assert wire(user_message("\udc00x", id="u"), tool) == [
            {"role": "user", "content": "\ufffdx"},
            {"role": "tool", "tool_call_id": "c1", "content": "ok \ufffd"},
        ]


class TestKeptBytes:
    def test_a_message_is_encoded_once(self) -> None:
        message = user_message("hi", id="m")
        (first,) = encode_messages([message])
        (second,) = encode_messages([message])
        assert first is second

    def test_bytes_of_another_dialect_are_not_used(self) -> None:
        message = replace(user_message("hi", id="m"), wire=("other", b"{}"))
        assert wire(message) == [{"role": "user", "content": "hi"}]

    def test_the_head_is_made_once_for_the_same_tools(self) -> None:
        tools = (ToolSpec(name="look", description="Look.", schema=b'{"type":"object"}'),)
        writer = RequestWriter(model="m")
        asked = Request(id="r", messages=[user_message("hi", id="m")], tools=tools)
        head = writer._head(asked)
        assert writer._head(replace(asked, messages=())) is head
        again = (ToolSpec(name="see", description="", schema=b"{}"),)
        assert b'"see"' in writer.body(replace(asked, tools=again))
        assert json.loads(writer.body(asked))["tools"] == [
            {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": {"type": "object"}}}
        ]

    def test_heads_do_not_pile_up(self) -> None:
        writer = RequestWriter(model="m")
        for number in range(200):
            writer.body(Request(id="r", messages=(), options=ModelOptions(max_output_tokens=number + 1)))
        assert len(writer._heads) <= 64


class TestParameters:
    ALL = ModelOptions(max_output_tokens=5, temperature=0.0, parallel_calls=False)
    TOOL = (ToolSpec(name="f", description="", schema=b"{}"),)

    def test_unset_is_absent_and_zero_is_not_unset(self) -> None:
        assert body(Request(id="r", messages=(), deltas=False)) == {"model": "m", "messages": []}
        made = body(Request(id="r", messages=(), deltas=False, options=self.ALL, tools=self.TOOL))
        assert (made["temperature"], made["parallel_tool_calls"], made["max_tokens"]) == (0.0, False, 5)

    def test_parallel_calls_are_not_spoken_of_without_tools(self) -> None:
        assert "parallel_tool_calls" not in body(Request(id="r", messages=(), options=self.ALL))

    def test_a_refused_parameter_is_left_out_and_a_refused_length_field_gives_way_to_the_other(self) -> None:
        asked = Request(id="r", messages=(), options=self.ALL, tools=self.TOOL)
        made = body(asked, without={"temperature", "max_tokens", "stream_options"})
        assert not {"temperature", "max_tokens", "stream_options"} & set(made)
        assert made["max_completion_tokens"] == 5
        made = body(asked, length_field="max_completion_tokens", without={"max_completion_tokens"})
        assert made["max_tokens"] == 5
        assert not {n for n in body(asked, without={"max_tokens", "max_completion_tokens"}) if n.startswith("max")}

    def test_what_may_be_left_out_is_what_was_written(self) -> None:
        history = (said("a", reasoning="hm", reasoning_field="reasoning_content"),)
        asked = Request(id="r", messages=history, options=self.ALL, tools=self.TOOL)
        writer = RequestWriter(model="m")
        assert writer.sent(asked) == {
            "temperature",
            "parallel_tool_calls",
            "max_tokens",
            "stream_options",
            "reasoning_content",
        }
        writer.refused({REASONING, "temperature"})
        assert writer.sent(asked) == {"parallel_tool_calls", "max_tokens", "stream_options"}


TEXTS = st.text(alphabet=st.characters(), max_size=8)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXTS,
    lambda x: st.lists(x) | st.dictionaries(TEXTS, x),
    max_leaves=6,
)


@pytest.mark.property
@given(TEXTS, st.dictionaries(TEXTS, ANYTHING), TEXTS)
def test_every_message_can_be_sent(text: str, arguments: dict[str, object], raw: str) -> None:
    call = replace(CALL, arguments=arguments, raw=raw, name=text)
    sent = wire(
        user_message(text, id="u"),
        said(text, calls=(call,), reasoning=text, reasoning_field="r"),
        tool_message(call, ToolResult(content=text), id="t"),
    )
    (again,) = cast("list[dict[str, dict[str, str]]]", sent[1]["tool_calls"])
    assert isinstance(json.loads(again["function"]["arguments"]), dict)
