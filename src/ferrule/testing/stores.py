"""Stores in memory: real ones, without a disk."""

from __future__ import annotations

from collections.abc import Sequence

from ..ports.clock import Clock, Ids
from ..ports.session import SessionFacts, SessionKey
from ..storage.vault import check_name, check_text
from ..types.errors import SessionBusy, StoreError
from ..types.memory import MemoryEntry
from ..types.messages import Message
from ..types.tools import ToolCall
from .clock import FakeClock, SequenceIds


class RamSession:
    """One session of `RamSessions`."""

    def __init__(self, store: RamSessions, key: SessionKey, session_id: str) -> None:
        self._store = store
        self._key = key
        self._open = True
        self.id = session_id
        self.intents: list[str] = []

    @property
    def messages(self) -> Sequence[Message]:
        """The whole history, oldest first."""
        return self._store.kept.get(self.id, [])

    @property
    def interrupted(self) -> Sequence[ToolCall]:
        """Calls that were begun and have no result."""
        answered = {m.call_id for m in self.messages if m.role == "tool"}
        begun = self._store.begun.get(self.id, set())
        return [c for m in self.messages for c in m.calls if c.id in begun and c.id not in answered]

    async def append(self, messages: Sequence[Message]) -> None:
        """Add messages, or fail as the store was told to."""
        if not self._open:
            raise StoreError(f"session {self.id!r} is closed")
        if self._store.failure is not None:
            raise self._store.failure
        if messages:
            self._store.keep(self.id, self._key, messages)

    async def intend(self, messages: Sequence[Message], calls: Sequence[ToolCall]) -> None:
        """Add messages and note the calls."""
        await self.append(messages)
        self._store.begun.setdefault(self.id, set()).update(call.id for call in calls)
        self.intents.extend(call.id for call in calls)

    async def close(self) -> None:
        """Let go."""
        if self._open:
            self._open = False
            self._store.held.discard(self.id)


class RamSessions:
    """A `SessionStore` in memory; set `failure` to make every write fail."""

    def __init__(self, clock: Clock | None = None, ids: Ids | None = None) -> None:
        self._clock = clock or FakeClock()
        self._ids = ids or SequenceIds()
        self.kept: dict[str, list[Message]] = {}
        self.begun: dict[str, set[str]] = {}
        self.held: set[str] = set()
        self.failure: StoreError | None = None
        self._facts: dict[str, SessionFacts] = {}

    async def open(self, key: SessionKey) -> RamSession:
        """Open or start a session."""
        session_id = key.id or self._ids.new("ses")
        if key.id and key.id not in self.kept:
            raise StoreError(f"there is no session {key.id!r}")
        if session_id in self.held:
            raise SessionBusy(session_id, pid=None)
        self.held.add(session_id)
        return RamSession(self, key, session_id)

    async def list(self, *, agent: str = "", limit: int = 100) -> Sequence[SessionFacts]:
        """List sessions, the last changed first."""
        found = [facts for facts in self._facts.values() if agent in ("", facts.agent)]
        return found[::-1][:limit]

    async def read(self, session_id: str) -> Sequence[Message]:
        """Read a session."""
        if session_id not in self.kept:
            raise StoreError(f"there is no session {session_id!r}")
        return list(self.kept[session_id])

    async def close(self) -> None:
        """Nothing waits."""

    def keep(self, session_id: str, key: SessionKey, messages: Sequence[Message]) -> None:
        """Add messages and move the session to the end of the list."""
        kept = self.kept.setdefault(session_id, [])
        kept.extend(messages)
        now = self._clock.now_ms()
        old = self._facts.pop(session_id, None)
        title = next((m.text for m in kept if m.role == "user"), "")
        self._facts[session_id] = SessionFacts(
            id=session_id,
            agent=key.agent,
            person=key.person,
            audience=key.audience,
            title=title,
            messages=len(kept),
            created_ms=old.created_ms if old else now,
            changed_ms=now,
        )


class ListMemory:
    """A `MemoryStore` in a list."""

    def __init__(self) -> None:
        self._entries: list[MemoryEntry] = []

    async def append(self, entry: MemoryEntry) -> None:
        """Remember."""
        self._entries.append(entry)

    async def recent(self, limit: int) -> Sequence[MemoryEntry]:
        """Return the newest entries, oldest first."""
        return self._entries[-limit:] if limit else []

    async def search(self, query: str, limit: int) -> Sequence[MemoryEntry]:
        """Return entries that hold any word of the query."""
        words = query.lower().split()
        return [e for e in self._entries if any(word in e.text.lower().split() for word in words)][:limit]


class RamSecrets:
    """A `SecretStore` in a dictionary, of one owner."""

    def __init__(self) -> None:
        self._kept: dict[str, str] = {}

    async def get(self, name: str) -> str | None:
        """Return a secret; None when there is none."""
        return self._kept.get(name)

    async def put(self, name: str, text: str) -> None:
        """Keep or replace a secret."""
        check_name(name)
        check_text(text)
        self._kept[name] = text

    async def remove(self, name: str) -> bool:
        """Forget a secret; tells whether there was one."""
        return self._kept.pop(name, None) is not None

    async def names(self) -> Sequence[str]:
        """Return all names, sorted."""
        return sorted(self._kept)
