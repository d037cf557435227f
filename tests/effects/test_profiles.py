"""``[risk_profiles.<name>]`` and ``[runtime_profiles.<name>]``."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.effects._program import Place, Ran, call, config, say, told
from tests.providers._vendor import Act, Step, Vendor, vendor

LOOK = ("list_directory", {"path": "."})
WRITE = ("file_write", {"path": "a.txt", "content": "new"})


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


async def with_risk(place: Place, server: Vendor, table: str, *arguments: str) -> Ran:
    """Run with a risk profile of the test's own."""
    place.write(config(server, agent='risk_profile = "own"', more=f"[risk_profiles.own]\n{table}"))
    return await place.run("run", *arguments, "go")


async def with_limits(place: Place, server: Vendor, table: str, *arguments: str) -> Ran:
    """Run with a limit."""
    place.write(config(server, more=f"[runtime_profiles.default]\n{table}"))
    return await place.run("run", *arguments, "go")


async def test_the_level_decides_what_runs_without_asking(place: Place) -> None:
    async with vendor(call(WRITE), say("done")) as server:
        assert (await with_risk(place, server, 'level = "full"')).code == 0
        assert (place.folder / "a.txt").read_text() == "new"
    async with vendor(call(LOOK), call(WRITE), say("done")) as server:
        (place.folder / "a.txt").unlink()
        assert (await with_risk(place, server, 'level = "read_only"')).code == 3
        assert not (place.folder / "a.txt").exists()


async def test_allowed_commands_run_without_asking(place: Place) -> None:
    async with vendor(call(("shell", {"command": "wc -c note"})), say("done")) as server:
        place.folder.mkdir()
        (place.folder / "note").write_text("x" * 12_345)
        ran = await with_risk(place, server, 'level = "supervised"\nallowed_commands = ["wc"]')
        assert ran.code == 0, ran.err
        assert "12345" in told(server)


async def test_forbidden_paths_are_touched_by_no_tool(place: Place) -> None:
    async with vendor(call(("file_read", {"path": "kept/note"})), say("done")) as server:
        (place.folder / "kept").mkdir(parents=True)
        (place.folder / "kept" / "note").write_text("never to be told")
        ran = await with_risk(place, server, f'level = "full"\nforbidden_paths = ["{place.folder}/kept"]')
        assert ran.code == 3, ran.err
        assert "never to be told" not in told(server)
        assert "path.forbidden" in told(server)


async def test_approvers_are_those_who_are_asked(place: Place) -> None:
    async with vendor(call(WRITE), say("done")) as server:
        ran = await with_risk(place, server, 'level = "supervised"\napprovers = ["anna"]', "--json")
        (asked,) = ran.events("approval.asked")
        principals = asked["principals"]
        assert isinstance(principals, list)
        assert "anna" in principals


async def test_max_rounds_ends_a_turn(place: Place) -> None:
    async with vendor(call(LOOK)) as server:
        assert (await with_limits(place, server, "max_rounds = 3")).code == 4
        assert len(server.asked) == 3


async def test_single_tool_rounds_refuses_a_response_with_two_calls(place: Place) -> None:
    async with vendor(call(LOOK, LOOK), say("done")) as server:
        ran = await with_limits(place, server, "single_tool_rounds = true", "--json")
        assert ran.code == 1
        (finished,) = ran.events("turn.finished")
        error = finished["error"]
        assert isinstance(error, dict)
        assert error["code"] == "rounds.multiple_calls"
        assert ran.events("tool.started") == []
        assert [asked.json["parallel_tool_calls"] for asked in server.asked] == [False]


async def test_max_tool_calls_ends_a_turn(place: Place) -> None:
    async with vendor(call(LOOK, LOOK, LOOK), say("done")) as server:
        ran = await with_limits(place, server, "max_tool_calls = 1", "--json")
        assert ran.code == 4
        done = [event for event in ran.events("tool.finished") if not event["is_error"]]
        assert len(done) == 1


async def test_max_tokens_ends_a_turn(place: Place) -> None:
    usage = {"prompt_tokens": 90, "completion_tokens": 20, "total_tokens": 110}
    async with vendor(say("done", **usage)) as server:
        assert (await with_limits(place, server, "max_tokens = 100")).code == 4


async def test_turn_timeout_ends_a_turn(place: Place) -> None:
    silent: list[Step] = [Act.STALL]
    async with vendor(silent) as server:
        async with asyncio.timeout(20):
            assert (await with_limits(place, server, "turn_timeout_s = 0.5")).code == 4


async def test_parallel_tools_is_how_many_run_at_the_same_time(place: Place) -> None:
    slow = ("shell", {"command": "wc -l big"})
    own = '[risk_profiles.own]\nlevel = "full"\nallowed_commands = ["wc"]\n'
    async with vendor(call(slow, slow, slow), say("done")) as server:
        more = f"{own}[runtime_profiles.default]\nparallel_tools = 1"
        place.write(config(server, agent='risk_profile = "own"', more=more))
        with (place.folder / "big").open("wb") as big:
            big.truncate(400_000_000)  # takes no room, and takes a moment to read
        ran = await place.run("run", "--json", "go")
        assert ran.code == 0, ran.err
        order = [str(json.loads(line)["type"]) for line in ran.out.splitlines()]
        tools = [kind for kind in order if kind in ("tool.started", "tool.finished")]
        assert tools == ["tool.started", "tool.finished"] * 3
