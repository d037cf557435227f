"""Records the events of turns, and compares them with a stored snapshot.

    log = EventLog()
    agent.use(log)                      # every event of every turn
    await agent.send("hi")
    log.check(Path("tests/hi.jsonl"))   # the first time with update=True

Ids become ``ses_1, trn_1, call_1, ...`` in the order in which they appear,
times become 0: the same turn gives the same lines in every run.
"""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

from ..types.events import AgentEvent, as_dict

_IDS = {
    "session_id": "ses",
    "turn_id": "trn",
    "parent_turn_id": "trn",
    "child_turn_id": "trn",
    "request_id": "req",
    "call_id": "call",
    "approval_id": "apr",
    "receipt_id": "rcp",
    "document_id": "doc",
    "digest": "digest",
}
"""Fields that hold an id, and what it is called in a snapshot."""

_TIMES = frozenset({"at_ms", "duration_ms", "expires_ms"})


class SnapshotMismatch(AssertionError):
    """The events are not the stored ones; the text is their difference."""


class EventLog:
    """Hooks that keep every event of the agents that use them.

    Attributes:
        events: As they came.
    """

    def __init__(self) -> None:
        self.events: list[AgentEvent] = []

    def event(self, event: AgentEvent) -> None:
        """Keep an event; this is the hook."""
        self.events.append(event)

    async def collect(self, stream: AsyncIterator[AgentEvent]) -> EventLog:
        """Keep the events of a stream, to its end."""
        async for event in stream:
            self.events.append(event)
        return self

    def normalised(self) -> list[dict[str, object]]:
        """Return the events in their wire form, with ids and times that are the same in every run."""
        known: dict[tuple[str, object], str] = {}
        counts: Counter[str] = Counter()
        out: list[dict[str, object]] = []
        for event in self.events:
            flat = as_dict(event)
            for name, value in flat.items():
                if name in _TIMES:
                    flat[name] = 0
                elif name in _IDS and value:
                    kind = _IDS[name]
                    if (kind, value) not in known:
                        counts[kind] += 1
                        known[kind, value] = f"{kind}_{counts[kind]}"
                    flat[name] = known[kind, value]
            out.append(flat)
        return out

    def lines(self) -> list[str]:
        """Return the normalised events as JSON lines: the type first, then what it says, then where."""
        return [json.dumps(_ordered(flat), ensure_ascii=True, default=str) for flat in self.normalised()]

    def check(self, path: Path, *, update: bool = False) -> None:
        """Compare with the snapshot in `path`, or write it.

        Raises:
            SnapshotMismatch: the events differ from the snapshot, or there is none.
        """
        found = self.lines()
        if update:
            path.write_text("".join(f"{line}\n" for line in found))
            return
        if not path.exists():
            raise SnapshotMismatch(f"there is no snapshot {path}; write it once with update=True")
        stored = path.read_text().splitlines()
        if found != stored:
            changes = difflib.unified_diff(stored, found, f"{path.name} as stored", "as it is now", lineterm="", n=1)
            raise SnapshotMismatch("\n".join(changes))


def _ordered(flat: dict[str, object]) -> dict[str, object]:
    head = ("v", "seq", "at_ms", "session_id", "turn_id", "agent", "parent_turn_id")
    own = {name: value for name, value in flat.items() if name not in head and name != "type"}
    return {"type": flat["type"], **own, **{name: flat[name] for name in head}}
