"""Programs: no shell where none is needed, no secrets, no survivors."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path
from typing import Literal

import pytest

from ferrule.policy.agent_policy import policy_of
from ferrule.ports.handles import CommandOutcome, CommandRequest
from ferrule.sandbox.commands import NativeCommands
from ferrule.types.access import Level
from ferrule.types.errors import PolicyDenied, ToolError


async def run(place: Path, line: str, *, level: Level = "full", **more: object) -> CommandOutcome:
    commands = NativeCommands(policy_of(level=level, workspace=str(place)))
    return await commands.run(CommandRequest(line=line, **more))  # type: ignore[arg-type]  # tests name real fields


def marked(mark: str) -> list[str]:
    """List the processes that have a mark in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark.encode() in (entry / "cmdline").read_bytes():
                found.append(entry.name)
        except OSError:
            continue
    return [pid for pid in found if pid != str(os.getpid())]


async def gone(mark: str) -> None:
    """Wait until no process has the mark: a killed one needs a moment to leave the table."""
    async with asyncio.timeout(2):
        while marked(mark):
            await asyncio.sleep(0.01)


async def test_a_plain_command_runs_without_a_shell_and_others_say_that_they_had_one(tmp_path: Path) -> None:
    plain = await run(tmp_path, "echo 'a  b'")
    assert (plain.stdout, plain.exit_code, plain.shell) == ("a  b\n", 0, False)
    shell = await run(tmp_path, "echo a; echo b >&2; exit 3")
    assert (shell.stdout, shell.stderr, shell.exit_code, shell.shell) == ("a\n", "b\n", 3, True)


async def test_only_listed_variables_reach_a_child(tmp_path: Path) -> None:
    before = dict(os.environ)
    os.environ["CANARY_KEY"] = "canary-1"
    try:
        leaks = subprocess.run(["env"], capture_output=True, text=True, check=True)
        assert "canary-1" in leaks.stdout
        assert "canary-1" not in (await run(tmp_path, "env")).stdout
    finally:
        del os.environ["CANARY_KEY"]
    assert dict(os.environ) == before


async def test_running_out_of_time_ends_the_whole_group(tmp_path: Path) -> None:
    outcome = await run(tmp_path, "sh -c 'sleep 61.217' & sleep 61.217", timeout_s=0.3)
    assert (outcome.timed_out, outcome.exit_code) == (True, None)
    await gone("61.217")


async def test_a_child_left_behind_does_not_hold_up_the_answer(tmp_path: Path) -> None:
    outcome = await run(tmp_path, "sleep 62.31 & echo started", timeout_s=20)
    assert (outcome.stdout, outcome.timed_out) == ("started\n", False)
    assert outcome.duration_ms < 5_000
    await gone("62.31")


async def test_cancelling_ends_the_whole_group(tmp_path: Path) -> None:
    task = asyncio.ensure_future(run(tmp_path, "sh -c 'sleep 63.41'; true"))
    while not marked("63.41"):
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await gone("63.41")


async def test_output_is_shown_as_it_comes_and_bounded_in_the_end(tmp_path: Path) -> None:
    shown: list[str] = []

    async def pump(stream: Literal["stdout", "stderr"], text: str) -> None:
        shown.append(text)

    commands = NativeCommands(policy_of(level="full", workspace=str(tmp_path)))
    request = CommandRequest(line="head -c 400000 /dev/zero", max_output=300)
    outcome = await commands.run(request, pump=pump)
    assert outcome.stdout_bytes == sum(map(len, shown)) == 400_000
    assert len(outcome.stdout) < 500


async def test_input_is_passed_and_a_program_need_not_take_it(tmp_path: Path) -> None:
    assert (await run(tmp_path, "cat", stdin=b"hello")).stdout == "hello"
    assert (await run(tmp_path, "true", stdin=b"x" * 1_000_000)).exit_code == 0
    assert (await run(tmp_path, "cat")).stdout == ""


async def test_a_command_runs_inside_the_workspace_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "out").symlink_to("/etc")
    assert (await run(tmp_path, "pwd", cwd="sub")).stdout.strip() == str(tmp_path / "sub")
    for cwd in ("/etc", "out"):
        with pytest.raises(PolicyDenied):
            await run(tmp_path, "pwd", cwd=cwd)
    with pytest.raises(ToolError, match="none"):
        await run(tmp_path, "pwd", cwd="none")


async def test_a_link_that_leads_out_is_refused_where_the_program_alone_would_follow_it(tmp_path: Path) -> None:
    place = tmp_path / "bot"
    place.mkdir()
    (tmp_path / "secret.txt").write_text("canary")
    (place / "way").symlink_to("..")
    plain = subprocess.run(["cat", "way/secret.txt"], cwd=place, capture_output=True, text=True, check=True)
    assert plain.stdout == "canary"
    with pytest.raises(PolicyDenied):
        await run(place, "cat way/secret.txt")
    (place / "a.txt").write_text("inside")
    (place / "sub").mkdir()
    assert (await run(place, "cat ../a.txt", cwd="sub")).stdout == "inside"
    assert (await run(place, "cat none.txt")).exit_code == 1


