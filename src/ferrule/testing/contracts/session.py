"""Laws of `SessionStore`. Subclass, and supply the `store` fixture."""

from __future__ import annotations

import pytest

from ...ports.session import SessionKey, SessionStore
from ...types.errors import SessionBusy, StoreError
from ...types.messages import Message
from ...types.tools import ToolCall

KEY = SessionKey(agent="default", person="ann", audience="room")


def said(text: str, *, id: str = "m") -> Message:
    """Make a message of a person."""
    return Message(id=id, role="user", text=text, at_ms=1)


@pytest.mark.contract
class SessionStoreContract:
    """What every session store promises."""

    async def test_messages_come_back_in_the_order_they_were_appended(self, store: SessionStore) -> None:
        session = await store.open(KEY)
        await session.append([said("one"), said("two")])
        await session.append([said("three")])
        await session.close()
        assert [m.text for m in await store.read(session.id)] == ["one", "two", "three"]
        again = await store.open(SessionKey(agent="default", id=session.id))
        assert [m.text for m in again.messages] == ["one", "two", "three"]
        await again.close()

    async def test_a_session_has_one_holder(self, store: SessionStore) -> None:
        session = await store.open(KEY)
        await session.append([said("one")])
        with pytest.raises(SessionBusy):
            await store.open(SessionKey(agent="default", id=session.id))
        await session.close()
        await session.close()
        again = await store.open(SessionKey(agent="default", id=session.id))
        await again.close()

    async def test_a_closed_session_takes_nothing(self, store: SessionStore) -> None:
        session = await store.open(KEY)
        await session.append([said("one")])
        await session.close()
        with pytest.raises(StoreError):
            await session.append([said("two")])
        assert len(await store.read(session.id)) == 1

    async def test_a_session_that_does_not_exist_is_named(self, store: SessionStore) -> None:
        with pytest.raises(StoreError, match="ses_none"):
            await store.open(SessionKey(agent="default", id="ses_none"))
        with pytest.raises(StoreError, match="ses_none"):
            await store.read("ses_none")

    async def test_a_session_without_messages_leaves_nothing_behind(self, store: SessionStore) -> None:
        session = await store.open(KEY)
        await session.append([])
        await session.close()
        assert list(await store.list()) == []

    async def test_the_list_names_the_last_changed_first_with_its_title(self, store: SessionStore) -> None:
        for text in ("first question", "second question"):
            session = await store.open(KEY)
            await session.append([said(text), said("more")])
            await session.close()
        listed = await store.list(limit=1)
        assert [(f.title, f.messages, f.person, f.audience) for f in listed] == [("second question", 2, "ann", "room")]
        assert list(await store.list(agent="other")) == []

    async def test_a_call_that_was_begun_and_not_answered_is_interrupted(self, store: SessionStore) -> None:
        calls = (ToolCall(id="c1", name="shell", arguments={}), ToolCall(id="c2", name="shell", arguments={}))
        session = await store.open(KEY)
        await session.intend([said("go"), Message(id="a", role="assistant", calls=calls)], calls)
        await session.append([Message(id="t", role="tool", call_id="c1", name="shell", text="done")])
        await session.close()
        again = await store.open(SessionKey(agent="default", id=session.id))
        assert [call.id for call in again.interrupted] == ["c2"]
        await again.append([Message(id="t2", role="tool", call_id="c2", name="shell", text="unknown")])
        await again.close()
        third = await store.open(SessionKey(agent="default", id=session.id))
        assert list(third.interrupted) == []
        await third.close()
