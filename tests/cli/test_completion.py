"""Completion, by the protocol that the printed script speaks with the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.testing.mock_llm import MockLLM, say
from tests.cli._program import ended, place_for, start
from tests.effects._program import Place


async def offered(place: Place, line: str, shell: str = "bash") -> list[str]:
    """Return what is offered for the last word of a line; it must not say anything else."""
    words = line.split(" ")
    asked = {"_FERRULE_COMPLETE": f"{shell}_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    ran = await ended(await start(place, environ=asked), b"")
    assert (ran.code, ran.err) == (0, "")
    return [answer.partition(",")[2] for answer in ran.out.splitlines() if answer]


async def test_commands_options_agents_and_sessions_are_offered(tmp_path: Path) -> None:
    async with MockLLM([say("x")]) as server:
        place = place_for(tmp_path, server, '[agents.default]\nprovider = "openai.main"\n[agents.research]\n')
        await place.run("run", "hi")
    assert await offered(place, "ferrule se") == ["secret", "sessions"]
    assert {"list", "show", "undo"} <= set(await offered(place, "ferrule sessions "))
    assert await offered(place, "ferrule chat --f") == ["--fork"]
    assert await offered(place, "ferrule chat --agent re") == ["research"]
    (one,) = await offered(place, "ferrule run --session ses")
    assert await offered(place, "ferrule sessions show ") == [one]


@pytest.mark.parametrize("line", ["ferrule chat --agent ", "ferrule run --session "])
async def test_a_broken_home_offers_nothing_and_says_nothing(tmp_path: Path, line: str) -> None:
    place = place_for(tmp_path, None)
    (place.home / "config.toml").write_text("= broken")
    assert await offered(place, line) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
async def test_the_script_asks_the_program_by_the_same_protocol(tmp_path: Path, shell: str) -> None:
    ran = await place_for(tmp_path, None).run("completion", shell)
    assert (ran.code, f"_FERRULE_COMPLETE={shell}_complete" in ran.out) == (0, True)


async def test_an_instruction_that_is_none_fails_without_words(tmp_path: Path) -> None:
    for word in ("tcsh_complete", "bash_dance", "bash_complete"):
        ran = await place_for(tmp_path, None).run("run", environ={"_FERRULE_COMPLETE": word})
        assert (ran.code, ran.out, ran.err) == (1, "", "")
