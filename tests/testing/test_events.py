"""The event recorder: the same turn gives the same lines, and a snapshot shows what changed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ferrule.core.agent import Agent
from ferrule.core.tool_decorator import tool
from ferrule.testing.events import EventLog, SnapshotMismatch
from ferrule.testing.gates import allow_all
from ferrule.testing.scripted import ScriptedProvider, ask, call, say
from ferrule.types.usage import Usage


@tool
def look(path: str) -> str:
    """Look at a path."""
    return f"saw {path}"


async def recorded(answer: str = "done") -> EventLog:
    provider = ScriptedProvider(ask(call("look", {"path": "a"}), usage=Usage(input=3, output=1)), say(answer))
    agent, log = Agent(provider, gate=allow_all(), tools=[look]), EventLog()
    agent.use(log)
    await agent.send("hi")
    return log


async def test_the_same_turn_gives_the_same_lines_whatever_its_ids_and_times() -> None:
    one, other = await recorded(), await recorded()
    assert one.events[0].head.turn_id != other.events[0].head.turn_id
    assert one.lines() == other.lines()
    assert re.findall(r'"type": "([a-z.]+)"', "\n".join(one.lines())) == [event.type for event in one.events]
    called = [flat for flat in one.normalised() if flat["type"] in ("tool.started", "tool.finished")]
    assert [flat["call_id"] for flat in called] == ["call_1", "call_1"]


async def test_a_stream_is_collected_to_its_end() -> None:
    agent = Agent(ScriptedProvider(say("hello")), gate=allow_all())
    log = await EventLog().collect(agent.stream("hi"))
    assert (log.events[0].type, log.events[-1].type) == ("turn.started", "turn.finished")


async def test_a_snapshot_is_kept_and_what_changed_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "turn.jsonl"
    with pytest.raises(SnapshotMismatch, match="update=True"):
        (await recorded()).check(path)
    (await recorded()).check(path, update=True)
    (await recorded()).check(path)
    with pytest.raises(SnapshotMismatch, match=r'(?m)^-.*"text": "done".*\n^\+.*"text": "gone"'):
        (await recorded("gone")).check(path)
