"""Going on in a session: after a crash, in a copy, by the beginning of an id."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path

from ferrule.core.history import NO_RESULT
from ferrule.core.system_clock import RandomIds, SystemClock
from ferrule.ports.session import SessionFacts, SessionKey
from ferrule.storage.sessions import open_sessions
from ferrule.testing.contracts.session import kept, said
from ferrule.testing.mock_llm import MockLLM, call, say
from tests.cli.test_program import place_for, start, typed
from tests.effects._program import Place

LAW = """
[risk_profiles.free]
level = "full"
allowed_commands = ["tail"]
[agents.default]
provider = "openai.main"
risk_profile = "free"
[agents.research]
provider = "openai.main"
"""


async def killed_in_a_call(place: Place) -> None:
    """Start a turn whose call goes on for ever, and kill the program in the middle of it."""
    log = place.folder / "log"
    log.write_text("begun\n")
    process = await start(place, "run", "--json", "watch the log")
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    async with asyncio.timeout(40):
        while json.loads(await process.stdout.readline())["type"] != "tool.output":
            pass
    process.send_signal(signal.SIGKILL)
    await process.wait()
    log.write_text("begun\nmore, which ends what still writes to the dead program\n")


async def only_session(place: Place) -> SessionFacts:
    async with open_sessions(place.home / "state" / "sessions.db", SystemClock(), RandomIds()) as store:
        (facts,) = await store.list()
        return facts


async def test_after_a_kill_the_person_and_the_model_are_told_and_nothing_runs_again(tmp_path: Path) -> None:
    answers = [call("shell", {"command": "tail -n +1 -f log"}), say("I see."), say("All clear.")]
    async with MockLLM(answers) as server:
        place = place_for(tmp_path, server, LAW)
        await killed_in_a_call(place)
        listed = await only_session(place)
        code, out, err = await typed(place, "what happened?\nand now?\n", "chat", "--session", listed.id[:-2])
        sent = [(request.json or {})["messages"] for request in server.requests]
    assert (code, "Traceback" in err) == (0, False), err
    assert 'interrupted earlier, outcome unknown, not run again: shell {"command":"tail -n +1 -f log"}' in out
    assert out.index("not run again: shell") < out.index("whether they took effect is unknown") < out.index("I see.")
    assert out.count("whether they took effect is unknown") == 1
    results = [message["content"] for message in sent[1] if message["role"] == "tool"]
    assert len(results) == 1
    assert NO_RESULT in results[0]
    assert [len(messages) - len(sent[0]) for messages in sent] == [0, 3, 5]
    async with open_sessions(place.home / "state" / "sessions.db", SystemClock(), RandomIds()) as store:
        stored = await store.read(listed.id)
    assert [message.code for message in stored if message.role == "tool"] == ["tool.unknown_outcome"]


async def test_after_a_kill_a_script_is_told_by_a_notice(tmp_path: Path) -> None:
    async with MockLLM([call("shell", {"command": "tail -n +1 -f log"}), say("I see.")]) as server:
        place = place_for(tmp_path, server, LAW)
        await killed_in_a_call(place)
        listed = await only_session(place)
        ran = await place.run("run", "--json", "--session", listed.id, "go on")
    assert [(event["code"], "1 tool call" in str(event["text"])) for event in ran.events("notice")] == [
        ("tool.unknown_outcome", True)
    ]
    assert [event["type"] for event in map(json.loads, ran.out.splitlines())].count("tool.started") == 0


async def test_a_session_in_use_is_continued_in_a_copy(tmp_path: Path) -> None:
    async with MockLLM([say("copied")]) as server:
        place = place_for(tmp_path, server, LAW)
        (place.home / "state").mkdir(mode=0o700)
        async with open_sessions(place.home / "state" / "sessions.db", SystemClock(), RandomIds()) as store:
            one = await kept(store, said("first"))
            held = await store.open(SessionKey(agent="default", id=one))
            refused = await place.run("run", "--session", one, "go on")
            copied = await place.run("run", "--session", one, "--fork", "go on")
            assert (refused.code, "--fork" in refused.err, "in use by process" in refused.err) == (1, True, True)
            assert (copied.code, copied.out) == (0, "copied\n")
            assert [message.text for message in held.messages] == ["first"]
            copy = next(facts.id for facts in await store.list() if facts.id != one)
            assert [message.text for message in await store.read(copy)] == ["first", "go on", "copied"]
            await held.close()


async def test_a_session_of_another_agent_is_only_continued_in_a_copy(tmp_path: Path) -> None:
    async with MockLLM([say("one"), say("two")]) as server:
        place = place_for(tmp_path, server, LAW)
        await place.run("run", "--agent", "research", "a question")
        listed = await only_session(place)
        refused = await place.run("run", "--session", listed.id, "go on")
        assert (refused.code, "--agent research" in refused.err) == (2, True)
        assert (await place.run("run", "--session", listed.id, "--fork", "go on")).out == "two\n"
        async with open_sessions(place.home / "state" / "sessions.db", SystemClock(), RandomIds()) as store:
            assert [facts.agent for facts in await store.list()] == ["default", "research"]
