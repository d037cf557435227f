"""The chat on a terminal: a no is a no, and a typed Ctrl-C stops the answer and not the chat."""

from __future__ import annotations

from pathlib import Path

from ferrule.testing.mock_llm import MockLLM, call, say
from tests.cli._program import asked, on_terminal, place_for


async def test_a_no_to_the_key_sends_nothing_and_is_asked_again(tmp_path: Path) -> None:
    async with MockLLM([]) as server:
        place = place_for(tmp_path, None)
        environ = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "canary-key"}
        for _ in range(2):
            async with on_terminal(place, "chat", environ=environ) as screen:
                await screen.until("Use it?")
                await screen.type("n\r")
                await screen.until("not using OPENAI_API_KEY", "fix:")
                assert await screen.end() == 2
        assert (server.requests, (place.home / "state" / "agreed").exists()) == ([], False)


async def test_a_person_is_asked_once_also_when_the_key_was_used_before_with_nobody_there(tmp_path: Path) -> None:
    async with MockLLM([say("alone"), say("together")]) as server:
        place = place_for(tmp_path, None)
        environ = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "canary-key"}
        assert (await place.run("run", "--yes", "hi", environ=environ)).out == "alone\n"
        before = len(server.requests)
        async with on_terminal(place, "chat", environ=environ) as screen:
            await screen.until("Use it?")
            assert len(server.requests) == before
            await screen.type("y\r")
            await screen.until("you>")
            await screen.type("hi\r")
            await screen.until("together", "you>")
        async with on_terminal(place, "chat", environ=environ) as screen:
            await screen.until("you>")
            assert "Use it?" not in screen.all


async def test_a_server_that_falls_silent_is_asked_again_before_the_person_sees_half_an_answer_as_whole(
    tmp_path: Path,
) -> None:
    async with MockLLM([say("begun " * 40).stall(1500), say("fine again")]) as server:
        place = place_for(tmp_path, server)
        config = place.home / "config.toml"
        config.write_text(f"{config.read_text()}idle_timeout_s = 0.5\n")
        async with on_terminal(place, "chat") as screen:
            await screen.until("you>")
            await screen.type("talk\r")
            await screen.until("begun", "asking again", "fine again", "you>")
            assert "Traceback" not in screen.all


async def test_a_chat_with_a_broken_config_names_each_fault_and_asks_for_nothing(tmp_path: Path) -> None:
    async with MockLLM([]) as server:
        place = place_for(tmp_path, server, '[agents.default]\nrisk_profil = "full"\n[nonsense]\na = 1\n')
        async with on_terminal(place, "chat") as screen:
            await screen.until("error:")
            assert await screen.end() == 2
            assert [word for word in ("risk_profil", "nonsense", "fix:") if word not in screen.all] == []
            assert "you>" not in screen.all


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
