"""The chat on a terminal: a no is a no, and a typed Ctrl-C stops the answer and not the chat."""

from __future__ import annotations

from pathlib import Path

from ferrule.testing.mock_llm import MockLLM, call, say
from tests.cli._program import asked, on_terminal, place_for


async def test_a_no_to_the_key_sends_nothing_and_is_asked_again(tmp_path: Path) -> None:
    async with MockLLM([]) as server:
        place = place_for(tmp_path, None)
        environ = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "canary-key"}
        async with on_terminal(place, "chat", environ=environ) as screen:
            await screen.until("Use it?")
            await screen.type("n\r")
            await screen.until("not using OPENAI_API_KEY", "fix:")
            assert await screen.end() == 2
        assert (server.requests, (place.home / "state" / "agreed").exists()) == ([], False)


async def test_ctrl_c_at_a_question_or_after_one_stops_the_answer_and_the_prompt_comes_back(tmp_path: Path) -> None:
    write = {"path": "b.txt", "content": "x"}
    replies = [call("file_write", write), call("file_write", write), say("partial words here").stall(250)]
    async with MockLLM(replies) as server:
        async with on_terminal(place_for(tmp_path, server), "chat") as screen:
            await screen.until("you>")
            await screen.type("one\r")
            await screen.until("Allow?")
            await screen.type("\x03")
            await screen.until("stopped", "you>")
            await screen.type("two\r")
            await screen.until("Allow?")
            await screen.type("y\r")
            await asked(server, 3)
            await screen.type("\x03")
            await screen.until("stopped", "you>")
            await screen.type("\x04")
            assert await screen.end() == 0
            assert "Traceback" not in screen.all


async def test_what_was_typed_before_a_question_is_no_answer_to_it(tmp_path: Path) -> None:
    async with MockLLM([]) as server:
        place = place_for(tmp_path, server)
        async with on_terminal(place, "chat") as screen:
            await screen.until("you>")
            await screen.type("/run touch made\ry\ry\r")
            await screen.until("Allow?")
            await screen.type("n\r")
            await screen.until("the person said no", "you>")
            assert not (place.folder / "made").exists()
            await screen.type("/run touch made\r")
            await screen.until("Allow?")
            await screen.type("y\r")
            await screen.until("✓", "you>")
            assert (place.folder / "made").exists()
            await screen.type("\x04")
            assert await screen.end() == 0
