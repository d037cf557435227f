"""The scripted server answers exactly as told, and is driven here by the real provider."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ferrule.app.embed import OpenAI
from ferrule.core.provider_shapes import fold
from ferrule.testing.mock_llm import MockLLM, Reply, call, calls, error, raw, say
from ferrule.testing.mock_llm.steps import step_of
from ferrule.types.completion import Completion, Request
from ferrule.types.errors import ConnectionFailed, Overloaded, RateLimited, StreamBroken
from ferrule.types.messages import Message
from ferrule.types.tools import ToolSpec

TOOL = ToolSpec(
    name="look",
    description="Look.",
    schema=b'{"type":"object","properties":{"n":{"type":"integer"},"s":{"type":"string"}},"required":["n","s"]}',
)


async def ask(server: MockLLM, *, model: str = "m", deltas: bool = True, tools: bool = False) -> Completion:
    async with OpenAI(model=model, base_url=server.base_url, api_key="k") as provider:
        message = Message(id="m", role="user", text="hi")
        request = Request(id="r", messages=(message,), tools=(TOOL,) if tools else (), deltas=deltas)
        return await fold(provider.stream(request))


@pytest.fixture
async def by_name() -> AsyncIterator[MockLLM]:
    async with MockLLM() as server:
        yield server


@pytest.mark.parametrize("deltas", [True, False], ids=["streamed", "plain"])
async def test_the_script_is_taken_step_by_step_whole_or_streamed(deltas: bool) -> None:
    steps = [say("two  words\n", usage=(7, 2)), call("look", {"n": 1}, id="c9"), calls([("a", "{}"), ("b", "{bad")])]
    async with MockLLM(steps) as server:
        first = await ask(server, deltas=deltas)
        second = await ask(server, deltas=deltas)
        third = await ask(server, deltas=deltas)
        assert server.unconsumed == 0
    assert (first.text, first.usage and first.usage.input) == ("two  words\n", 7)
    assert [(c.id, c.name, c.arguments) for c in second.calls] == [("c9", "look", {"n": 1})]
    assert [c.name for c in third.calls] == ["a", "b"]
    assert third.calls[1].fault


async def test_every_request_is_recorded_as_it_arrived() -> None:
    async with MockLLM([say("x")]) as server:
        await ask(server)
        seen = server.requests[0]
    assert (seen.method, seen.path) == ("POST", "/v1/chat/completions")
    assert seen.headers["authorization"] == "Bearer k"
    assert seen.json is not None
    assert seen.json == json.loads(seen.body)


async def test_a_used_up_script_says_so() -> None:
    async with MockLLM([]) as server:
        with pytest.raises(Overloaded, match="used up"):
            await ask(server)


async def test_the_split_of_the_bytes_does_not_change_the_answer() -> None:
    async with MockLLM([say("北京🌧 ok").split(1), say("北京🌧 ok").split(7, pause_s=0.001)]) as server:
        assert (await ask(server)).text == (await ask(server)).text == "北京🌧 ok"


async def test_a_dropped_connection_a_stall_and_an_error_are_what_they_look_like() -> None:
    steps = [say("a b c d").drop(150), error(429, {"error": {"message": "slow"}}, headers={"retry-after": "3"})]
    async with MockLLM(steps) as server:
        with pytest.raises((StreamBroken, ConnectionFailed)):
            await ask(server)
        with pytest.raises(RateLimited) as caught:
            await ask(server)
        assert caught.value.retry_after_s == 3
    body = b'data: {"choices":[{"delta":{"content":"x"}}]}\n\n'
    for silent in (say("a b c d").stall(150), raw(body).stall(len(body)), say("a b c d").drop(300).stall(100)):
        async with MockLLM([silent]) as server:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await ask(server)
    async with MockLLM([say("a b c d").stall(300).drop(100)]) as server:
        with pytest.raises((StreamBroken, ConnectionFailed)):
            await ask(server)


async def test_a_fault_of_the_script_is_told_to_its_author() -> None:
    def script(request: object) -> Reply:
        raise KeyError("my mistake")

    async with MockLLM(script) as server:
        with pytest.raises(Overloaded, match="my mistake"):
            await ask(server)


async def test_exact_bytes_are_sent_as_they_stand() -> None:
    body = b'data: {"choices":[{"delta":{"content":"raw"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    async with MockLLM([raw(body)]) as server:
        assert (await ask(server)).text == "raw"


async def test_a_function_may_be_the_script() -> None:
    async with MockLLM(lambda request: say(str((request.json or {})["model"])).delay(0.001)) as server:
        assert (await ask(server, model="named")).text == "named"


async def test_the_models_name_says_what_to_answer(by_name: MockLLM) -> None:
    assert (await ask(by_name, model="vendor/mock-plain-3-t1")).text == "lorem ipsum dolor "
    assert [c.arguments for c in (await ask(by_name, model="mock-tools-2", tools=True)).calls] == [{"n": 0, "s": "v0"}]
    assert len((await ask(by_name, model="mock-parallel-4", tools=True)).calls) == 4
    assert (await ask(by_name, model="mock-tools-2")).text == "done"
    assert len((await ask(by_name, model="other")).text.split()) == 16


async def test_other_routes_and_bodies_are_refused(by_name: MockLLM) -> None:
    async def fetch(text: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", by_name.port)
        writer.write(text)
        answer = await reader.readuntil(b"0\r\n\r\n")
        writer.close()
        await writer.wait_closed()
        return answer

    reader, writer = await asyncio.open_connection("127.0.0.1", by_name.port)
    writer.write(b"no http\r\n\r\n")
    assert b" 400 " in await reader.read()
    writer.close()
    await writer.wait_closed()
    assert b'"mock-plain-16"' in await fetch(b"GET /v1/models HTTP/1.1\r\n\r\n")
    assert b" 404 " in await fetch(b"GET /nothing HTTP/1.1\r\n\r\n")
    assert b" 400 " in await fetch(b"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: 2\r\n\r\n[]")
    assert b" 400 " in await fetch(b"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: 1\r\n\r\n{")


def test_a_step_of_a_file_is_one_of_four_kinds() -> None:
    assert step_of({"say": "x", "every": 3}) == Reply(text="x", every=3)
    assert step_of({"call": "f", "arguments": {"a": 1}}).tools == (("f", '{"a": 1}', "call_f_0"),)
    assert step_of({"error": 500, "body": {}}).status == 500
    assert step_of({"raw": "x", "status": 201}).body == b"x"
    with pytest.raises(ValueError, match="dance"):
        step_of({"dance": 1})


def test_it_runs_by_hand_and_names_a_bad_script(tmp_path: Path) -> None:
    script, port_file = tmp_path / "s.json", tmp_path / "port"
    script.write_text('[{"say": "x"}]')
    command = [sys.executable, "-m", "ferrule.testing.mock_llm", "--port-file", str(port_file), "--script", str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address == f"http://127.0.0.1:{port_file.read_text()}/v1"
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
    script.write_text("{")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "s.json" in done.stderr
