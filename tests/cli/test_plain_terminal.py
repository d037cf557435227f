"""Terminals that are narrow, without colours, or dumb."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ferrule.testing.mock_llm import MockLLM, call, say
from tests.cli._program import on_terminal, place_for

COLOUR = re.compile(r"\x1b\[(?:[0-9]*;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[0-9]+)*m")
TALK = "# Heading\n\n" + "many words in one paragraph " * 6 + "\n\n- first\n- second\n\n```python\nx = 1\n```\n"


@pytest.mark.parametrize(
    ("environ", "forbidden"), [({"NO_COLOR": "1"}, COLOUR), ({"TERM": "dumb"}, re.compile("\x1b"))]
)
async def test_a_chat_without_colours_or_on_a_dumb_terminal_sends_none(
    tmp_path: Path, environ: dict[str, str], forbidden: re.Pattern[str]
) -> None:
    async with MockLLM([call("file_write", {"path": "b.txt", "content": "x\n"}), say(TALK)]) as server:
        async with on_terminal(place_for(tmp_path, server), "chat", environ=environ) as screen:
            await screen.until("you>")
            await screen.type("go\r")
            await screen.until("Allow?")
            await screen.type("y\r")
            await screen.until("Heading", "second", "x = 1", "you>")
            await screen.type("/quit\r")
            assert await screen.end() == 0
            assert forbidden.findall(screen.raw) == []


async def test_every_line_of_a_run_fits_a_narrow_terminal(tmp_path: Path) -> None:
    async with MockLLM([call("list_directory", {"path": "a" * 60}), say(TALK)]) as server:
        async with on_terminal(place_for(tmp_path, server), "run", "go", columns=40) as screen:
            await screen.until("Heading", "second", "x = 1")
            assert await screen.end() == 0
            lines = screen.all.replace("\r", "").split("\n")
    assert [line for line in lines if len(line.rstrip()) > 40] == []
