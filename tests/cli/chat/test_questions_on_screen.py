"""Questions that are explained or answered with other arguments, progress, and the plain mode."""

from __future__ import annotations

from pathlib import Path

from ferrule.testing.mock_llm import MockLLM, call, say
from tests.cli._program import on_terminal, place_for


async def test_changed_arguments_are_checked_judged_again_and_are_what_runs(tmp_path: Path) -> None:
    async with MockLLM([call("file_write", {"path": "b.txt", "content": "old"}), say("done")]) as server:
        place = place_for(tmp_path, server)
        async with on_terminal(place, "chat", columns=100) as screen:
            await screen.until("you>")
            await screen.type("go\r")
            await screen.until("Allow?")
            await screen.type("x\r")
            await screen.until("asked by the rule", "yes: this call", "always:", "Allow?")
            await screen.type("e\r")
            await screen.until("arguments as JSON", "edit>")
            await screen.type('\x01\x0b{"path": 7\r')
            await screen.until("no JSON", "edit>")
            await screen.type('\x01\x0b{"path": 7}\r')
            await screen.until("content", "edit>")
            await screen.type('\x01\x0b{"path": "c.txt", "content": "new"}\r')
            await screen.until("c.txt", "Allow?")
            assert list(place.folder.iterdir()) == []
            await screen.type("y\r")
            await screen.until("done", "you>")
        assert {path.name: path.read_text() for path in place.folder.iterdir()} == {"c.txt": "new"}


async def test_an_edit_that_the_rules_deny_is_denied(tmp_path: Path) -> None:
    async with MockLLM([call("file_write", {"path": "b.txt", "content": "old"}), say("done")]) as server:
        place = place_for(tmp_path, server)
        async with on_terminal(place, "chat", columns=100) as screen:
            await screen.until("you>")
            await screen.type("go\r")
            await screen.until("Allow?")
            await screen.type("e\r")
            await screen.until("edit>")
            await screen.type('\x01\x0b{"path": "../out.txt", "content": "new"}\r')
            await screen.until("policy.denied", "done", "you>")
        assert not (place.folder.parent / "out.txt").exists()


async def test_a_long_tool_shows_its_time_within_two_seconds_and_not_that_of_the_question(tmp_path: Path) -> None:
    async with MockLLM([call("shell", {"command": "sleep 3"}), say("rested")]) as server:
        async with on_terminal(place_for(tmp_path, server), "chat") as screen:
            await screen.until("you>")
            await screen.type("rest\r")
            await screen.until("Allow?")
            await screen.type("y\r")
            await screen.until("shell runs, 1 s", "shell runs, 2 s", "✓", "rested", "you>")


async def test_a_plain_chat_uses_words_and_overwrites_nothing(tmp_path: Path) -> None:
    async with MockLLM([call("file_write", {"path": "b.txt", "content": "x\n"}), say("# It is\n\ndone")]) as server:
        async with on_terminal(place_for(tmp_path, server), "chat", "--plain", columns=40) as screen:
            await screen.until("you>")
            await screen.type("go\r")
            await screen.until("tool, with a question:", "file_write", "Allow?")
            await screen.type("y\r")
            await screen.until("done:", "It is", "unconfined", "you>")
            await screen.type("/quit\r")
            assert await screen.end() == 0
        assert [sign for sign in "\x1b●✓✗?" if sign in screen.raw.replace("Allow?", "")] == []
