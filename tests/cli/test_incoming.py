"""Lines and whole texts from a pipe: in whatever pieces they come."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from ferrule.cli.incoming import Lines
from ferrule.testing.mock_llm import MockLLM, say
from tests.cli._program import ended, place_for, start, typed

PASTE = 5 * 1024 * 1024


def expected(data: bytes) -> list[bytes]:
    """Split as the rule says: a line ends with a line feed, perhaps behind a carriage return; the last may lack it."""
    pieces = data.split(b"\n")
    lines = pieces if pieces[-1] else pieces[:-1]
    return [line.removesuffix(b"\r") for line in lines]


async def lines_of(pieces: list[bytes]) -> list[bytes]:
    """Write each piece when the one before has been taken, and read all lines meanwhile."""
    ours, theirs = os.pipe()
    lines, found = Lines(ours), []

    async def write() -> None:
        for piece in pieces:
            os.write(theirs, piece)
            await asyncio.sleep(0)
        os.close(theirs)

    async with asyncio.TaskGroup() as group:
        group.create_task(write())
        try:
            while True:
                found.append(await lines.read())
        except EOFError:
            os.close(ours)
    return found


@given(st.lists(st.lists(st.sampled_from([b"a", b"\n", b"\r", b"\xc3", b"\xa9", b"\0"])).map(b"".join)))
def test_any_cut_of_the_bytes_gives_the_same_lines(pieces: list[bytes]) -> None:
    assert asyncio.run(lines_of(pieces)) == expected(b"".join(pieces))


async def test_a_paste_of_megabytes_is_one_message_in_a_chat_and_in_a_run(tmp_path: Path) -> None:
    async with MockLLM([say("one"), say("two"), say("three")]) as server:
        place = place_for(tmp_path, server)
        chat = await typed(place, "x" * PASTE + "\nnext\n", "chat")
        run = await typed(place, "y" * PASTE, "run")
        sizes = [len((request.json or {})["messages"][-1]["content"]) for request in server.requests]
    assert (chat.code, run.code, run.out) == (0, 0, "three\n"), chat.err + run.err
    assert sizes == [PASTE, 4, PASTE]


async def test_a_silent_pipe_is_spoken_of_once_and_then_waited_for(tmp_path: Path) -> None:
    async with MockLLM([say("fine")]) as server:
        process = await start(place_for(tmp_path, server), "run", "explain")
        assert process.stderr is not None
        told = await asyncio.wait_for(process.stderr.readline(), 40)
        assert told == b"waiting for the end of standard input; when there is none: </dev/null\n"
        ran = await ended(process, b"late")
        assert (server.requests[0].json or {})["messages"][-1]["content"] == "explain\n\nlate"
    assert (ran.code, ran.out, "waiting" in ran.err) == (0, "fine\n", False)
