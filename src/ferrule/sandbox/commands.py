"""The programs of one agent: argv without a shell where possible, our secrets kept out, nothing left behind."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from collections.abc import Coroutine, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

from ..policy.agent_policy import AgentPolicy
from ..policy.command_rules import kept_below
from ..policy.commands.lines import Place
from ..policy.commands.plan import planned
from ..ports.handles import CommandOutcome, CommandRequest, Pump
from ..types.errors import PolicyDenied, ToolError
from ._capture import Capture
from ._descent import descended
from ._family import MARK, Family

log = logging.getLogger(__name__)

PASSED_ON = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER", "LOGNAME")
"""The only variables a child inherits. An allow-list: a key that we never heard of cannot leak."""

SET = {
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_COUNT": "5",
    "GIT_CONFIG_KEY_0": "core.fsmonitor",
    "GIT_CONFIG_VALUE_0": "false",
    "GIT_CONFIG_KEY_1": "core.hooksPath",
    "GIT_CONFIG_VALUE_1": "/dev/null",
    "GIT_CONFIG_KEY_2": "protocol.ext.allow",
    "GIT_CONFIG_VALUE_2": "never",
    "GIT_CONFIG_KEY_3": "log.showSignature",
    "GIT_CONFIG_VALUE_3": "false",
    "GIT_CONFIG_KEY_4": "format.pretty",
    "GIT_CONFIG_VALUE_4": "medium",
}
"""Quiet, never interactive; what a repository's files could make git run while it reads is off.

The home of a child is its workspace, so git is told to take no settings from it: a clone could bring some.
"""

GRACE_S = 0.5
DRAIN_S = 0.2
LOOK_S = 0.05
PIECE = 65_536


class NativeCommands:
    """Implements `Commands` on this machine, unconfined but for the policy."""

    def __init__(self, policy: AgentPolicy) -> None:
        self._policy = policy

    async def run(self, request: CommandRequest, *, pump: Pump | None = None) -> CommandOutcome:
        """Run to the end; then, and when cancelled, everything that it started is killed."""
        if self._policy.level == "read_only":
            raise PolicyDenied("this agent may only read", code="level.read_only.command")
        plan = planned(request.line, cwd=request.cwd, home=self._policy.workspace)
        self._refuse_ways_out(plan.places)
        began, family = time.monotonic(), Family()
        environment = self._environment() | {MARK: family.mark}
        with self._folder(request.cwd) as cwd:
            process = await _begun(_start(plan.argv, cwd, environment, has_input=request.stdin is not None), family)
        out, err = Capture(request.max_output), Capture(request.max_output)
        work = asyncio.ensure_future(_talk(process, request.stdin, (out, err), pump))
        try:
            timed_out = not await _ended(process, request.timeout_s)
            if timed_out:
                await _kill_group(process, family)
            await asyncio.wait([work], timeout=DRAIN_S)  # a child left behind may hold the pipes open for ever
        finally:
            await _to_the_end(_clean_up(process, family, work))
        return CommandOutcome(
            exit_code=None if timed_out else process.returncode,
            stdout=out.text(),
            stderr=err.text(),
            stdout_bytes=out.total,
            stderr_bytes=err.total,
            duration_ms=int((time.monotonic() - began) * 1000),
            timed_out=timed_out,
            shell=plan.has_shell,
        )

    @contextmanager
    def _folder(self, cwd: str) -> Iterator[str]:
        """Hold the folder to run in open, and give a path that leads to it, whatever becomes of its name.

        Where there is no `/proc`, it is the real path: there the name could be swapped before the start.

        Raises:
            PolicyDenied: it is not the agent's to read.
            ToolError: it does not exist, or is no folder.
        """
        try:
            with descended(cwd or self._policy.workspace, "files.read", self._policy) as place:
                path = place.path
                folder = os.open(place.name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=place.folder)
        except OSError as error:
            raise ToolError(f"cannot run in {cwd or '.'!r}: {error.strerror}", code="command.folder") from error
        held = f"/proc/self/fd/{folder}"
        try:
            yield held if os.path.exists(held) else path
        finally:
            os.close(folder)

    def _refuse_ways_out(self, places: Iterable[Place]) -> None:
        """Refuse a path whose links lead where the agent may not go; the gate judged its text only.

        A path with ``..`` in it is followed as the system will: behind a link, ``..`` is not what it seems.

        Raises:
            PolicyDenied: such a path is named.
        """
        for place in places:
            path = place.path if place.is_followed else os.path.dirname(place.path.rstrip("/"))
            path = os.path.realpath(path) if ".." in path.split("/") else path
            try:
                with descended(path, place.action, self._policy) as found:
                    real = found.path
            except OSError:  # it does not exist, or is no path at all: the program will say so
                continue
            was_seen = not place.is_walked or kept_below(place.path, place.action, self._policy)
            if not was_seen and (kept := kept_below(real, place.action, self._policy)):
                raise PolicyDenied(f"{place.path} leads to a folder that holds {kept}", code="command.walks")

    def _environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        return {"PATH": os.defpath, **kept, **SET, "HOME": self._policy.workspace}


async def _start(
    argv: tuple[str, ...], cwd: str, environment: dict[str, str], *, has_input: bool
) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            *argv,
            cwd=cwd,
            env=environment,
            stdin=asyncio.subprocess.PIPE if has_input else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise ToolError(f"there is no program {argv[0]!r}", code="command.missing") from error
    except (OSError, ValueError) as error:
        raise ToolError(f"{argv[0]!r} could not be started: {error}", code="command.start") from error


async def _talk(
    process: asyncio.subprocess.Process, data: bytes | None, captures: tuple[Capture, Capture], pump: Pump | None
) -> None:
    """Read both streams to their ends, and write the input."""
    async with asyncio.TaskGroup() as group:
        if process.stdout is not None:
            group.create_task(_read(process.stdout, captures[0], "stdout", pump))
        if process.stderr is not None:
            group.create_task(_read(process.stderr, captures[1], "stderr", pump))
        if process.stdin is not None and data is not None:
            group.create_task(_feed(process.stdin, data))


async def _read(
    stream: asyncio.StreamReader, capture: Capture, name: Literal["stdout", "stderr"], pump: Pump | None
) -> None:
    while piece := await stream.read(PIECE):
        text = capture.feed(piece)
        if pump is not None and text and not await _shown(pump, name, text):
            pump = None


async def _shown(pump: Pump, name: Literal["stdout", "stderr"], text: str) -> bool:
    """Show a piece; False when the pump broke. The program's output is read on all the same."""
    showing = asyncio.ensure_future(pump(name, text))
    try:
        await asyncio.wait([showing])
    finally:
        showing.cancel()
    fault = None if showing.cancelled() else showing.exception()
    if fault is not None:
        log.warning("the output of a command is no longer shown", exc_info=fault)
    return fault is None and not showing.cancelled()


