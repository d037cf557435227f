"""The scripted server as clients of any kind meet it: bytes on a socket, and a program started by hand."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ferrule.testing.mock_llm import MockLLM, raw, say
from ferrule.testing.mock_llm.steps import script_of

COMMAND = [sys.executable, "-m", "ferrule.testing.mock_llm"]
ASKED = json.dumps({"model": "m", "messages": []}).encode()


def posted(fields: str, body: bytes) -> bytes:
    return f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n{fields}\r\n\r\n".encode() + body


async def answer(reader: asyncio.StreamReader) -> bytes:
    """Read one answer up to its last chunk."""
    return await asyncio.wait_for(reader.readuntil(b"\r\n0\r\n\r\n"), 5)


async def test_one_connection_carries_many_requests() -> None:
    async with MockLLM([say("one"), say("two"), say("three")]) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        for word in (b"one", b"two", b"three"):
            writer.write(posted(f"Content-Length: {len(ASKED)}", ASKED))
            assert word in await answer(reader)
        writer.close()
    assert len(server.requests) == 3


async def test_a_body_in_chunks_is_read_and_the_connection_goes_on() -> None:
    chunks = b"".join(b"%x;note=1\r\n%b\r\n" % (len(part), part) for part in (ASKED[:5], ASKED[5:]))
    async with MockLLM([say("one"), say("two")]) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        for word in (b"one", b"two"):
            writer.write(posted("Transfer-Encoding: Chunked", chunks + b"0\r\nTrailer: x\r\n\r\n"))
            assert word in await answer(reader)
        writer.close()
    assert [r.body for r in server.requests] == [ASKED, ASKED]
    assert server.requests[0].json == {"model": "m", "messages": []}


@pytest.mark.parametrize("body", [b"zz\r\n", b"-1\r\n", b"3\r\nabcd\r\n"], ids=["size", "negative", "end"])
async def test_broken_chunks_are_refused(body: bytes) -> None:
    async with MockLLM([say("one")]) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(posted("Transfer-Encoding: chunked", body))
        assert b"400 Bad Request" in await asyncio.wait_for(reader.read(), 5)
        writer.close()


async def test_a_stall_of_some_seconds_goes_on_where_it_stopped() -> None:
    async with MockLLM([raw(b"0123456789").stall(4, seconds=0.15).split(3)]) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(posted(f"Content-Length: {len(ASKED)}", ASKED))
        await asyncio.wait_for(reader.readuntil(b"1\r\n3\r\n"), 5)
        start = time.monotonic()
        assert await answer(reader) == b"3\r\n456\r\n3\r\n789\r\n0\r\n\r\n"
        assert time.monotonic() - start > 0.1
        writer.close()


async def test_a_stall_may_end_in_a_dropped_connection() -> None:
    async with MockLLM([raw(b"0123456789").drop(6).stall(4, seconds=0.01)]) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(posted(f"Content-Length: {len(ASKED)}", ASKED))
        assert (await asyncio.wait_for(reader.read(), 5)).endswith(b"4\r\n0123\r\n2\r\n45\r\n")
        writer.close()


@pytest.mark.parametrize(
    ("script", "named"),
    [
        ('{"say": "x"}', "a list of steps"),
        ("[3]", "step 1"),
        ('[{"say": "x"}, {"dance": 1}]', "step 2: a step has say, call, error or raw, not dance"),
        ('[{"say": 3}]', "step 1: say is text"),
        ('[{"error": null}]', "step 1: error is a whole number"),
        ('[{"error": 429, "body": 3}]', "step 1: body is an object"),
        ('[{"error": 429, "headers": {"retry-after": 1}}]', "step 1: headers is an object of texts"),
        ('[{"call": "f", "arguments": [1]}]', "step 1: arguments is an object or text"),
        ('[{"say": "x", "every": "3"}]', "step 1: every is a whole number"),
        ('[{"say": "x", "stall_after": -1}]', "step 1: stall_after is a whole number"),
        ('[{"say": "x", "pause_s": true}]', "step 1: pause_s is a number of seconds"),
        ('[{"say": "x", "evry": 3}]', "step 1: nobody knows evry"),
        ("[" * 100_000, "too deep"),
    ],
)
def test_a_script_of_the_wrong_shape_names_the_step_and_the_fault(script: str, named: str) -> None:
    with pytest.raises(ValueError, match=re.escape(named)):
        script_of(script)


@pytest.mark.parametrize(("script", "named"), [(b"[3]", "step 1"), (b'["\xff"]', "s.json")], ids=["step", "text"])
def test_a_script_that_cannot_be_used_is_one_clear_message(tmp_path: Path, script: bytes, named: str) -> None:
    path = tmp_path / "s.json"
    path.write_bytes(script)
    done = subprocess.run([*COMMAND, "--script", str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert named in done.stderr
    assert "Traceback" not in done.stderr
    assert "s.json" in done.stderr


def test_a_port_that_is_taken_or_none_is_one_clear_message(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = str(other.getsockname()[1])
        for port, named in ((taken, f"--port {taken}: "), ("70000", "70000")):
            done = subprocess.run([*COMMAND, "--port", port], capture_output=True, text=True, check=False)
            assert done.returncode == 2
            assert named in done.stderr
            assert "Traceback" not in done.stderr
    done = subprocess.run(
        [*COMMAND, "--port-file", str(tmp_path / "no" / "port")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "--port-file" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_port_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    port_file, before = tmp_path / "port", tmp_path / "before"
    port_file.write_text("stale")
    before.hardlink_to(port_file)
    with subprocess.Popen([*COMMAND, "--port-file", str(port_file)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == f"http://127.0.0.1:{port_file.read_text()}/v1"
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
    assert before.read_text() == "stale"  # the old file was not written into
    assert sorted(p.name for p in tmp_path.iterdir()) == ["before", "port"]
