"""``[providers.ollama.<alias>]``."""

from __future__ import annotations

import asyncio
import socket
import time
from pathlib import Path

import pytest

from ferrule.testing.mock_llm import MockLLM, say
from tests.effects._program import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def config(url: str, *keys: str, model: str = "m") -> str:
    lines = "\n".join(keys)
    return f'[providers.ollama.main]\nmodel = "{model}"\nbase_url = "{url}"\n{lines}\n[agents.default]\n'


async def sent(place: Place, *keys: str, model: str = "m") -> dict[str, object]:
    """Run the program once and return what the server was asked."""
    async with MockLLM([say("ok")]) as server:
        place.write(config(server.ollama_url, *keys, model=model))
        ran = await place.run("run", "hi")
        assert (ran.code, ran.out) == (0, "ok\n"), ran.err
    return dict(server.requests[0].json or {})


async def test_model_is_the_one_that_is_asked(place: Place) -> None:
    assert (await sent(place, model="special:1b"))["model"] == "special:1b"


async def test_base_url_is_where_requests_go(place: Place) -> None:
    async with MockLLM([say("ok")]) as server:
        place.write(config(f"{server.ollama_url}/api"))
        assert (await place.run("run", "hi")).code == 0
    assert [r.path for r in server.requests] == ["/api/chat"]


async def test_api_key_is_sent_and_never_shown(place: Place) -> None:
    async with MockLLM([say("your key is sk-canary-1234")]) as server:
        place.write(config(server.ollama_url, 'api_key = { env = "CANARY" }'))
        ran = await place.run("run", "hi", environ={"CANARY": "sk-canary-1234"})
    assert server.requests[0].headers["authorization"] == "Bearer sk-canary-1234"
    assert "sk-canary" not in ran.out + ran.err


async def test_num_ctx_is_the_context_the_model_is_loaded_with(place: Place) -> None:
    assert (await sent(place, "num_ctx = 16384"))["options"] == {"num_ctx": 16384}


@pytest.mark.parametrize(("written", "wanted"), [('"30m"', "30m"), ("-1", -1)])
async def test_keep_alive_is_how_long_the_model_stays_loaded(place: Place, written: str, wanted: object) -> None:
    assert (await sent(place, f"keep_alive = {written}"))["keep_alive"] == wanted


@pytest.mark.parametrize(("written", "wanted"), [("false", False), ('"high"', "high")])
async def test_think_is_whether_and_how_much_the_model_thinks(place: Place, written: str, wanted: object) -> None:
    assert (await sent(place, f"think = {written}"))["think"] == wanted


async def test_options_reach_the_model_as_they_are_written(place: Place) -> None:
    asked = await sent(place, 'options = { top_k = 20, min_p = 0.5, stop = ["END"], use_mmap = false }')
    assert asked["options"] == {"top_k": 20, "min_p": 0.5, "stop": ["END"], "use_mmap": False}


@pytest.mark.parametrize("key", ["idle_timeout_s", "total_timeout_s"])
async def test_a_silent_server_is_given_up(place: Place, key: str) -> None:
    async with MockLLM(lambda _: say("never heard").stall(9)) as server:
        place.write(config(server.ollama_url, f"{key} = 0.3"))
        async with asyncio.timeout(30):
            assert (await place.run("run", "hi")).code == 1


async def test_a_server_that_does_not_accept_is_given_up(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        waiting = [socket.socket() for _ in range(3)]
        for one in waiting:  # the queue is full now: the next connection gets no answer
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        place.write(config(f"http://127.0.0.1:{full.getsockname()[1]}", "connect_timeout_s = 0.2"))
        began = time.monotonic()
        ran = await place.run("run", "hi")
        assert ran.code == 1
        assert "ollama serve" in ran.err
        assert time.monotonic() - began < 15
        for one in waiting:
            one.close()
