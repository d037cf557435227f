"""``ferrule sessions`` as people use it."""

from __future__ import annotations

import asyncio
import io
import json
import os
import pty
import stat
import subprocess
from collections.abc import AsyncIterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from ferrule.cli.front import front
from ferrule.core.system_clock import RandomIds, SystemClock
from ferrule.ports.session import SessionKey
from ferrule.storage.sessions import SqliteSessions, open_sessions
from ferrule.testing.contracts.session import answered, kept, said
from ferrule.types.messages import Message
from ferrule.types.tools import ToolCall
from tests.cli.test_program import place_for, start, typed
from tests.effects._program import Place, Ran

CALLS = (ToolCall(id="c1", name="shell", arguments={"command": "make"}),)
TALK = (
    said("What is in the budget?\nsecond line", id="msg_1"),
    Message(id="msg_2", role="assistant", text="Let me look", calls=CALLS, origin="model"),
    Message(id="msg_3", role="tool", call_id="c1", name="shell", text="made \x1b[31m``` it", is_error=True, code="x"),
    answered("Nothing.", id="msg_4"),
    said("昨晚我们讨论了预算表", id="msg_5"),
)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = place_for(tmp_path, None, '[agents.research]\nprovider = "local.x"\n[providers.local.x]\n')
    (place.home / "state").mkdir(mode=0o700)
    return place


@pytest.fixture
async def store(place: Place) -> AsyncIterator[SqliteSessions]:
    async with open_sessions(place.home / "state" / "sessions.db", SystemClock(), RandomIds()) as store:
        yield store


async def command(place: Place, *arguments: str) -> Ran:
    """Run ``ferrule sessions`` in this process, which spares the start of another one."""
    return await asyncio.to_thread(_here, place, arguments)


def _here(place: Place, arguments: tuple[str, ...]) -> Ran:
    before = os.environ.get("FERRULE_HOME")
    os.environ["FERRULE_HOME"] = str(place.home)
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = front(["sessions", *arguments])
    finally:
        del os.environ["FERRULE_HOME"]
        if before is not None:
            os.environ["FERRULE_HOME"] = before
    shown = [stream.buffer.getvalue().decode() for stream in (out, err)]
    return Ran(code=code, out=shown[0], err=shown[1])


async def fails(place: Place, *arguments: str) -> str:
    """Run a command that must fail with one clear message; returns it."""
    ran = await command(place, *arguments)
    assert ran.code in (1, 2)
    assert "  fix: " in ran.err or "(valid here: " in ran.err
    return ran.err


async def test_sessions_are_listed_with_their_first_line_also_as_json(place: Place, store: SqliteSessions) -> None:
    assert "no sessions yet" in (await command(place, "list")).out
    one = await kept(store, *TALK, key=SessionKey(agent="research"))
    two = await kept(store, said("bad \x1b]0;title\x07"))
    lines = (await command(place)).out.splitlines()
    assert [line.split()[0] for line in lines] == [two, one]
    assert "   5  research      What is in the budget?" in lines[1]
    assert "\x1b" not in lines[0]
    (facts,) = json.loads((await command(place, "list", "--json", "--agent", "research")).out)
    assert (facts["id"], facts["title"], facts["messages"]) == (one, "What is in the budget?", 5)
    assert len((await command(place, "list", "--limit", "1")).out.splitlines()) == 1
    assert "'nobody'" in (await command(place, "list", "--agent", "nobody")).out


async def test_a_session_is_shown_with_the_ids_of_its_messages(place: Place, store: SqliteSessions) -> None:
    one = await kept(store, *TALK, Message(id="msg_6", role="assistant", text="half", status="aborted"))
    shown = (await command(place, "show", one[:-3])).out
    for words in ("[msg_1] user: What is", '  calls shell {"command":"make"}', "[msg_6] assistant (aborted): half"):
        assert words in shown
    assert "\x1b" not in shown
    messages = json.loads((await command(place, "show", one, "--json")).out)
    assert [message["id"] for message in messages] == [f"msg_{n}" for n in range(1, 7)]


async def test_unknown_ambiguous_and_held_sessions_are_told_apart(place: Place, store: SqliteSessions) -> None:
    one, other = await kept(store, *TALK), await kept(store, said("x"))
    assert "there is no session 'nothing'" in await fails(place, "show", "nothing")
    ambiguous = await fails(place, "show", "ses_")
    assert ("more than one" in ambiguous, one in ambiguous, other in ambiguous) == (True, True, True)
    held = await store.open(SessionKey(agent="default", id=one))
    for arguments in (["undo", one], ["redo", one], ["delete", one, "--yes"]):
        assert f"in use by process {os.getpid()}" in await fails(place, *arguments)
    await held.close()
    assert len(await store.read(one)) == 5