async def _feed(stdin: asyncio.StreamWriter, data: bytes) -> None:
    try:
        stdin.write(data)
        await stdin.drain()
        stdin.close()
        await stdin.wait_closed()
    except (BrokenPipeError, ConnectionResetError):  # it did not want all of it
        return


async def _ended(process: asyncio.subprocess.Process, timeout_s: float) -> bool:
    """Wait for the program itself, not for what it left behind; False when time ran out.

    `Process.wait` also waits for the pipes, which a child left behind holds
    open; so the exit itself is looked for now and then.
    """
    closed = asyncio.ensure_future(process.wait())
    try:
        async with asyncio.timeout(timeout_s):
            while process.returncode is None:
                await asyncio.wait([closed], timeout=LOOK_S)
    except TimeoutError:
        return False
    finally:
        closed.cancel()
    return True


async def _kill_group(process: asyncio.subprocess.Process, family: Family) -> None:
    """End the program and its group: first asked, then forced. Whoever left the group is noted before."""
    family.lead(process.pid)
    await asyncio.to_thread(family.look)
    _signal_group(process.pid, signal.SIGTERM)
    await _ended(process, GRACE_S)
    _signal_group(process.pid, signal.SIGKILL)
    await _ended(process, GRACE_S)


async def _begun(start: Coroutine[Any, Any, asyncio.subprocess.Process], family: Family) -> asyncio.subprocess.Process:
    """Start a program; one that was cancelled while it started is ended again."""
    starting = asyncio.ensure_future(start)
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        await _to_the_end(_ended_again(starting, family))
        raise


async def _ended_again(starting: asyncio.Future[asyncio.subprocess.Process], family: Family) -> None:
    try:
        process = await starting
    except ToolError:  # it did not start
        return
    await _clean_up(process, family, asyncio.ensure_future(asyncio.sleep(0)))


async def _clean_up(process: asyncio.subprocess.Process, family: Family, work: asyncio.Future[None]) -> None:
    if process.returncode is None:
        await _kill_group(process, family)
    _signal_group(process.pid, signal.SIGKILL)  # whatever stayed behind in the group
    family.lead(process.pid)
    if not await asyncio.to_thread(family.end):
        log.warning("a command left processes behind that could not be ended")
    work.cancel()
    await asyncio.wait([work])
    process._transport.close()  # type: ignore[attr-defined]  # the pipes of what was left behind; asyncio has no public way


async def _to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Await something that must not stop half-way; a cancellation is delivered when it has ended."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as stop:
            cancelled = stop
    task.result()
    if cancelled is not None:
        raise cancelled


def _signal_group(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):  # gone already
        return
