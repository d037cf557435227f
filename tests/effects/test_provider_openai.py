"""``[providers.openai.<alias>]``."""

from __future__ import annotations

import asyncio
import socket
import time
from pathlib import Path

import pytest

from ferrule.core.agent import Agent
from ferrule.core.options import AgentOptions
from ferrule.ports.adapter import Parts
from ferrule.providers.openai import ADAPTER, Settings
from ferrule.sandbox.dialer import HttpDialer
from ferrule.testing.clock import FakeClock, SequenceIds
from ferrule.testing.gates import allow_all
from ferrule.types.completion import ModelOptions
from tests.effects._program import Place, call, config, say, told
from tests.providers._vendor import STREAM_HEAD, Act, Step, vendor

SILENT: list[Step] = [STREAM_HEAD, Act.STALL]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


async def test_model_is_the_one_that_is_asked(place: Place) -> None:
    async with vendor(say("ok")) as server:
        place.write(config(server).replace('model = "m"', 'model = "special"'))
        await place.run("run", "hi")
        assert server.asked[0].json["model"] == "special"


async def test_base_url_is_where_requests_go(place: Place) -> None:
    async with vendor(say("ok")) as server:
        place.write(config(server).replace("/v1", "/other"))
        assert (await place.run("run", "hi")).code == 0
        assert server.asked[0].line.startswith("POST /other/chat/completions ")


async def test_api_key_is_sent_and_never_shown(place: Place) -> None:
    async with vendor(say("your key is sk-canary-1234")) as server:
        place.write(config(server, provider='api_key = { env = "CANARY" }'))
        ran = await place.run("run", "hi", environ={"CANARY": "sk-canary-1234"})
        assert server.asked[0].headers["authorization"] == "Bearer sk-canary-1234"
        assert "sk-canary" not in ran.out + ran.err


async def test_organization_is_sent(place: Place) -> None:
    async with vendor(say("ok")) as server:
        place.write(config(server, provider='organization = "org-1"'))
        await place.run("run", "hi")
        assert server.asked[0].headers["openai-organization"] == "org-1"


async def test_length_field_names_the_longest_answer(tmp_path: Path) -> None:
    async with vendor(say("ok")) as server:
        dialer = HttpDialer({})
        parts = Parts(name="openai.main", dialer=dialer, clock=FakeClock(), ids=SequenceIds(), home=str(tmp_path))
        settings = Settings(model="m", base_url=f"{server.url}/v1", length_field="max_completion_tokens")
        async with ADAPTER.open(settings, parts) as provider:
            agent = Agent(provider, gate=allow_all(), options=AgentOptions(model=ModelOptions(max_output_tokens=7)))
            await agent.send("hi")
        await dialer.close()
        assert server.asked[0].json["max_completion_tokens"] == 7


async def test_reasoning_is_not_sent_back_when_that_is_switched_off(place: Place) -> None:
    look = call(("list_directory", {"path": "."}), reasoning_content="because")
    async with vendor(look, say("ok")) as server:
        place.write(config(server, provider="replay_reasoning = false"))
        await place.run("run", "hi")
        assert len(server.asked) == 2
        assert "because" not in told(server)


@pytest.mark.parametrize("key", ["idle_timeout_s", "total_timeout_s"])
async def test_a_silent_server_is_given_up(place: Place, key: str) -> None:
    async with vendor(SILENT) as server:
        place.write(config(server, provider=f"{key} = 0.3"))
        async with asyncio.timeout(30):
            assert (await place.run("run", "hi")).code == 1


async def test_a_server_that_does_not_accept_is_given_up(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        waiting = [socket.socket() for _ in range(3)]
        for one in waiting:  # the queue is full now: the next connection gets no answer
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        url = f"http://127.0.0.1:{full.getsockname()[1]}"
        async with vendor(say("ok")) as server:
            place.write(config(server, provider="connect_timeout_s = 0.2").replace(server.url, url))
            began = time.monotonic()
            ran = await place.run("run", "hi")
            assert ran.code == 1
            assert time.monotonic() - began < 15
        for one in waiting:
            one.close()
