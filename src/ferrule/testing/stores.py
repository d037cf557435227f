"""Stores in memory: real ones, without a disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..ports.clock import Clock, Ids
from ..ports.session import SessionChange, SessionFacts, SessionHit, SessionKey
from ..storage.vault import check_name, check_text
from ..types.cuts import cut_after, start_of_last, title_of, unanswered
from ..types.errors import SessionBusy, StoreError
from ..types.memory import MemoryEntry
from ..types.messages import Message
from ..types.search_words import holds, search_words, searched_text, snippet
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
        begun = self._store.begun.get(self.id, {})
        return [begun[c.id] for m in self.messages for c in m.calls if c.id in begun and c.id not in answered]

    async def append(self, messages: Sequence[Message]) -> None:
        """Add messages, or fail as the store was told to."""
        if not self._open:
            raise StoreError(f"session {self.id!r} is closed")
        if messages:
            self._store.keep(self.id, self._key, messages)

    async def intend(self, messages: Sequence[Message], calls: Sequence[ToolCall]) -> None:
        """Add messages and note the calls."""
        await self.append(messages)
        self._store.begun.setdefault(self.id, {}).update({call.id: call for call in calls})
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
        self.undone: dict[str, list[list[Message]]] = {}
        self.begun: dict[str, dict[str, ToolCall]] = {}
        self.held: set[str] = set()
        self.failure: StoreError | None = None
        self._facts: dict[str, SessionFacts] = {}

    async def open(self, key: SessionKey) -> RamSession:
        """Open or start a session."""
        session_id = self._known(key.id) if key.id else self._ids.new("ses")
        self._hold(session_id)
        return RamSession(self, key, session_id)

    async def find(self, beginning: str) -> SessionFacts:
        """Return the one session whose id is, or begins with, `beginning`."""
        found = [facts for facts in self._facts.values() if beginning and facts.id.startswith(beginning)]
        exact = [facts for facts in found if facts.id == beginning] or found
        if len(exact) > 1:
            names = ", ".join(facts.id for facts in exact)
            raise StoreError(f"more than one session begins with {beginning!r}", hint=names, code="session.ambiguous")
        return exact[0] if exact else self._facts[self._known(beginning)]

    async def list(self, *, agent: str = "", limit: int = 100) -> Sequence[SessionFacts]:
        """List sessions, the last changed first."""
        found = [facts for facts in self._facts.values() if agent in ("", facts.agent)]
        return found[::-1][:limit]

    async def read(self, session_id: str) -> Sequence[Message]:
        """Read a session."""
        return list(self.kept[self._known(session_id)])

    async def search(self, words: str, *, agent: str = "", limit: int = 20) -> Sequence[SessionHit]:
        """Find the messages that hold all of these words, the newest first."""
        wanted = search_words(words)
        return [
            self._hit(facts, message, wanted)
            for facts in await self.list(agent=agent, limit=len(self._facts))
            for message in reversed(self.kept[facts.id])
            if wanted and holds(searched_text(message), wanted)
        ][:limit]

    async def branch(self, session_id: str, *, at: str = "", agent: str = "") -> SessionFacts:
        """Start a session with a copy of another's history."""
        messages = await self.read(session_id)
        facts = self._facts[session_id]
        key = SessionKey(agent=agent or facts.agent, person=facts.person, audience=facts.audience)
        branch = await self.take(key, messages[: cut_after(messages, at)])
        begun = self.begun.get(session_id, {})
        self.begun[branch.id] = {call_id: begun.get(call_id, call) for call_id, call in self.begun[branch.id].items()}
        return branch

    async def take(self, key: SessionKey, messages: Sequence[Message]) -> SessionFacts:
        """Start a session with messages that came from elsewhere."""
        if not messages:
            raise StoreError(
                "a session without messages is not kept", hint="copy one that has some", code="session.empty"
            )
        session_id = self._ids.new("ses")
        self.keep(session_id, key, messages)
        self.begun[session_id] = {call.id: call for call in unanswered(messages)}
        return self._facts[session_id]

    async def undo(self, session_id: str, turns: int = 1) -> SessionChange:
        """Take back the last turns."""
        self._hold(self._known(session_id))
        try:
            kept = self.kept[session_id]
            start = start_of_last(kept, turns)
            taken = kept[start:]
            del kept[start:]
            self.undone.setdefault(session_id, []).append(taken)
            self._touch(session_id)
            return SessionChange(turns=turns, messages=len(taken))
        finally:
            self.held.discard(session_id)

    async def redo(self, session_id: str) -> SessionChange:
        """Bring back what the last undo took, unless something was said since."""
        self._hold(self._known(session_id))
        try:
            if not self.undone.get(session_id):
                raise StoreError(
                    f"there is nothing to bring back in session {session_id!r}",
                    hint="what was taken back can return until something new is said",
                    code="session.redo",
                )
            back = self.undone[session_id].pop()
            self.kept[session_id] += back
            self._touch(session_id)
            return SessionChange(turns=sum(m.role == "user" for m in back), messages=len(back))
        finally:
            self.held.discard(session_id)

    async def delete(self, session_id: str) -> None:
        """Remove a session."""
        self._hold(self._known(session_id))
        self.held.discard(session_id)
        for table in (self.kept, self.undone, self.begun, self._facts):
            table.pop(session_id, None)

    async def close(self) -> None:
        """Nothing waits."""

    def keep(self, session_id: str, key: SessionKey, messages: Sequence[Message]) -> None:
        """Add messages and move the session to the end of the list."""
        if self.failure is not None:
            raise self.failure
        self.kept.setdefault(session_id, []).extend(messages)
        self.undone.pop(session_id, None)
        now = self._clock.now_ms()
        old = self._facts.get(session_id)
        self._facts[session_id] = old or SessionFacts(
            id=session_id,
            agent=key.agent,
            person=key.person,
            audience=key.audience,
            title="",
            messages=0,
            created_ms=now,
            changed_ms=now,
        )
        self._touch(session_id)

    def _touch(self, session_id: str) -> None:
        kept, facts = self.kept[session_id], self._facts.pop(session_id)
        now = max(facts.changed_ms, self._clock.now_ms())
        self._facts[session_id] = replace(facts, title=title_of(kept), messages=len(kept), changed_ms=now)

    def _known(self, session_id: str) -> str:
        if session_id not in self.kept:
            hint = "`list` names those that there are"
            raise StoreError(f"there is no session {session_id!r}", hint=hint, code="session.missing")
        return session_id

    def _hold(self, session_id: str) -> None:
        if session_id in self.held:
            raise SessionBusy(session_id, pid=None)
        self.held.add(session_id)

    def _hit(self, facts: SessionFacts, message: Message, words: Sequence[str]) -> SessionHit:
        return SessionHit(
            session_id=facts.id,
            message_id=message.id,
            agent=facts.agent,
            title=facts.title,
            role=message.role,
            snippet=snippet(searched_text(message), words),
            at_ms=message.at_ms,
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
