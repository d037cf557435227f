"""Going on otherwise: another session, before the last turn, another model; what fails changes nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ferrule.app.desk import AnyProvider, Desk
from ferrule.core.agent import Agent
from ferrule.core.options import AgentOptions
from ferrule.core.system_clock import RandomIds, SystemClock
from ferrule.ports.session import Session, SessionKey
from ferrule.storage.sessions import SqliteSessions, open_sessions
from ferrule.testing.gates import allow_all
from ferrule.testing.scripted import ScriptedProvider, say
from ferrule.types.errors import FerruleError, ProviderError, StoreError, UsageError


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteSessions]:
    async with open_sessions(tmp_path / "sessions.db", SystemClock(), RandomIds()) as opened:
        yield opened


class Named(ScriptedProvider):
    """A scripted provider that names its models."""

    def __init__(self, *models: str) -> None:
        super().__init__(*[say(f"answer {number}") for number in range(9)])
        self._models = models

    async def models(self) -> tuple[str, ...]:
        if not self._models:
            raise ProviderError("no answer")
        return self._models


async def desk_in(store: SqliteSessions, provider: AnyProvider | None = None) -> Desk:
    def build(of: AnyProvider, session: Session) -> Agent:
        return Agent(of, gate=allow_all(), session=session, options=AgentOptions(name="one"))

    async def another(model: str) -> AnyProvider:
        if model == "none":
            raise UsageError("one model only")
        return Named(model)

    session = await store.open(SessionKey(agent="one"))
    return Desk(store, session, provider or Named("a"), build=build, open_provider=another, alias="one")


def said(desk: Desk) -> list[str]:
    return [message.text for message in desk.agent.session.messages]


async def test_a_new_session_is_empty_and_the_old_one_can_be_gone_back_to(store: SqliteSessions) -> None:
    desk = await desk_in(store)
    await desk.agent.send("hi")
    old = desk.agent.session.id
    await desk.new()
    assert (said(desk), desk.agent.session.id == old) == ([], False)
    await desk.resume(old[:10])
    assert said(desk) == ["hi", "answer 0"]
    await desk.agent.send("again")
    assert said(desk)[-2:] == ["again", "answer 1"]
    assert [facts.id for facts in await desk.sessions(5)] == [old]


async def test_a_session_that_cannot_be_resumed_leaves_the_present_one_in_use(store: SqliteSessions) -> None:
    desk = await desk_in(store)
    await desk.agent.send("hi")
    held = await store.open(SessionKey(agent="one"))
    await Agent(Named("b"), gate=allow_all(), session=held).send("held")
    other = await store.open(SessionKey(agent="two"))
    await Agent(Named("b"), gate=allow_all(), session=other).send("other")
    await other.close()
    here = desk.agent.session.id
    for wanted, code in (
        (here, "usage"),
        ("ses_none", "session.missing"),
        (held.id, "session.busy"),
        (other.id, "usage"),
    ):
        with pytest.raises(FerruleError) as caught:
            await desk.resume(wanted)
        assert caught.value.code == code
    assert (await desk.agent.send("still here")).status == "completed"
    assert (desk.agent.session.id, len(said(desk))) == (here, 4)


async def test_what_is_taken_back_is_not_sent_and_comes_back_until_something_is_said(store: SqliteSessions) -> None:
    desk = await desk_in(store)
    for text in ("one", "two"):
        await desk.agent.send(text)
    assert (await desk.undo(1)).turns == 1
    assert said(desk) == ["one", "answer 0"]
    await desk.redo()
    assert said(desk) == ["one", "answer 0", "two", "answer 1"]
    await desk.undo(2)
    assert said(desk) == []
    await desk.redo()
    await desk.undo(1)
    await desk.agent.send("three")
    provider = desk.provider
    assert isinstance(provider, ScriptedProvider)
    assert [m.text for m in provider.requests[-1].messages] == ["one", "answer 0", "three"]
    with pytest.raises(StoreError) as caught:
        await desk.redo()
    assert caught.value.code == "session.redo"
    with pytest.raises(StoreError) as caught:
        await desk.undo(9)
    assert caught.value.code == "session.turns"
    assert (await desk.agent.send("four")).status == "completed"


async def test_a_session_in_which_nothing_was_said_has_nothing_to_take_back_or_to_bring_back(
    store: SqliteSessions,
) -> None:
    desk = await desk_in(store)
    with pytest.raises(UsageError, match="nothing was said"):
        await desk.undo(1)
    with pytest.raises(UsageError, match="nothing to bring back"):
        await desk.redo()
    assert (await desk.agent.send("hi")).status == "completed"


async def test_another_model_goes_on_in_the_same_session(store: SqliteSessions) -> None:
    desk = await desk_in(store)
    await desk.agent.send("hi")
    first = desk.provider
    await desk.use_model("big")
    await desk.agent.send("and now?")
    assert isinstance(first, ScriptedProvider)
    assert isinstance(desk.provider, ScriptedProvider)
    assert [m.text for m in desk.provider.requests[0].messages] == ["hi", "answer 0", "and now?"]
    assert (len(first.requests), await desk.models()) == (1, ("big",))
    with pytest.raises(UsageError):
        await desk.use_model("none")
    assert await desk.models() == ("big",)


async def test_a_provider_that_does_not_name_its_models_offers_none(store: SqliteSessions) -> None:
    assert await (await desk_in(store, ScriptedProvider())).models() == ()
    assert await (await desk_in(store, Named())).models() == ()