async def test_a_search_prints_snippets_and_ids_and_takes_any_query(place: Place, store: SqliteSessions) -> None:
    assert "nothing was found" in (await command(place, "search", "x")).out
    one = await kept(store, *TALK)
    line = (await command(place, "search", "预算")).out
    assert line.startswith(f"{one}  msg_5  ")
    assert "昨晚我们讨论了预算表" in line
    (hit,) = json.loads((await command(place, "search", "--json", "BUDGET", "what")).out)
    assert (hit["session_id"], hit["message_id"], hit["role"]) == (one, "msg_1", "user")
    for query in ('"', "AND", "NEAR(", "*", "a' OR 1=1 --"):
        assert (await command(place, "search", "--", query)).code == 0
    bytes_only = await command(place, "search", "--", "\udcff")
    assert (bytes_only.code, "not UTF-8" in bytes_only.err) == (2, True)


async def test_a_branch_goes_on_from_a_message(place: Place, store: SqliteSessions) -> None:
    one = await kept(store, *TALK)
    said_it = (await command(place, "branch", one, "--at", "msg_2", "--agent", "research")).out
    made = said_it.split()[0]
    assert [message.id for message in await store.read(made)] == ["msg_1", "msg_2", "msg_3"]
    assert f"ferrule chat --agent research --session {made}" in said_it
    assert "msg_9" in await fails(place, "branch", one, "--at", "msg_9")
    assert "nobody" in await fails(place, "branch", one, "--agent", "nobody")
    assert "holds 5 messages" in (await command(place, "branch", one)).out


async def test_an_undo_says_what_it_leaves_alone_and_a_redo_brings_back(place: Place, store: SqliteSessions) -> None:
    one = await kept(store, *TALK)
    undone = (await command(place, "undo", one)).out
    assert "took back 1 turn (1 message)" in undone
    assert "only the conversation changed: files" in undone
    assert len(await store.read(one)) == 4
    assert "brought back 1 turn (1 message)" in (await command(place, "redo", one)).out
    assert "took back 2 turns (5 messages)" in (await command(place, "undo", one, "2")).out
    assert "0 turns" in await fails(place, "undo", one)


async def test_what_was_exported_as_json_can_be_imported(place: Place, store: SqliteSessions) -> None:
    one = await kept(store, *TALK, said("c1: \x9b31m"), key=SessionKey(agent="research", person="ann", audience="room"))
    file = place.folder / "talk.json"
    assert "wrote" in (await command(place, "export", one, "--format", "json", "--output", str(file))).err
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "there already" in await fails(place, "export", one, "--format", "json", "--output", str(file))
    printed = (await command(place, "export", one, "--format", "json")).out
    assert printed == file.read_text()
    assert "\x9b" not in printed
    taken = (await command(place, "import", str(file))).out
    copy = await store.find(taken.split()[0])
    assert (copy.agent, copy.person, copy.audience, copy.messages) == ("research", "ann", "room", 6)
    assert list(await store.read(copy.id)) == list(await store.read(one))
    code, out, _ = await typed(place, printed, "sessions", "import", "-", "--agent", "default")
    assert (code, (await store.find(out.split()[0])).agent) == (0, "default")


async def test_markdown_cannot_break_out_of_its_fences(place: Place, store: SqliteSessions) -> None:
    one = await kept(store, *TALK)
    text = (await command(place, "export", one, "--format", "markdown")).out
    assert text.startswith("# What is in the budget?\n")
    assert "````text\nmade ␛[31m``` it\n````\n" in text
    assert "\x1b" not in text


async def test_files_that_hold_no_session_are_named(place: Place) -> None:
    (place.folder / "bad.json").write_text("{")
    assert "bad.json" in await fails(place, "import", str(place.folder / "bad.json"))
    assert "none.json" in await fails(place, "import", str(place.folder / "none.json"))
    assert "cannot be read" in await fails(place, "import", str(place.folder))


async def test_a_deletion_wants_a_yes(place: Place, store: SqliteSessions) -> None:
    one = await kept(store, *TALK)
    (place.home / "state" / "sessions.db.v1.backup").touch()
    assert "--yes" in await fails(place, "delete", one)
    for answer, words in (("n\n", "nothing was deleted"), ("y\n", f"deleted {one}")):
        ours, theirs = pty.openpty()
        process = await start(place, "sessions", "delete", one, stdin=theirs, stdout=subprocess.PIPE)
        os.close(theirs)
        os.write(ours, answer.encode())
        out, _ = await asyncio.wait_for(process.communicate(), 30)
        os.close(ours)
        assert words in out.decode()
        assert len(await store.list()) == (1 if answer == "n\n" else 0)
    assert "sessions.db.v1.backup" in out.decode()
    assert "there is no session" in await fails(place, "delete", one, "--yes")
