"""Messages survive a round trip through JSON."""

from __future__ import annotations

import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.types.codec import clean, clean_value, message_from_dict, message_to_dict
from ferrule.types.errors import StoreError
from ferrule.types.messages import Message, Role, Status
from ferrule.types.parts import FilePart, ImagePart, TextPart
from ferrule.types.provenance import Origin
from ferrule.types.tools import ToolCall

pytestmark = pytest.mark.property

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
scalars = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | text
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3))
objects = st.dictionaries(text, values, max_size=3)
parts = (
    st.builds(TextPart, text=text)
    | st.builds(ImagePart, media_type=text, data=st.binary(max_size=9), url=text)
    | st.builds(FilePart, name=text, media_type=text, data=st.binary(max_size=9))
)
calls = st.builds(
    ToolCall,
    id=text,
    name=text,
    arguments=objects,
    raw=text,
    fault=st.none() | text,
    extra=st.none() | objects,
    dialect=text,
)


@st.composite
def messages(draw: st.DrawFn) -> Message:
    role: Role = draw(st.sampled_from(get_args(Role)))
    is_error = role == "tool" and draw(st.booleans())
    reasoning = draw(st.none() | text)
    return Message(
        id=draw(text),
        role=role,
        text=draw(text),
        parts=tuple(draw(st.lists(parts, max_size=3))),
        calls=tuple(draw(st.lists(calls, max_size=3))),
        reasoning=reasoning,
        reasoning_field="" if reasoning is None else draw(text),
        call_id=draw(text) if role == "tool" else "",
        name=draw(text) if role == "tool" else "",
        is_error=is_error,
        code=draw(text) if is_error else "",
        status=draw(st.sampled_from(get_args(Status))),
        origin=draw(st.sampled_from(get_args(Origin))),
        trusted=draw(st.booleans()),
        at_ms=draw(st.integers(0, 2**50)),
    )


@given(messages())
def test_a_message_survives_a_round_trip(message: Message) -> None:
    assert message_from_dict(json.loads(json.dumps(message_to_dict(message)))) == message


@given(st.text(max_size=20))
def test_cleaned_text_can_be_encoded_and_good_text_is_untouched(dirty: str) -> None:
    cleaned = clean(dirty)
    cleaned.encode()
    assert len(cleaned) <= len(dirty) or "\ud800" <= max(dirty) <= "\udfff"
    assert clean(cleaned) == cleaned


def test_half_an_emoji_in_a_result_does_not_poison_the_session() -> None:
    assert clean("ok \ud83d") == "ok \ufffd"
    assert clean("\udc00x") == "\ufffdx"
    assert clean("\ud83c\udf27") == "🌧"
    assert clean_value({"a\ud83d": ["\udc00", 1, None]}) == {"a\ufffd": ["\ufffd", 1, None]}
    assert clean_value({1, 2}) == {1, 2}  # no JSON; whoever encodes it says so
    message = Message(id="m", role="user", text="x\ud83d")
    json.dumps(message_to_dict(message), ensure_ascii=False).encode()


def test_a_newer_document_is_refused_by_its_version() -> None:
    with pytest.raises(StoreError, match="version 2") as caught:
        message_from_dict({"v": 2, "id": "m", "role": "user"})
    assert caught.value.hint


GOOD: dict[str, object] = {"v": 1, "id": "m", "role": "user"}


def with_part(**fields: object) -> dict[str, object]:
    """A message with one part."""
    return GOOD | {"parts": [{"type": "file", "name": "a", "media_type": "b", "data": ""} | fields]}


def with_call(**fields: object) -> dict[str, object]:
    """A message with one call."""
    return GOOD | {"calls": [{"id": "c", "name": "t", "arguments": {}} | fields]}


@pytest.mark.parametrize(
    "damage",
    [
        {"v": 1},
        GOOD | {"calls": [{}]},
        with_part(data="x"),
        with_part(data="eA=="[:3]),
        with_part(data="e A=="),
        with_part(data="\u00e9\u00e9\u00e9\u00e9"),
        with_part(data=7),
        with_part(name=None),
        with_part(type="image", url=1),
        with_part(type="text", text=[]),
        with_part(type="film"),
        with_call(id=1),
        with_call(arguments=[]),
        with_call(extra="x"),
        with_call(fault=1),
        GOOD | {"id": 1},
        GOOD | {"role": "boss"},
        GOOD | {"role": []},
        GOOD | {"status": "lost"},
        GOOD | {"origin": "mars"},
        GOOD | {"text": {}},
        GOOD | {"trusted": "no"},
        GOOD | {"is_error": 1},
        GOOD | {"at_ms": "now"},
        GOOD | {"at_ms": True},
        GOOD | {"reasoning": 5},
        GOOD | {"parts": 5},
        GOOD | {"calls": "x"},
        GOOD | {"parts": ["x"]},
    ],
)
def test_a_damaged_document_is_a_store_error(damage: dict[str, object]) -> None:
    with pytest.raises(StoreError, match="damaged"):
        message_from_dict(damage)


def test_a_field_from_a_later_writer_is_ignored() -> None:
    message = Message(id="m", role="user", text="hi")
    assert message_from_dict(message_to_dict(message) | {"mood": "good"}) == message
