"""``[[capabilities]]``, ``[security.tools]`` and ``[agents.<alias>.show]``: what is shown, what runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.effects._program import Place, call, config, say, told
from tests.providers._vendor import Vendor, vendor

WRITE = ("file_write", {"path": "a.txt", "content": "new"})
READ = ("file_read", {"path": "src/note"})
FULL = 'risk_profile = "full"'
READS = """
[[capabilities]]
type = "tool"
name = "file_*"
[[capabilities]]
type = "file_read"
glob = "workspace:src/**"
"""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    (made.folder / "src").mkdir(parents=True)
    (made.folder / "src" / "note").write_text("the note")
    return made


def shown(server: Vendor) -> list[str]:
    """Name the tools that the model was shown."""
    tools = server.asked[0].json.get("tools", [])
    assert isinstance(tools, list)
    return [tool["function"]["name"] for tool in tools]


async def test_capabilities_are_all_that_runs(place: Place) -> None:
    async with vendor(call(READ), call(WRITE), say("done")) as server:
        place.write(config(server, agent=FULL, more=READS))
        ran = await place.run("run", "go")
        assert ran.code == 3, ran.err
        assert "the note" in told(server)
        assert "grant.file_write.missing" in told(server)
        assert not (place.folder / "a.txt").exists()
        assert shown(server) == ["file_edit", "file_read", "file_write"]


async def test_a_tool_that_is_not_granted_does_not_run_though_the_model_names_it(place: Place) -> None:
    async with vendor(call(("shell", {"command": "touch made"})), say("done")) as server:
        place.write(config(server, agent=FULL, more=READS))
        await place.run("run", "go")
        assert not (place.folder / "made").exists()


async def test_capabilities_of_an_agent_narrow_those_of_all(place: Place) -> None:
    own = f'{FULL}\n[[agents.default.capabilities]]\ntype = "file_write"\nglob = "*.txt"\neffect = "deny"'
    async with vendor(call(WRITE), say("done")) as server:
        place.write(config(server, agent=own))
        assert (await place.run("run", "go")).code == 3
        assert "grant.file_write.denied" in told(server)
        assert not (place.folder / "a.txt").exists()


async def test_show_names_what_the_model_sees(place: Place) -> None:
    async with vendor(say("ok")) as server:
        place.write(config(server, agent='[agents.default.show]\ntools = ["*_search"]'))
        await place.run("run", "go")
        assert shown(server) == ["content_search", "glob_search"]


async def test_show_can_name_what_is_hidden(place: Place) -> None:
    async with vendor(say("ok")) as server:
        place.write(config(server, agent='[agents.default.show]\ntools = { deny = ["file_*", "shell"] }'))
        await place.run("run", "go")
        assert shown(server) == ["content_search", "glob_search", "list_directory"]


async def test_the_switch_of_files_takes_their_tools_away(place: Place) -> None:
    async with vendor(call(READ), say("done")) as server:
        place.write(config(server, agent=FULL, more="[security.tools]\nfiles = false"))
        await place.run("run", "go")
        assert shown(server) == ["shell"]
        assert "the note" not in told(server)


async def test_the_switch_of_the_shell_takes_it_away(place: Place) -> None:
    async with vendor(call(("shell", {"command": "touch made"})), say("done")) as server:
        commands = '[risk_profiles.full]\nallowed_commands = ["touch"]\n'
        place.write(config(server, agent=FULL, more=f"{commands}[security.tools]\nshell = false"))
        await place.run("run", "go")
        assert "shell" not in shown(server)
        assert not (place.folder / "made").exists()
