"""Any sequence of changes: two stores agree, what would be sent is valid, and a search sees what is there."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.core.history import valid_history
from ferrule.ports.session import SessionKey, SessionStore
from ferrule.storage.sessions import open_sessions
from ferrule.testing.clock import FakeClock, SequenceIds
from ferrule.testing.contracts.session import said
from ferrule.testing.stores import RamSessions
from ferrule.types.errors import StoreError
from ferrule.types.messages import Message
from ferrule.types.tools import ToolCall
from tests.core.test_pure import broken_rules

Step = tuple[str, int, int]
"""What to do, with which session, and a number that chooses more."""

steps = st.lists(
    st.tuples(
        st.sampled_from(["start", "turn", "turn", "crash", "branch", "undo", "redo", "delete", "take"]),
        st.integers(0, 3),
        st.integers(0, 9),
    ),
    min_size=3,
    max_size=14,
)


class World:
    """One store, and what was done to it."""

    def __init__(self, store: SessionStore) -> None:
        self.store = store
        self.ids: list[str] = []
        self._made = 0

    async def take_step(self, step: Step) -> str:
        """Take one step; returns how it ended."""
        what, which, number = step
        if what == "start" or not self.ids:
            return await self._talk("", number)
        session_id = self.ids[which % len(self.ids)]
        acts: dict[str, Callable[[], Awaitable[object]]] = {
            "turn": lambda: self._talk(session_id, number),
            "crash": lambda: self._crash(session_id),
            "branch": lambda: self._branch(session_id, number),
            "undo": lambda: self.store.undo(session_id, 1 + number % 2),
            "redo": lambda: self.store.redo(session_id),
            "delete": lambda: self.store.delete(session_id),
            "take": lambda: self._copy(session_id),
        }
        try:
            return str(await acts[what]()).replace(session_id, "")
        except StoreError as error:
            return error.code

    def _id(self) -> str:
        self._made += 1
        return f"m{self._made}"

    async def _talk(self, session_id: str, number: int) -> str:
        session = await self.store.open(SessionKey(agent="a", id=session_id))
        if not session_id:
            self.ids.append(session.id)
        call = ToolCall(id=self._id(), name="t", arguments={"n": number})
        turn = [said(f"asked w{number}w", id=self._id()), Message(id=self._id(), role="assistant", calls=(call,))]
        await session.append([*turn, Message(id=self._id(), role="tool", call_id=call.id, text=f"got w{number}w")])
        await session.append([Message(id=self._id(), role="assistant", text="done")])
        await session.close()
        return "talked"

    async def _crash(self, session_id: str) -> str:
        session = await self.store.open(SessionKey(agent="a", id=session_id))
        calls = (ToolCall(id=self._id(), name="t", arguments={}), ToolCall(id=self._id(), name="t", arguments={}))
        await session.intend(
            [said("crashed", id=self._id()), Message(id=self._id(), role="assistant", calls=calls)], calls
        )
        await session.append([Message(id=self._id(), role="tool", call_id=calls[0].id, text="one")])
        await session.close()
        return "crashed"

    async def _branch(self, session_id: str, number: int) -> str:
        messages = await self.store.read(session_id)
        at = messages[number % len(messages)].id if messages else ""
        self.ids.append((await self.store.branch(session_id, at=at)).id)
        return at

    async def _copy(self, session_id: str) -> str:
        self.ids.append((await self.store.take(SessionKey(agent="a"), await self.store.read(session_id))).id)
        return "copied"

    async def state(self) -> dict[str, object]:
        """Return everything that can be seen of the store."""
        seen: dict[str, object] = {}
        for place, session_id in enumerate(self.ids):
            try:
                messages = await self.store.read(session_id)
            except StoreError as error:
                seen[f"session {place}"] = error.code
                continue
            assert broken_rules(valid_history(messages)) == []
            session = await self.store.open(SessionKey(agent="a", id=session_id))
            in_doubt = [call.id for call in session.interrupted]
            await session.close()
            seen[f"session {place}"] = ([message.id for message in messages], in_doubt)
        facts = await self.store.list()
        seen["list"] = sorted((self.ids.index(each.id), each.title, each.messages) for each in facts)
        for word in ("w1w", "w2w asked", "crashed", "T"):
            hits = await self.store.search(word, limit=1000)
            seen[f"search {word}"] = sorted((self.ids.index(hit.session_id), hit.message_id) for hit in hits)
        return seen


async def compare(path: Path, taken: list[Step]) -> None:
    """Take the same steps in both stores."""
    async with open_sessions(path, FakeClock(), SequenceIds()) as store:
        disk, memory = World(store), World(RamSessions())
        for step in taken:
            assert await disk.take_step(step) == await memory.take_step(step)
            assert await disk.state() == await memory.state()


@pytest.mark.property
@settings(max_examples=15)
@given(steps)
def test_any_sequence_leaves_valid_histories_and_a_search_that_agrees(taken: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(compare(Path(folder) / "sessions.db", taken))
