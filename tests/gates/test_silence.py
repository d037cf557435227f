"""The listener for silent turns hears real turns, and hears what must not be."""

from __future__ import annotations

import logging

from ferrule.core.agent import Agent
from ferrule.testing.gates import allow_all
from ferrule.testing.scripted import ScriptedProvider, say
from ferrule.types.errors import AuthenticationFailed
from ferrule.types.log_context import bound
from tests._silence import FINISHED, LOGGER, STARTED, Ear, listening


def line(text: str, *arguments: str) -> logging.LogRecord:
    return logging.LogRecord(LOGGER, logging.INFO, "turn.py", 1, text, arguments, None)


async def test_real_turns_are_heard_and_each_says_how_it_ended() -> None:
    agent = Agent(ScriptedProvider(say("hello"), AuthenticationFailed("no")), gate=allow_all())
    with listening() as ear:
        await agent.send("hi")
        await agent.send("hi")
    assert (ear.heard, ear.take()) == (2, [])


def test_a_turn_that_never_ends_is_heard_once() -> None:
    ear = Ear()
    with bound({"turn": "trn_1"}):
        ear.emit(line(STARTED))
    assert ear.take() == ["turn trn_1 began and never ended"]
    assert ear.take() == []


def test_a_turn_that_fails_without_a_reason_is_heard() -> None:
    ear = Ear()
    for reason in ("", " (: )", " (provider.error: no)"):
        ear.emit(line(FINISHED, "failed", reason))
    ear.emit(line(FINISHED, "completed", ""))
    assert len(ear.take()) == 2
