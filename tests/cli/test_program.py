"""The program as people start it, against a scripted model server."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import signal
import sys
from pathlib import Path

import pytest

from ferrule.cli.front import COMMANDS, SUMMARIES, front
from ferrule.testing.mock_llm import MockLLM, Reply, call, error, say
from tests.effects._program import Place


def place_for(tmp_path: Path, server: MockLLM | None, more: str = "") -> Place:
    place = Place(tmp_path)
    provider = f'[providers.openai.main]\nmodel = "m"\nbase_url = "{server.base_url}"\n' if server else ""
    place.write(f"{more}\n{provider}")
    return place


async def start(place: Place, *arguments: str, **more: object) -> asyncio.subprocess.Process:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI", "FERRULE"))}
    streams: dict[str, object] = {"stdin": asyncio.subprocess.PIPE, "stdout": asyncio.subprocess.PIPE}
    environ = {**kept, "FERRULE_HOME": str(place.home), "TERM": "xterm", "COLUMNS": "80"}
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ferrule", *arguments),
        cwd=place.folder,
        env=environ,
        stderr=asyncio.subprocess.PIPE,
        **{**streams, **more},  # type: ignore[arg-type]  # streams of a process
    )


async def typed(place: Place, text: str, *arguments: str) -> tuple[int, str, str]:
    process = await start(place, *arguments)
    out, err = await asyncio.wait_for(process.communicate(text.encode()), 40)
    return process.returncode or 0, out.decode(), err.decode()


async def test_a_message_comes_from_the_argument_from_standard_input_or_both(tmp_path: Path) -> None:
    async with MockLLM([say("one"), say("two"), say("three")]) as server:
        place = place_for(tmp_path, server)
        assert (await place.run("run", "hello")).out == "one\n"
        assert (await typed(place, "piped\n", "run"))[1] == "two\n"
        assert (await typed(place, "piped\n", "run", "explain"))[1] == "three\n"
        asked = [(r.json or {})["messages"][-1]["content"] for r in server.requests]
    assert asked == ["hello", "piped", "explain\n\npiped"]
    empty = await place.run("run")
    assert (empty.code, "no message" in empty.err) == (2, True)


@pytest.mark.parametrize(
    ("replies", "code", "words"),
    [
        ([say("fine")], 0, ""),
        ([error(401, {"error": {"message": "bad key"}})], 1, "401"),
        ([call("shell", {"command": "rm -r x"}), say("I may not.")], 3, "approval.nobody"),
        ([call("list_directory", {}) for _ in range(2)], 4, "limit"),
    ],
)
async def test_the_exit_code_says_how_it_ended(tmp_path: Path, replies: list[Reply], code: int, words: str) -> None:
    async with MockLLM(replies) as server:
        place = place_for(tmp_path, server, "[runtime_profiles.default]\nmax_rounds = 2\n")
        ran = await place.run("run", "go")
    assert (ran.code, words in ran.err) == (code, True), ran.err
    assert "Traceback" not in ran.err


async def test_events_are_json_lines(tmp_path: Path) -> None:
    async with MockLLM([call("list_directory", {}), say("done")]) as server:
        ran = await place_for(tmp_path, server).run("run", "--json", "go")
    kinds = [json.loads(line)["type"] for line in ran.out.splitlines()]
    assert (kinds[0], kinds[-1], "tool.finished" in kinds) == ("turn.started", "turn.finished", True)


async def test_an_interrupt_ends_with_130_and_the_conversation_goes_on_later(tmp_path: Path) -> None:
    async with MockLLM([say("begun " * 20).stall(900), say("later")]) as server:
        place = place_for(tmp_path, server)
        process = await start(place, "run", "first question")
        assert process.stdin is not None
        process.stdin.close()
        assert process.stdout is not None
        await asyncio.wait_for(process.stdout.readexactly(1), 40)
        process.send_signal(signal.SIGINT)
        _, err = await asyncio.wait_for(process.communicate(), 20)
        assert (process.returncode, "Traceback" in err.decode()) == (130, False), err.decode()
        listed = json.loads((await place.run("sessions", "list", "--json")).out)
        assert [facts["title"] for facts in listed] == ["first question"]
        went_on = await place.run("run", "--session", listed[0]["id"], "second")
        assert went_on.out == "later\n"
        shown = (await place.run("sessions", "show", listed[0]["id"])).out
    assert "first question" in shown
    assert "second" in shown
    assert (await place.run("sessions", "show", "none")).code == 1


async def test_a_chat_in_a_pipe_answers_and_obeys_its_slashes(tmp_path: Path) -> None:
    async with MockLLM([say("hello there"), error(400, {"error": {"message": "no"}})]) as server:
        place = place_for(tmp_path, server)
        (place.folder / "a.txt").write_text("content of a")
        lines = "/help\n/tools\n/dance\n\n/ls\n/read a.txt\n/run rm a.txt\nn\nhi\nagain\n/quit\n"
        code, out, err = await typed(place, lines, "chat")
    assert (code, "Traceback" in err) == (0, False), err
    for words in ("/read PATH", "file_read", "/dance", "content of a", "the person said no", "hello there", "failed"):
        assert words in out, words
    assert (place.folder / "a.txt").exists()
    async with MockLLM([say("x")]) as server:
        place = place_for(tmp_path, server)
        assert (await typed(place, "hi\n", "chat", "--session", "none"))[0] == 1
        kept = json.loads((await place.run("sessions", "list", "--json")).out)[0]["id"]
        code, out, _ = await typed(place, "hi\n", "chat", "--session", kept, "--fork")
        assert (code, kept in out) == (0, False)


async def test_a_chat_on_a_terminal_asks_and_stops_an_answer(tmp_path: Path) -> None:
    replies = [
        call("file_write", {"path": "b.txt", "content": "x"}),
        say("written"),
        say("begun " * 20).stall(900),
        say("on"),
    ]
    async with MockLLM(replies) as server:
        place = place_for(tmp_path, server)
        ours, theirs = pty.openpty()
        process = await start(place, "chat", stdin=theirs, stdout=theirs)
        os.close(theirs)
        seen = ""

        async def until(words: str) -> None:
            nonlocal seen
            async with asyncio.timeout(25):
                while words not in seen:
                    seen += (await asyncio.to_thread(os.read, ours, 4096)).decode("utf-8", "replace")
            seen = seen.rpartition(words)[2]

        async def write(text: bytes) -> None:
            await asyncio.to_thread(os.write, ours, text)

        await until("you>")
        await write(b"write it\r")
        await until("Allow?")
        await write(b"y\r")
        await until("written")
        await until("you>")
        await write(b"talk\r")
        await until("begun")
        process.send_signal(signal.SIGINT)
        await until("you>")
        await write(b"go on\r")
        await until("on")
        await until("you>")
        await write(b"/quit\r")
        await until("to go on")
        assert await asyncio.wait_for(process.wait(), 20) == 0
        os.close(ours)
    assert (place.folder / "b.txt").read_text() == "x"


async def test_without_a_terminal_a_key_of_the_environment_is_used_but_no_agreement_is_remembered(
    tmp_path: Path,
) -> None:
    async with MockLLM([say("one"), say("two")]) as server:
        place = place_for(tmp_path, None)
        environ = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "canary-key"}
        first = await place.run("run", "--yes", "hi", environ=environ)
        second = await place.run("run", "hi", environ=environ)
        assert (server.requests[-1].json or {})["model"] == "mock-plain-16"
    assert (first.out, second.out) == ("one\n", "two\n")
    assert "found OPENAI_API_KEY" in first.err
    assert "found OPENAI_API_KEY" in second.err
    assert not (place.home / "state" / "agreed").exists()
    assert "canary-key" not in first.err + second.err


async def test_doctor_finds_what_is_wrong_and_how_to_mend_it(tmp_path: Path) -> None:
    place = place_for(tmp_path, None)
    fine = await place.run("doctor")
    assert (fine.code, "✓ config" in fine.out, "unconfined" in fine.out) == (0, True, True)
    place.write('[agents.default]\nrisk_profil = "full"\n')
    broken = await place.run("doctor", "--json")
    found = {finding["topic"]: finding for finding in json.loads(broken.out)}
    assert (broken.code, found["config"]["state"]) == (1, "error")
    place.write('[providers.openai.main]\nmodel = "m"\napi_key = { env = "NOT_SET" }\n')
    unset = await place.run("doctor")
    assert (unset.code, "NOT_SET" in unset.out) == (1, True)
    (place.home / "state").mkdir(exist_ok=True)
    (place.home / "state" / "sessions.db").write_text("no database")
    place.write("")
    assert "✗ store" in (await place.run("doctor")).out


async def test_tools_and_sessions_are_listed_also_as_json(tmp_path: Path) -> None:
    place = place_for(tmp_path, None)
    assert "no sessions yet" in (await place.run("sessions")).out
    assert "file_read" in (await place.run("tools", "list")).out
    listed = json.loads((await place.run("tools", "list", "--json")).out)
    assert {"name", "summary"} == set(listed[0])
    async with MockLLM([say("x")]) as server:
        place = place_for(tmp_path, server)
        await place.run("run", "what is it")
        assert "what is it" in (await place.run("sessions")).out
        one = json.loads((await place.run("sessions", "list", "--json")).out)[0]["id"]
        assert json.loads((await place.run("sessions", "show", one, "--json")).out)[1]["text"] == "x"


def test_the_front_door_knows_its_commands_and_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert set(COMMANDS) == set(SUMMARIES)
    assert front([]) == front(["--help"]) == 0
    assert "ferrule chat" in capsys.readouterr().out
    assert front(["--version"]) == 0
    assert front(["chta"]) == 2
    assert "'chat'" in capsys.readouterr().err
    assert front(["zzz"]) == 2
    assert "--help" in capsys.readouterr().err
    assert front(["run", "--no-such-option"]) == 2
    assert front(["config", "--help"]) == 0
