"""Agents for tests: two tools, a scripted provider, time and ids that are the same in every run."""

from __future__ import annotations

from collections.abc import Sequence

from ferrule.core.agent import Agent
from ferrule.core.options import AgentOptions
from ferrule.core.tool_decorator import tool
from ferrule.testing.clock import InstantClock, SequenceIds
from ferrule.testing.gates import allow_all
from ferrule.testing.scripted import Answer, ScriptedProvider
from ferrule.types.completion import (
    Request,
)
from ferrule.types.events import AgentEvent


@tool
def double(n: int) -> int:
    """Double a number."""
    return 2 * n


@tool
def fails() -> str:
    """Always fail."""
    raise ValueError("no luck")


def options(**changes: object) -> AgentOptions:
    return AgentOptions(clock=InstantClock(), ids=SequenceIds(), **changes)  # type: ignore[arg-type]  # tests name real fields


def agent(*answers: Answer, tools: Sequence[object] = (double, fails), **changes: object) -> Agent:
    return Agent(ScriptedProvider(*answers), gate=allow_all(), tools=tools, options=options(**changes))  # type: ignore[arg-type]  # tools of several shapes


def asked(of: Agent) -> list[Request]:
    provider = of._parts.provider
    assert isinstance(provider, ScriptedProvider)
    return provider.requests


async def events_of(stream: object) -> list[AgentEvent]:
    return [event async for event in stream]  # type: ignore[attr-defined]  # an async iterator of events
