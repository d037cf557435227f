"""Servers on this machine are recognised by their own words, never by an open port."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace

import pytest

from ferrule.app.local_servers import PROBES, Found, found
from ferrule.ports.dialer import Dialer
from ferrule.sandbox.dialer import HttpDialer
from ferrule.testing.mock_llm import MockLLM
from tests.providers._vendor import Act, Step, vendor, whole

NOBODY = 1
"""A port at which nothing listens."""

VERSION = {"version": "0.9.1"}
PROPS = {"default_generation_settings": {"n_ctx": 4096}, "total_slots": 1}
TAGS = {"models": [{"name": "qwen3:8b"}, {"name": "llama3:8b"}]}
STUDIO = {
    "object": "list",
    "data": [
        {"id": "gemma", "type": "llm", "state": "loaded"},
        {"id": "nomic", "type": "embeddings", "state": "not-loaded"},
    ],
}


def listed(owner: str) -> dict[str, object]:
    return {"object": "list", "data": [{"id": "a.gguf", "object": "model", "owned_by": owner}]}


def says(*documents: object) -> list[list[Step]]:
    return [whole(json.dumps(document).encode()) for document in documents]


@pytest.fixture
async def dialer() -> AsyncIterator[Dialer]:
    it = HttpDialer({})
    yield it
    await it.close()


async def search(dialer: Dialer, environ: Mapping[str, str] | None = None, /, **ports: int) -> list[Found]:
    """Look for every kind of server, at the given ports only."""
    names = {"ollama": "ollama", "llama.cpp": "llama", "lmstudio": "studio", "vllm": "vllm"}
    probes = [replace(probe, port=ports.get(names[probe.server], NOBODY)) for probe in PROBES]
    return await found(environ or {}, dialer, probes=probes)


def test_the_usual_ports_are_looked_at() -> None:
    assert {probe.server: probe.port for probe in PROBES} == {
        "ollama": 11434,
        "llama.cpp": 8080,
        "lmstudio": 1234,
        "vllm": 8000,
    }


async def test_all_kinds_are_found_in_one_search_with_their_models(dialer: Dialer) -> None:
    async with (
        vendor(*says(VERSION, TAGS)) as ollama,
        vendor(*says(PROPS, listed("llamacpp"))) as llama,
        vendor(*says(STUDIO)) as studio,
        vendor(*says(VERSION, listed("vllm"))) as vllm,
    ):
        servers = await search(dialer, ollama=ollama.port, llama=llama.port, studio=studio.port, vllm=vllm.port)
    assert servers == [
        Found(source="ollama", adapter="ollama", base_url=ollama.url, models=("qwen3:8b", "llama3:8b")),
        Found(source="llama.cpp", adapter="openai", base_url=f"{llama.url}/v1", models=("a.gguf",)),
        Found(source="lmstudio", adapter="openai", base_url=f"{studio.url}/v1", models=("gemma",)),
        Found(source="vllm", adapter="openai", base_url=f"{vllm.url}/v1", models=("a.gguf",)),
    ]
    asked = [a.line.split()[1] for server in (ollama, llama, studio, vllm) for a in server.asked]
    assert asked == ["/api/version", "/api/tags", "/props", "/v1/models", "/api/v0/models", "/version", "/v1/models"]


async def test_the_scripted_server_passes_for_an_ollama(dialer: Dialer) -> None:
    async with MockLLM(models=("one", "two")) as server:
        (it,) = await search(dialer, ollama=server.port)
    assert (it.source, it.base_url, it.models) == ("ollama", server.ollama_url, ("one", "two"))


OTHERS: dict[str, list[list[Step]]] = {
    "a web page": [whole(b"<html>It works!</html>")],
    "a list": says([]),
    "a refusal": [whole(b"{}", status="401 Unauthorized")],
    "no such route": [whole(b"404 page not found", status="404 Not Found")],
    "another program with a version": says(VERSION, {"error": "no such route"}),
    "a version, then nothing": [*says(VERSION), [Act.DROP]],
    "a body without end": [[b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n{}", Act.DROP]],
    "no http": [[b"SSH-2.0-OpenSSH_9.2\r\n", Act.DROP]],
    "odd entries": says(VERSION, {"data": ["x", 1]}),
}


@pytest.mark.parametrize("kind", ["ollama", "llama", "studio", "vllm"])
@pytest.mark.parametrize("answers", OTHERS.values(), ids=OTHERS)
async def test_an_open_port_that_answers_in_other_words_is_no_server(
    answers: list[list[Step]], kind: str, dialer: Dialer
) -> None:
    async with vendor(*answers) as server:
        assert await search(dialer, **{kind: server.port}) == []
        assert server.asked


@pytest.mark.parametrize(
    ("kind", "answers"),
    [
        ("llama", says(VERSION, listed("llamacpp"))),
        ("llama", says(PROPS, TAGS)),
        ("studio", says(listed("somebody"))),
        ("vllm", says(VERSION, listed("somebody"))),
        ("ollama", says(PROPS, TAGS)),
    ],
)
async def test_one_kind_is_not_taken_for_another(kind: str, answers: list[list[Step]], dialer: Dialer) -> None:
    async with vendor(*answers) as server:
        assert await search(dialer, **{kind: server.port}) == []


async def test_a_server_without_models_is_found(dialer: Dialer) -> None:
    async with vendor(*says(VERSION, {"models": []})) as server:
        assert [s.models for s in await search(dialer, ollama=server.port)] == [()]


async def test_a_silent_port_holds_nobody_up_and_the_others_are_found(dialer: Dialer) -> None:
    async with vendor([Act.STALL]) as silent, vendor(*says(STUDIO)) as studio:
        began = time.monotonic()
        servers = await search(dialer, ollama=silent.port, vllm=silent.port, studio=studio.port)
        took = time.monotonic() - began
        async with asyncio.timeout(5):
            await silent.gone.wait()
    assert [s.source for s in servers] == ["lmstudio"]
    assert took < 1.5  # half a second, and what a busy machine adds


async def test_a_search_that_is_cancelled_leaves_nothing_behind(dialer: Dialer) -> None:
    async with vendor([Act.STALL]) as silent:
        task = asyncio.create_task(search(dialer, ollama=silent.port))
        while not silent.asked:
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        async with asyncio.timeout(5):
            await silent.gone.wait()


async def test_the_environment_comes_first_and_its_address_is_not_asked(dialer: Dialer) -> None:
    async with vendor(*says(VERSION, TAGS)) as server, vendor(*says({})) as vendor_of_key:
        environ = {"OPENAI_API_KEY": "sk-canary", "OPENAI_BASE_URL": f"{vendor_of_key.url}/v1"}
        servers = await search(dialer, environ, ollama=server.port)
        assert vendor_of_key.asked == []
        assert not any("sk-canary" in str(a) for a in server.asked)
    assert [s.source for s in servers] == ["OPENAI_API_KEY", "ollama"]
    assert servers[0] == Found(source="OPENAI_API_KEY", adapter="openai", base_url=f"{vendor_of_key.url}/v1")
    assert "sk-canary" not in repr(servers)


async def test_nothing_at_all_is_an_empty_list(dialer: Dialer) -> None:
    assert await search(dialer) == []
    assert await found({}, dialer, probes=()) == []
    (only,) = await found({"OPENAI_API_KEY": "k"}, dialer, probes=())
    assert (only.base_url, len(only.models)) == ("https://api.openai.com/v1", 1)
