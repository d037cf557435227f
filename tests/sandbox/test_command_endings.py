"""However a command ends, it leaves no process behind and loses no output."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Literal

import pytest

from ferrule.policy.agent_policy import policy_of
from ferrule.ports.handles import CommandOutcome, CommandRequest
from ferrule.sandbox.commands import NativeCommands
from ferrule.types.errors import PolicyDenied, ToolError
from tests.sandbox.test_native_commands import gone, marked, run

ESCAPES = {
    "a session of its own": "setsid sleep {0} & setsid sleep {0}; true",
    "a child of a child in a session of its own": "setsid -f sh -c 'setsid -f sleep {0}; sleep {0}'; sleep {0}",
    "without our variables": "env -i setsid sleep {0} & sleep {0}; true",
    "deaf to being asked": "trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep {0}; true' & sleep {0}; true",
}


@pytest.mark.parametrize("way", ESCAPES)
async def test_what_left_the_group_of_a_cancelled_command_ends_with_it(tmp_path: Path, way: str) -> None:
    seconds = f"64.{sorted(ESCAPES).index(way)}17"
    task = asyncio.ensure_future(run(tmp_path, ESCAPES[way].format(seconds)))
    while len(marked(seconds)) < 3:
        await asyncio.sleep(0.01)
    began = asyncio.get_running_loop().time()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.get_running_loop().time() - began < 2
    await gone(seconds)


async def test_what_left_the_group_ends_when_time_runs_out_or_the_command_is_done(tmp_path: Path) -> None:
    outcome = await run(tmp_path, "setsid sleep 65.31 & sleep 65.31", timeout_s=0.3)
    assert outcome.timed_out
    await gone("65.31")
    outcome = await run(tmp_path, "setsid -f sleep 66.31; echo done", timeout_s=20)
    assert (outcome.stdout, outcome.exit_code) == ("done\n", 0)
    await gone("66.31")


async def test_a_command_that_is_cancelled_while_it_starts_leaves_nothing(tmp_path: Path) -> None:
    for turns in range(12):
        task = asyncio.ensure_future(run(tmp_path, "setsid -f sleep 67.31; sleep 67.31"))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
    await gone("67.31")


async def test_being_cancelled_twice_does_not_stop_the_cleaning_up(tmp_path: Path) -> None:
    task = asyncio.ensure_future(run(tmp_path, "trap '' TERM; setsid sleep 68.31 & sleep 68.31; true"))
    while len(marked("68.31")) < 2:
        await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait([task])
    assert marked("68.31") == []


async def test_a_pump_that_breaks_loses_no_output_and_holds_nothing_up(tmp_path: Path) -> None:
    async def broken(stream: Literal["stdout", "stderr"], text: str) -> None:
        raise RuntimeError("nobody listens")

    commands = NativeCommands(policy_of(level="full", workspace=str(tmp_path)))
    request = CommandRequest(line="head -c 400000 /dev/zero; echo end >&2", max_output=300, timeout_s=10)
    outcome: CommandOutcome = await commands.run(request, pump=broken)
    assert (outcome.exit_code, outcome.stdout_bytes, outcome.stderr) == (0, 400_000, "end\n")


async def test_the_folder_that_was_judged_is_the_folder_that_is_entered(tmp_path: Path) -> None:
    """The name is given to a link that leads out, and back, again and again, while commands start there."""
    place, outside = tmp_path / "bot", tmp_path / "outside"
    (place / "sub").mkdir(parents=True)
    outside.mkdir()
    (place / "way").symlink_to(outside)
    stop = threading.Event()
    swapping = asyncio.create_task(asyncio.to_thread(swap, place, stop))
    folders: list[str] = []
    try:
        while len(folders) < 25:
            try:
                folders.append((await run(place, "pwd", cwd="sub")).stdout.strip())
            except (PolicyDenied, ToolError):
                continue
    finally:
        stop.set()
        await swapping
    assert str(outside) not in folders


def swap(place: Path, stop: threading.Event) -> None:
    """Let a folder and a link change names."""
    while not stop.is_set():
        (place / "sub").rename(place / "kept")
        (place / "way").rename(place / "sub")
        (place / "sub").rename(place / "way")
        (place / "kept").rename(place / "sub")
