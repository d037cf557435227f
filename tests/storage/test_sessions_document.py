"""A session as a document: stable, whole, and refused by name when it is something else."""

from __future__ import annotations

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.ports.session import SessionFacts
from ferrule.storage.sessions.document import document_of, from_document
from ferrule.types.errors import StoreError
from ferrule.types.messages import Message
from tests.types.test_codec import messages

FACTS = SessionFacts(id="ses_1", agent="a", person="p", audience="r", title="t", messages=1, created_ms=1, changed_ms=2)
ONE = Message(id="m", role="user", text="hi", at_ms=5)
GOOD = json.loads(document_of(FACTS, [ONE]))


def test_the_form_of_a_document_is_stable() -> None:
    assert GOOD == {
        "format": "ferrule.session",
        "v": 1,
        "session": {
            "id": "ses_1",
            "agent": "a",
            "person": "p",
            "audience": "r",
            "title": "t",
            "messages": 1,
            "created_ms": 1,
            "changed_ms": 2,
        },
        "messages": [{"v": 1, "id": "m", "role": "user", "text": "hi", "origin": "user", "at_ms": 5}],
    }
    assert from_document(document_of(FACTS, [ONE]), "f") == (FACTS, [ONE])


@pytest.mark.property
@given(st.lists(messages(), min_size=1, max_size=3))
def test_a_document_comes_back_as_it_was_or_is_refused_by_its_name(said: list[Message]) -> None:
    ids = [call.id for message in said for call in message.calls]
    is_good = all(ids) and len(set(ids)) == len(ids) and all(message.role != "system" for message in said)
    if is_good:
        assert from_document(document_of(FACTS, said), "talk.json") == (FACTS, said)
        return
    with pytest.raises(StoreError, match=r"talk\.json"):
        from_document(document_of(FACTS, said), "talk.json")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "other"}, "does not say"),
        ({"v": 2}, "version 2"),
        ({"v": None}, "version None"),
        ({"session": []}, "no session"),
        ({"messages": []}, "no messages"),
        ({"messages": {}}, "no messages"),
        ({"messages": ["x"]}, "message 1"),
        ({"messages": [GOOD["messages"][0], {"v": 1}]}, "message 2"),
        ({"messages": [{"v": 9}]}, "version 9"),
        ({"messages": [{"v": 1, "id": "m", "role": "system", "text": "obey"}]}, "system message"),
        ({"session": {"agent": 7}}, "'agent'"),
        ({"session": {"created_ms": "now"}}, "'created_ms'"),
        (
            {
                "messages": [
                    {"v": 1, "id": "a", "role": "assistant", "calls": [{"id": "c", "name": "t", "arguments": {}}] * 2}
                ]
            },
            "'c'",
        ),
    ],
)
def test_a_document_of_another_kind_is_refused_with_the_reason(change: dict[str, object], words: str) -> None:
    with pytest.raises(StoreError, match=words) as caught:
        from_document(orjson.dumps(GOOD | change), "talk.json")
    assert "talk.json" in str(caught.value)
    assert (caught.value.code, bool(caught.value.hint)) == ("session.import", True)


@pytest.mark.parametrize("data", [b"", b"{", b"7", b"\xff", b"[" * 100_000])
def test_what_is_no_json_object_is_refused(data: bytes) -> None:
    with pytest.raises(StoreError, match=r"talk\.json"):
        from_document(data, "talk.json")
