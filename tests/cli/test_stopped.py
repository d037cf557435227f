"""What is stopped in the middle: children are dead, what was said is kept, the conversation goes on."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path

from ferrule.core.system_clock import RandomIds, SystemClock
from ferrule.storage.sessions import open_sessions
from ferrule.testing.mock_llm import MockLLM, call, say
from ferrule.types.messages import Message
from tests.cli._program import ended, holds, on_terminal, place_for, start
from tests.effects._program import Place

LAW = """
[risk_profiles.free]
level = "full"
allowed_commands = ["tail"]
[agents.default]
provider = "openai.main"
risk_profile = "free"
"""
ENDLESS = call("shell", {"command": "tail -n +1 -f log"})


def children(place: Place) -> set[int]:
    """Return the ids of the processes that show the test's log."""
    found = set()
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")
            if words[0].endswith(b"tail") and os.readlink(f"/proc/{number}/cwd") == str(place.folder):
                found.add(int(number))
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return found


async def kept(place: Place) -> tuple[str, list[Message]]:
    """Return the only session's id and its messages."""
    async with open_sessions(place.home / "state" / "sessions.db", SystemClock(), RandomIds()) as store:
        (facts,) = await store.list()
        return facts.id, list(await store.read(facts.id))


async def test_being_asked_to_end_kills_the_child_and_leaves_a_history_that_goes_on(tmp_path: Path) -> None:
    async with MockLLM([ENDLESS, say("later")]) as server:
        place = place_for(tmp_path, server, LAW)
        (place.folder / "log").write_text("it is up\n")
        process = await start(place, "run", "--json", "wait", stdin=asyncio.subprocess.DEVNULL)
        assert process.stdout is not None
        async with asyncio.timeout(40):
            while json.loads(await process.stdout.readline())["type"] != "tool.output":
                pass
        assert children(place)
        process.send_signal(signal.SIGTERM)
        ran = await ended(process)
        assert (ran.code, ran.err.count("cancelled"), "Traceback" in ran.err) == (130, 1, False), ran.err
        await holds(lambda: not children(place))
        one, messages = await kept(place)
        assert [message.role for message in messages] == ["user", "assistant", "tool"]
        assert (await place.run("run", "--session", one, "go on")).out == "later\n"


async def test_a_typed_ctrl_c_ends_a_running_tool_and_brings_the_prompt_back(tmp_path: Path) -> None:
    async with MockLLM([ENDLESS, say("later")]) as server:
        place = place_for(tmp_path, server, LAW)
        (place.folder / "log").write_text("it is up\n")
        async with on_terminal(place, "chat") as screen:
            await screen.until("you>")
            await screen.type("wait\r")
            await screen.until("it is up")
            assert children(place)
            await screen.type("\x03")
            await screen.until("stopped", "you>")
            await holds(lambda: not children(place))
            await screen.type("go on\r")
            await screen.until("later", "you>")
            await screen.type("\x04")
            assert await screen.end() == 0
            assert "Traceback" not in screen.all
        _, messages = await kept(place)
    assert [message.role for message in messages] == ["user", "assistant", "tool", "user", "assistant"]


async def test_ctrl_c_at_the_prompt_only_drops_the_line_and_ctrl_d_leaves_an_answer_cut_short_in_the_store(
    tmp_path: Path,
) -> None:
    async with MockLLM([say("begun " * 40).stall(1500)]) as server:
        place = place_for(tmp_path, server)
        async with on_terminal(place, "chat") as screen:
            await screen.until("you>")
            await screen.type("half a line\x03")
            await screen.until("half a line", "you>")
            await screen.type("talk\r")
            await screen.until("begun")
            await screen.type("\x03")
            await screen.until("stopped", "you>")
            await screen.type("\x03")
            await screen.until("you>")
            await screen.type("\x04")
            await screen.until("to go on: ferrule chat --session")
            assert await screen.end() == 0
            assert "Traceback" not in screen.all
        _, messages = await kept(place)
        assert len(server.requests) == 1
    assert messages[0].text == "talk"
    assert "begun" in messages[-1].text


async def test_the_second_chat_of_a_session_is_told_who_has_it_and_how_to_copy_it(tmp_path: Path) -> None:
    async with MockLLM([say("one"), say("two")]) as server:
        place = place_for(tmp_path, server)
        async with on_terminal(place, "chat") as first:
            await first.until("you>")
            await first.type("hi\r")
            await first.until("one", "you>")
            one, _ = await kept(place)
            async with on_terminal(place, "chat", "--session", one) as second:
                await second.until(f"in use by process {first.process.pid}", "--fork")
                assert await second.end() == 1
                assert "Traceback" not in second.all
            await first.type("again\r")
            await first.until("two", "you>")
