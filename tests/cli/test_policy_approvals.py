"""``ferrule policy approvals``: what a person allowed for always is kept, shown, and taken back."""

from __future__ import annotations

import json
from pathlib import Path

from ferrule.testing.mock_llm import MockLLM, call, say
from tests.cli._program import on_terminal, place_for
from tests.effects._program import Place

WRITE = {"path": "a.txt", "content": "new"}


async def test_an_answer_for_always_holds_in_the_next_run_until_it_is_taken_back(tmp_path: Path) -> None:
    replies = [reply for _ in range(3) for reply in (call("file_write", WRITE), say("done"))]
    async with MockLLM(replies) as server:
        place = place_for(tmp_path, server)
        async with on_terminal(place, "chat") as screen:
            await screen.until("you>")
            await screen.type("write\r")
            await screen.until("Allow?")
            await screen.type("a\r")
            await screen.until("done", "you>")
            await screen.type("\x04")
            assert await screen.end() == 0
        assert (await place.run("run", "write")).code == 0

        listed = await place.run("policy", "approvals", "list")
        assert listed.out.startswith(f"default  files.write:{place.folder}/a.txt  in {place.folder}, until 2")
        (entry,) = json.loads((await place.run("policy", "approvals", "list", "--json")).out)
        taken = await place.run("policy", "approvals", "revoke", entry["pattern"])
        assert taken.out == f"taken back: default  {entry['pattern']}\n"
        assert (await place.run("policy", "approvals", "list")).out == "nothing is allowed for always\n"
        assert (await place.run("run", "write")).code == 3


async def test_what_is_to_be_taken_back_must_be_named(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.write("")
    assert (await place.run("policy", "approvals", "revoke")).code == 2
    assert (await place.run("policy", "approvals", "revoke", "a", "--all")).code == 2
    gone = await place.run("policy", "approvals", "revoke", "command:ls")
    assert gone.code == 2
    assert "approvals list" in gone.err
    assert (await place.run("policy", "approvals", "revoke", "--all")).out == "nothing was allowed for always\n"
