"""``ferrule init`` as people start it."""

from __future__ import annotations

import asyncio
import os
import pty
import sys
from pathlib import Path

from ferrule.testing.mock_llm import MockLLM, say
from tests.effects._program import Place


def empty(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    place.folder.mkdir()
    return place


async def test_without_questions_the_first_thing_found_is_tested_written_and_answers(tmp_path: Path) -> None:
    place = empty(tmp_path)
    async with MockLLM([say("hello")], models=("one",)) as server:
        environ = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "canary-key-1"}
        first = await place.run("init", "--yes", environ=environ)
        assert (first.code, "found in OPENAI_API_KEY" in first.out) == (0, True), first.err
        answered = await place.run("run", "hi", environ={"OPENAI_API_KEY": "canary-key-1"})
        assert (answered.code, answered.out) == (0, "hello\n"), answered.err
        again = await place.run("init", "--yes", environ=environ)
    assert (again.code, "already" in again.err) == (2, True)
    assert "canary" not in (place.home / "config.toml").read_text()


async def test_nothing_is_written_when_the_test_fails_or_nobody_can_be_asked(tmp_path: Path) -> None:
    place = empty(tmp_path)
    down = await place.run("init", "--yes", environ={"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"})
    assert (down.code, "connection refused" in down.err, "fix:" in down.err) == (1, True, True)
    nobody = await place.run("init")
    assert (nobody.code, "--yes" in nobody.err) == (2, True)
    assert not (place.home / "config.toml").exists()


async def test_on_a_terminal_a_wrong_address_is_asked_again_and_a_typed_key_goes_into_the_vault(tmp_path: Path) -> None:
    place = empty(tmp_path)
    async with MockLLM([say("hello")], models=("one", "two")) as server:
        main, side = pty.openpty()
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI", "FERRULE"))}
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "ferrule", "init"),
            cwd=place.folder,
            env={**kept, "FERRULE_HOME": str(place.home), "TERM": "dumb"},
            stdin=side,
            stdout=side,
            stderr=side,
        )
        os.close(side)
        screen = Screen(main)
        last = await screen.until("Number")
        other = max(
            int(line.split()[0]) for line in last.splitlines() if line.split()[:1] and line.split()[0].isdigit()
        )
        for asked, typed in (
            ("Address", "http://127.0.0.1:1/v1"),
            ("Key", ""),
            ("connection refused", None),
            ("Number", str(other)),
            ("Address", server.base_url),
            ("Key", "canary-key-22"),
            ("Model", "two"),
            ("Rules", ""),
        ):
            if asked == "Address" and typed == "http://127.0.0.1:1/v1":
                screen.type(str(other))
            await screen.until(asked)
            if typed is not None:
                screen.type(typed)
        await screen.until("to begin")
        assert await asyncio.wait_for(process.wait(), 20) == 0
        os.close(main)
        answered = await place.run("run", "hi")
    assert (answered.code, answered.out) == (0, "hello\n"), answered.err
    assert "canary" not in screen.seen + (place.home / "config.toml").read_text()
    assert 'model = "two"' in (place.home / "config.toml").read_text()


class Screen:
    """The side of a terminal that a person sees."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._read = 0
        self.seen = ""

    def type(self, text: str) -> None:
        os.write(self._descriptor, text.encode() + b"\r")

    async def until(self, words: str) -> str:
        """Wait for words behind those that were waited for before; returns what came up to them."""
        async with asyncio.timeout(30):
            while (at := self.seen.find(words, self._read)) < 0:
                self.seen += (await asyncio.to_thread(os.read, self._descriptor, 4096)).decode()
        before, self._read = self.seen[self._read : at], at + len(words)
        return before