@pytest.mark.parametrize(
    ("line", "cwd"),
    [
        ("cat deep/er/up/../secret.txt", ""),
        ("cat ../secret.txt", "deep/er/up"),
        ("cd deep/er/up && cat ../secret.txt", ""),
    ],
)
async def test_behind_a_link_two_dots_are_followed_as_the_system_follows_them(
    tmp_path: Path, line: str, cwd: str
) -> None:
    place = tmp_path / "bot"
    (place / "deep" / "er").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("canary")
    (place / "deep" / "er" / "up").symlink_to(place)
    with pytest.raises(PolicyDenied):
        await run(place, line, cwd=cwd)


@pytest.mark.parametrize(
    "line", ["grep -r canary up/", "rg canary up/.", "find up/ -name '*'", "ls -R up/", "du -a up/"]
)
async def test_going_through_a_link_does_not_reach_what_is_kept_from_the_agent(tmp_path: Path, line: str) -> None:
    place = tmp_path / "bot"
    (place / "keep").mkdir(parents=True)
    (place / "keep" / "key.txt").write_text("canary")
    (place / "up").symlink_to(".")
    commands = NativeCommands(policy_of(level="full", workspace=str(place), forbidden=(str(place / "keep"),)))
    with pytest.raises(PolicyDenied, match="keep"):
        await commands.run(CommandRequest(line=line))
    assert "canary" in (await commands.run(CommandRequest(line="grep -r canary ."))).stdout  # a person was asked


async def test_what_runs_is_written_anew_from_what_was_judged(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "sub").mkdir()
    piped = await run(tmp_path, "cat a.txt 2>/dev/null | LC_ALL=C grep -c 'o' && echo \"it's\" \\$x; cat < /dev/null")
    assert (piped.stdout, piped.exit_code, piped.shell) == ("2\nit's $x\n", 0, True)
    assert (await run(tmp_path, "cd sub && cat ../a.txt")).stdout == "one\ntwo\n"
    assert (await run(tmp_path, "echo x >sub/b; cat sub/b")).stdout == "x\n"
    with pytest.raises(PolicyDenied):
        await run(tmp_path, "echo x > ../b")
    (tmp_path / "out").symlink_to("/etc/hostname")
    assert (await run(tmp_path, "rm out")).exit_code == 0
    assert not (tmp_path / "out").is_symlink()


async def test_what_cannot_be_started_is_named(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="no-such-program"):
        await run(tmp_path, "no-such-program")
    (tmp_path / "bad").write_text("no program")
    (tmp_path / "bad").chmod(0o755)
    with pytest.raises(ToolError, match="started"):
        await run(tmp_path, "./bad")
    with pytest.raises(PolicyDenied):
        await run(tmp_path, "ls", level="read_only")


async def test_a_repository_cannot_make_git_run_a_program_while_it_reads(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "p").write_text(f"#!/bin/sh\ntouch {tmp_path}/P\n")
    (tmp_path / "p").chmod(0o755)
    subprocess.run(["git", "-C", str(tmp_path), "config", "core.fsmonitor", str(tmp_path / "p")], check=True)
    subprocess.run(["git", "-C", str(tmp_path), "status"], capture_output=True, check=False)
    assert (tmp_path / "P").exists()
    (tmp_path / "P").unlink()
    assert (await run(tmp_path, "git status")).exit_code == 0
    assert not (tmp_path / "P").exists()


@pytest.mark.parametrize("line", ["git status -s", "git log"])
async def test_a_clone_brings_no_settings_of_git_that_run_its_own_program(tmp_path: Path, line: str) -> None:
    place = tmp_path / "clone"
    place.mkdir()
    plain = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b.test", "GIT_COMMITTER_NAME": "a"}
    environ = {**os.environ, **plain, "GIT_COMMITTER_EMAIL": "a@b.test", "HOME": str(place)}

    def git(*words: str) -> None:
        subprocess.run(["git", *words], cwd=place, env=environ, capture_output=True, check=False)

    git("init", "-q")
    (place / "evil.sh").write_text(f"#!/bin/sh\ntouch {tmp_path}/P\ncat\n")
    (place / "evil.sh").chmod(0o755)
    (place / "a.txt").write_text("x")
    git("add", "a.txt")
    git("commit", "-qm", "x")
    (place / ".gitattributes").write_text("*.txt filter=evil\n")
    evil = f'[filter "evil"]\nclean = {place}/evil.sh\n[format]\npretty = %G?\n[gpg]\nprogram = {place}/evil.sh\n'
    (place / ".gitconfig").write_text(evil)
    (place / "a.txt").write_text("y")
    if "status" in line:
        git(*line.split()[1:])
        assert (tmp_path / "P").exists()
        (tmp_path / "P").unlink()
    (place / "a.txt").write_text("z")
    assert (await run(place, line)).exit_code == 0
    assert not (tmp_path / "P").exists()
