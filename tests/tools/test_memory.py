"""Tools of memory: what is remembered comes back as data."""

from __future__ import annotations

import pytest

from ferrule.core.agent import Agent
from ferrule.ports.handles import Handles
from ferrule.testing.gates import allow_all
from ferrule.testing.scripted import ScriptedProvider
from ferrule.testing.stores import ListMemory
from ferrule.tools.memory_recall import TOOL as RECALL
from ferrule.tools.memory_store import TOOL as STORE


@pytest.fixture
def agent() -> Agent:
    return Agent(ScriptedProvider(), gate=allow_all(Handles(memory=ListMemory())), tools=[STORE, RECALL])


async def test_what_is_stored_is_found_by_its_words_and_as_the_newest(agent: Agent) -> None:
    for text in ("the lamp is blue", "the chair is red"):
        assert not (await agent.call("memory_store", {"text": text})).is_error
    found = await agent.call("memory_recall", {"query": "lamp"})
    assert (found.content, found.origin, found.trusted) == ("- the lamp is blue", "memory", False)
    newest = await agent.call("memory_recall", {"limit": 1})
    assert newest.content == "- the chair is red"
    assert "(normal)" in (await agent.call("memory_recall", {"query": "moon"})).content


async def test_an_empty_text_and_an_agent_without_memory_are_told(agent: Agent) -> None:
    assert (await agent.call("memory_store", {"text": " \n"})).code == "memory.empty"
    bare = Agent(ScriptedProvider(), gate=allow_all(), tools=[STORE])
    assert (await bare.call("memory_store", {"text": "x"})).code == "handle.memory"
