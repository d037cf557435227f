"""The commands of a chat, typed into the program itself."""

from __future__ import annotations

import re
from pathlib import Path

import orjson

from ferrule.testing.mock_llm import MockLLM, call, error, say
from tests.cli._program import OnTerminal, holds, on_terminal, place_for, typed


async def enter(screen: OnTerminal, line: str, *words: str) -> str:
    """Type a line, and wait for words and then for the prompt."""
    await screen.type(f"{line}\r")
    return await screen.until(*words, "you>")


async def test_sessions_are_left_gone_back_to_taken_back_and_written_out(tmp_path: Path) -> None:
    async with MockLLM([say("first answer"), say("second answer"), say("other answer")]) as server:
        place = place_for(tmp_path, server)
        async with on_terminal(place, "chat", columns=100) as screen:
            await screen.until("you>")
            await enter(screen, "/undo", "nothing was said yet", "fix:")
            await enter(screen, "/export a.md", "nothing was said yet")
            await enter(screen, "one", "first answer")
            await enter(screen, "two", "second answer")
            await enter(screen, "/undo x", "no number of turns")
            await enter(screen, "/undo 9", "error:")
            await enter(screen, "/undo", "took back 1 turn (2 messages)", "files")
            await enter(screen, "/redo", "brought back 1 turn")
            await enter(screen, "/export a.txt", "does not tell its form", ".md")
            await enter(screen, "/export none/a.md", "error:", "fix:")
            await enter(screen, "/export a.json", "wrote a.json")
            await enter(screen, "/export a.json", "is there already")
            left = re.search(r"/resume (ses_\w+)", await enter(screen, "/new", "a new session", "to go back"))
            assert left is not None
            await enter(screen, "three", "other answer")
            assert "one" in await enter(screen, "/resume", left[1], "goes on in one")
            await enter(screen, "/resume ses_nothing", "error:", "fix:")
            await enter(screen, f"/resume {left[1]}", "4 messages")
            await screen.type("/quit\r")
            assert await screen.end() == 0
        written = orjson.loads((place.folder / "a.json").read_bytes())
        assert [m["text"] for m in written["messages"]] == ["one", "first answer", "two", "second answer"]
        assert (place.folder / "a.json").stat().st_mode & 0o077 == 0


async def test_the_model_can_be_changed_and_a_server_that_lacks_it_is_heard(tmp_path: Path) -> None:
    message = {"message": "The model `big` does not exist", "code": "model_not_found"}
    refused = error(404, {"error": message})
    async with MockLLM([say("small answer"), refused, say("small again")]) as server:
        async with on_terminal(place_for(tmp_path, server), "chat", columns=100) as screen:
            await screen.until("you>")
            await enter(screen, "/cost", "no tokens")
            await enter(screen, "one", "small answer", "tokens in all")
            await enter(screen, "/model", "the model is m")
            await enter(screen, "/model two words", "no model's name")
            await enter(screen, "/model big", "big answers from now on", "default: big")
            await enter(screen, "two", "The model `big` does not exist", "fix:")
            await enter(screen, "/model m", "m answers from now on")
            await enter(screen, "three", "small again")
            told = await enter(screen, "/cost", "in all")
            assert "m: 2 answers" in told
        models = [orjson.loads(request.body)["model"] for request in server.requests]
        assert models == ["m", "big", "m"]


async def test_the_rules_the_tools_and_mistakes_are_told(tmp_path: Path) -> None:
    async with MockLLM([]) as server:
        async with on_terminal(place_for(tmp_path, server), "chat", columns=100) as screen:
            await screen.until("you>")
            await enter(screen, "/policy", "level: supervised, unconfined", "works in:", "tool calls: 200")
            await enter(screen, "/tools", "file_read", "shell")
            await enter(screen, "/polcy", "no command /polcy", "did you mean /policy?")
            await enter(screen, "/new now", "takes no argument")
            await enter(screen, "/help", "/resume [ID]", "Alt-Enter")


async def test_the_commands_work_in_a_pipe_too(tmp_path: Path) -> None:
    async with MockLLM([say("an answer")]) as server:
        ran = await typed(place_for(tmp_path, server), "hi\n/undo\n/redo\n/cost\n/policy\n/nothing\n", "chat")
    for words in (
        "an answer",
        "took back 1 turn",
        "brought back 1 turn",
        "m: 1 answer",
        "level:",
        "no command /nothing",
    ):
        assert words in ran.out
    assert (ran.code, "Traceback" in ran.err, "\x1b" in ran.out) == (0, False, False)


async def test_several_lines_are_one_message_typed_or_pasted_and_no_answer_enters_the_history(tmp_path: Path) -> None:
    async with MockLLM([call("file_write", {"path": "b.txt", "content": "x"}), say("done"), say("more")]) as server:
        place = place_for(tmp_path, server)
        async with on_terminal(place, "chat") as screen:
            await screen.until("you>")
            await screen.type("first\x1b\rsecond\r")
            await screen.until("Allow?")
            await screen.type("y\r")
            await screen.until("done", "you>")
            await screen.type(b"\x1b[200~a\r\nb\nc\x1b[201~\r")
            await screen.until("more", "you>")
            await screen.type("\x04")
            assert await screen.end() == 0
        said = [orjson.loads(request.body)["messages"][-1]["content"] for request in server.requests]
        assert (said[0], said[2]) == ("first\nsecond", "a\nb\nc")
        history = place.home / "state" / "chat_history"
        assert history.stat().st_mode & 0o077 == 0
        assert [line for line in history.read_text().split("\n") if line.startswith("+")] == [
            *("+first", "+second", "+a", "+b", "+c")
        ]


async def test_a_paste_of_five_megabytes_is_refused_in_words_and_the_chat_goes_on(tmp_path: Path) -> None:
    async with MockLLM([say("fine")]) as server:
        async with on_terminal(place_for(tmp_path, server), "chat") as screen:
            await screen.until("you>")
            await screen.type(b"\x1b[200~" + b"x" * 5_242_880 + b"\x1b[201~")
            await screen.until("5,242,880 characters", "nothing was sent", "put it into a file", "you>")
            await enter(screen, "hi", "fine")
        assert len(server.requests) == 1


async def test_tab_completes_a_command_a_session_and_a_file(tmp_path: Path) -> None:
    async with MockLLM([say("an answer")]) as server:
        place = place_for(tmp_path, server)
        (place.folder / "notes.txt").write_text("what is noted\n")
        async with on_terminal(place, "chat") as screen:
            await screen.until("you>")
            await enter(screen, "remember", "an answer")
            await enter(screen, "/new", "a new session")
            await screen.type("/rea\t")
            await screen.until("/read")
            await screen.type(" no\t")
            await screen.until("notes.txt")
            await screen.type("\r")
            await screen.until("what is noted", "you>")
            await screen.type("/resume ses\t")
            await screen.until("ses_")
            await screen.type("\r")
            await screen.until("2 messages", "you>")


async def test_a_terminal_that_goes_away_ends_the_chat_and_keeps_the_session(tmp_path: Path) -> None:
    async with MockLLM([say("kept")]) as server:
        place = place_for(tmp_path, server)
        async with on_terminal(place, "chat") as screen:
            await screen.until("you>")
            await enter(screen, "hi", "kept")
            screen.hang_up()
            assert await screen.end() in (1, 130)  # it may first notice the signal, or that nothing can be shown
        assert "hi" in (await place.run("sessions", "list")).out
        found = (await place.run("sessions", "list")).out.split()[0]
        assert "kept" in (await place.run("sessions", "show", found)).out
        await holds(lambda: screen.process.returncode is not None)
