"""Cassettes: what was recorded is replayed byte by byte, without secrets, and what differs is named."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ferrule.core.system_clock import SystemClock
from ferrule.ports.dialer import Dialer, HttpRequest
from ferrule.providers._chat.provider import Endpoint, OpenAIChat
from ferrule.sandbox.dialer import HttpDialer
from ferrule.testing.cassette import Cassette, CassetteMismatch, CassetteSecret, Mode
from ferrule.testing.mock_llm import MockLLM, Reply, call, error, raw, say
from ferrule.types.completion import ProviderEvent, Request
from ferrule.types.errors import FerruleError
from ferrule.types.messages import user_message

KEY = "sk-very-secret-1"


async def ask(dialer: Dialer, url: str, text: str = "hi") -> list[ProviderEvent]:
    endpoint = Endpoint(model="m", base_url=url, api_key=KEY)
    provider = OpenAIChat(name="openai.main", endpoint=endpoint, dialer=dialer, clock=SystemClock())
    request = Request(id="req_1", messages=(user_message(text, id="msg_1"),))
    return [event async for event in provider.stream(request)]


@asynccontextmanager
async def recording(path: Path, *script: Reply, mode: Mode = "record") -> AsyncIterator[tuple[Cassette, str]]:
    async with MockLLM(list(script)) as server:
        async with Cassette(path, mode, dialer=HttpDialer({}), secrets=[KEY]) as cassette:
            yield cassette, server.base_url


async def test_what_was_recorded_is_replayed_with_its_splits_and_without_a_server(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    async with recording(path, say("北京 hello").split(5, pause_s=0.001), call("look", {"path": "a"})) as (tape, url):
        recorded = [await ask(tape, url), await ask(tape, url, "more")]
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[0] == {"cassette": 1}
    assert sum("piece" in line or "base64" in line for line in lines) > 20
    assert any("base64" in line for line in lines), "a piece ends within a character"
    async with Cassette(path) as tape:
        assert [await ask(tape, url), await ask(tape, url, "more")] == recorded


async def test_failures_are_replayed_as_failures(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    seen: list[str] = []
    async with recording(path, error(429, {"error": {"message": "slow"}}), say("a b c d").drop(200)) as (tape, url):
        for place in (url, url, "http://127.0.0.1:1/v1"):
            with pytest.raises(FerruleError) as caught:
                await ask(tape, place)
            seen.append(repr(caught.value))
    async with Cassette(path) as tape:
        for place, before in zip((url, url, "http://127.0.0.1:1/v1"), seen, strict=True):
            with pytest.raises(FerruleError) as caught:
                await ask(tape, place)
            assert repr(caught.value) == before


async def test_no_key_cookie_or_configured_secret_is_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    async with recording(path, raw(say_bytes(), headers={"set-cookie": "session=abc123"})) as (tape, url):
        await ask(tape, url.replace("http://", f"http://ann:{KEY}@") + f"?api_key=other-key&v={KEY}")
    text = path.read_text()
    assert all(secret not in text for secret in (KEY, "abc123", "ann", "other-key"))
    assert text.count("[masked]") >= 5


def say_bytes(text: str = "ok") -> bytes:
    chunk = {"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]}
    return f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode()


@pytest.mark.parametrize("every", [0, 3])
async def test_a_cassette_with_a_configured_secret_in_a_body_is_not_written(tmp_path: Path, every: int) -> None:
    path = tmp_path / "talk.jsonl"
    with pytest.raises(CassetteSecret, match=r"talk\.jsonl was not written") as caught:
        async with recording(path, raw(say_bytes(f"it is {KEY}")).split(every or 10_000, pause_s=0.001)) as (tape, url):
            await ask(tape, url)
    assert not path.exists()
    assert KEY not in str(caught.value)


async def test_what_differs_is_named(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    async with recording(path, say("hello")) as (tape, url):
        await ask(tape, url)
    tape = Cassette(path)
    with pytest.raises(CassetteMismatch, match=r"body\.messages\[0\]\.content: recorded 'hi', now 'ho'"):
        await ask(tape, url, "ho")
    await ask(tape, url)
    with pytest.raises(CassetteMismatch, match="request 3 was not recorded"):
        await ask(tape, url)
    with pytest.raises(CassetteMismatch, match="1 recorded exchanges were not asked for"):
        async with Cassette(path):
            assert path.exists()


async def test_once_records_when_there_is_nothing_and_replays_from_then_on(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    async with recording(path, say("first"), mode="once") as (tape, url):
        first = await ask(tape, url)
    async with Cassette(path, "once") as tape:
        assert (tape.is_recording, await ask(tape, url)) == (False, first)


async def test_nothing_to_replay_no_dialer_and_another_version_are_told(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    with pytest.raises(FileNotFoundError, match="record it with"):
        Cassette(path)
    with pytest.raises(ValueError, match="a dialer is needed"):
        Cassette(path, "record")
    path.write_text('{"cassette": 9}\n')
    with pytest.raises(CassetteMismatch, match="version 9"):
        Cassette(path)


async def test_a_body_that_is_no_json_and_one_that_is_left_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "raw.jsonl"
    async with MockLLM([raw(b"abc\xff"), raw(b"abc\xff")]) as server:
        request = HttpRequest(method="POST", url=f"{server.base_url}/chat/completions", body=b'{"model":"m"}')
        async with Cassette(path, "record", dialer=HttpDialer({})) as tape:
            async with tape.open(request) as response:
                assert await response.read() == b"abc\xff"
            async with tape.open(request) as response:
                assert response.status == 200
    async with Cassette(path) as tape:
        async with tape.open(request) as response:
            assert await response.read() == b"abc\xff"
        async with tape.open(request) as response:
            assert [piece async for piece in response.pieces()] == []
