"""Streams that are closed, full, or lose their reader: a message or silence, the right exit code, never a traceback."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from ferrule.testing.mock_llm import MockLLM, say
from tests.cli._program import ended, in_shell, place_for, start

FULL = "standard output cannot be written to: No space left on device"
CLOSED = "standard output is closed"


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("ferrule chat <&-", 0, ""),
        ("ferrule run <&-", 2, "there is no message"),
        ("ferrule --help >&-", 2, CLOSED),
        ("ferrule run hi >&-", 2, CLOSED),
        ("ferrule chat 0<&- >&-", 2, CLOSED),
        ("ferrule run hi <&- >&- 2>&-", 2, ""),
        ("ferrule --version >/dev/full", 1, FULL),
        ("ferrule tools list >/dev/full", 1, FULL),
        ("ferrule config --help >/dev/full", 1, FULL),
        ("ferrule chat >/dev/full", 1, FULL),
        ("ferrule nope 2>/dev/full", 2, ""),
        ("set -o pipefail; ferrule config schema | :", 1, ""),
    ],
)
async def test_a_stream_that_cannot_be_used_is_told_once_and_asks_nobody(
    tmp_path: Path, line: str, code: int, words: str
) -> None:
    async with MockLLM([]) as server:
        ran = await in_shell(place_for(tmp_path, server), line)
    assert (ran.code, server.requests) == (code, []), ran.err
    assert ran.err.count("error: ") == (1 if words else 0), ran.err
    assert words in ran.err
    assert "Traceback" not in ran.err
    assert "Exception ignored" not in ran.err


async def test_closed_standard_error_does_not_become_the_number_of_the_database(tmp_path: Path) -> None:
    async with MockLLM([say("fine"), say("again")]) as server:
        place = place_for(tmp_path, server)
        ran = await in_shell(place, "ferrule run hi 2>&-")
        assert (ran.code, ran.out) == (0, "fine\n")
        assert (await in_shell(place, "ferrule run hi 2>/dev/full")).out == "again\n"
        assert (await place.run("sessions", "list", "--json")).out.count('"messages":2') == 2


async def test_an_answer_that_cannot_be_written_is_kept(tmp_path: Path) -> None:
    async with MockLLM([say("a precious answer " * 20)]) as server:
        place = place_for(tmp_path, server)
        ran = await in_shell(place, "ferrule run hi >/dev/full")
        assert (ran.code, FULL in ran.err, "ferrule sessions" in ran.err) == (1, True, True), ran.err
        kept = (
            await in_shell(place, 'ferrule sessions show "$(ferrule sessions list --json | grep -o "ses_[a-z0-9]*")"')
        ).out
    assert "hi" in kept
    assert "a precious" in kept


async def test_a_reader_that_leaves_early_is_no_disaster(tmp_path: Path) -> None:
    async with MockLLM([say("word " * 30_000)]) as server:
        place = place_for(tmp_path, server)
        process = await start(place, "run", "go")
        assert process.stdout is not None
        assert process.stdin is not None
        process.stdin.close()
        await process.stdout.readexactly(10)
        process.stdout._transport.close()  # type: ignore[attr-defined]  # close our end of the pipe, as `head` does
        assert process.stderr is not None
        err = (await asyncio.wait_for(process.stderr.read(), 30)).decode()
        assert await process.wait() == 1
    assert "Traceback" not in err
    assert "error" not in err


async def test_output_that_does_not_block_is_waited_for(tmp_path: Path) -> None:
    text = "word " * 40_000
    async with MockLLM([say(text)]) as server:
        place = place_for(tmp_path, server)
        ours, theirs = os.pipe()
        os.set_blocking(theirs, False)
        process = await start(place, "run", "go", stdin=asyncio.subprocess.DEVNULL, stdout=theirs)
        os.close(theirs)
        with os.fdopen(ours, "rb") as pipe:
            out = await asyncio.to_thread(pipe.read)
        ran = await ended(process)
    assert (ran.code, out.decode().strip() == text.strip()) == (0, True), ran.err


async def test_signs_that_the_encoding_lacks_are_written_as_escapes_and_json_stays_utf_8(tmp_path: Path) -> None:
    async with MockLLM([say("snow \N{SNOWFLAKE}"), say("rain \N{CLOUD WITH RAIN}")]) as server:
        place = place_for(tmp_path, server)
        latin = {"PYTHONIOENCODING": "latin-1"}
        assert (await in_shell(place, "ferrule run hi", latin)).out == "snow \\u2744\n"
        assert "\N{CLOUD WITH RAIN}" in (await in_shell(place, "ferrule run hi --json", latin)).out
