"""``[agents.<alias>]`` and ``schema_version``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.effects._program import Place, call, config, say, told
from tests.providers._vendor import vendor

WRITE = call(("file_write", {"path": "a.txt", "content": "new"}))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


async def test_instructions_are_what_the_model_is_told_first(place: Place) -> None:
    async with vendor(say("ok")) as server:
        place.write(config(server, agent='instructions = "Speak like a pirate."'))
        ran = await place.run("run", "hi")
        assert (ran.code, ran.out) == (0, "ok\n")
        assert "Speak like a pirate." in told(server)


async def test_provider_is_who_answers(place: Place) -> None:
    async with vendor(say("one")) as first, vendor(say("two")) as second:
        other = f'[providers.openai.first]\nmodel = "m"\nbase_url = "{first.url}/v1"'
        place.write(config(second, more=other))
        assert (await place.run("run", "hi")).out == "two\n"
        assert first.asked == []


async def test_risk_profile_is_what_runs_without_asking(place: Place) -> None:
    async with vendor(WRITE, say("done")) as server:
        place.write(config(server, agent='risk_profile = "full"'))
        ran = await place.run("run", "write")
        assert ran.code == 0, ran.err
        assert (place.folder / "a.txt").read_text() == "new"


async def test_runtime_profile_is_what_a_turn_may_use_up(place: Place) -> None:
    async with vendor(call(("list_directory", {"path": "."}))) as server:
        place.write(config(server, agent='runtime_profile = "short"', more="[runtime_profiles.short]\nmax_rounds = 2"))
        assert (await place.run("run", "look")).code == 4
        assert len(server.asked) == 2


async def test_tools_are_all_that_the_model_is_shown(place: Place) -> None:
    async with vendor(say("ok")) as server:
        place.write(config(server, agent='tools = ["file_read"]'))
        await place.run("run", "hi")
        tools = server.asked[0].json["tools"]
        assert isinstance(tools, list)
        assert [tool["function"]["name"] for tool in tools] == ["file_read"]


async def test_the_path_of_the_workspace_is_where_the_agent_works(place: Place) -> None:
    async with vendor(WRITE, say("done")) as server:
        work = place.root / "work"
        work.mkdir()
        agent = f'risk_profile = "full"\nworkspace.path = "{work}"'
        place.write(config(server, agent=agent))
        await place.run("run", "write")
        assert (work / "a.txt").read_text() == "new"
        assert not (place.folder / "a.txt").exists()


async def test_access_opens_the_workspace_of_a_sibling(place: Place) -> None:
    sibling = place.root / "sibling"
    sibling.mkdir()
    (sibling / "note.txt").write_text("from the sibling")
    async with vendor(call(("file_read", {"path": str(sibling / "note.txt")})), say("done")) as server:
        more = f'[agents.other]\nprovider = "openai.main"\nworkspace.path = "{sibling}"'
        place.write(config(server, agent='workspace.access = { other = "read" }', more=more))
        await place.run("run", "read")
        assert "from the sibling" in told(server)


async def test_an_unrestricted_filesystem_has_no_boundary(place: Place) -> None:
    far = place.root / "far"
    far.mkdir()
    (far / "note.txt").write_text("from far away")
    async with vendor(call(("file_read", {"path": str(far / "note.txt")})), say("done")) as server:
        place.write(config(server, agent="workspace.unrestricted_filesystem = true"))
        await place.run("run", "read")
        assert "from far away" in told(server)


async def test_a_newer_schema_version_is_refused(place: Place) -> None:
    place.write("schema_version = 2\n")
    ran = await place.run("run", "hi")
    assert ran.code == 2
    assert "config.toml:1: schema_version: the file has version 2" in ran.err
