"""The program in a pipe or on a terminal of its own, as people start it."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import re
import signal
import struct
import sys
import termios
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from ferrule.testing.mock_llm import MockLLM
from tests.effects._program import Place, Ran

HIGH_S = 40.0
"""Seconds after which a program that hangs is given up."""

ROOT = Path(__file__).resolve().parents[2]
ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|[=>78]|\][^\x07]*\x07|[()][A-Z0-9])")


def place_for(tmp_path: Path, server: MockLLM | None, more: str = "") -> Place:
    """Write a config whose provider is the scripted server, or that names none."""
    place = Place(tmp_path)
    provider = f'[providers.openai.main]\nmodel = "m"\nbase_url = "{server.base_url}"\n' if server else ""
    place.write(f"{more}\n{provider}")
    return place


def environment(place: Place, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return this process's environment without what names a model, with the home of the test."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI", "FERRULE"))}
    return {**kept, "FERRULE_HOME": str(place.home), "TERM": "xterm", "COLUMNS": "80", **(more or {})}


async def start(
    place: Place, *arguments: str, environ: Mapping[str, str] | None = None, **more: object
) -> asyncio.subprocess.Process:
    """Start the program with pipes, unless `more` says otherwise."""
    streams: dict[str, object] = {"stdin": asyncio.subprocess.PIPE, "stdout": asyncio.subprocess.PIPE}
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ferrule", *arguments),
        cwd=place.folder,
        env=environment(place, environ),
        stderr=asyncio.subprocess.PIPE,
        **{**streams, **more},  # type: ignore[arg-type]  # streams of a process
    )


async def ended(process: asyncio.subprocess.Process, data: bytes | None = None) -> Ran:
    """Send `data`, close standard input, and wait for the end."""
    out, err = await asyncio.wait_for(process.communicate(data), HIGH_S)
    return Ran(code=process.returncode or 0, out=(out or b"").decode(), err=(err or b"").decode())


async def typed(place: Place, text: str | bytes, *arguments: str, environ: Mapping[str, str] | None = None) -> Ran:
    """Run the program with `text` on standard input."""
    data = text.encode() if isinstance(text, str) else text
    return await ended(await start(place, *arguments, environ=environ), data)


async def in_shell(place: Place, script: str, environ: Mapping[str, str] | None = None) -> Ran:
    """Run a line of shell, in which ``ferrule`` is the program; standard input is the null device."""
    process = await asyncio.create_subprocess_exec(
        *("bash", "-c", f'ferrule() {{ "{sys.executable}" -m ferrule "$@"; }}; {script}'),
        cwd=place.folder,
        env=environment(place, environ),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    return await ended(process)


class OnTerminal:
    """The program with a pseudo terminal as its only terminal: keys go in, the screen's text comes out."""

    def __init__(self, process: asyncio.subprocess.Process, ours: int) -> None:
        self.process = process
        self.all = ""
        self.raw = ""
        self._ours = ours
        self._from = 0
        self._news = asyncio.Event()
        asyncio.get_running_loop().add_reader(ours, self._read)

    async def until(self, *words: str) -> str:
        """Wait until each of `words` has appeared, in this order, since the last wait; returns what lay between."""
        start = self._from
        for word in words:
            async with asyncio.timeout(HIGH_S):
                while (at := self.all.find(word, self._from)) < 0:
                    self._news.clear()
                    await self._news.wait()
            self._from = at + len(word)
        return self.all[start : self._from]

    async def type(self, keys: str | bytes) -> None:
        """Type."""
        data = keys.encode() if isinstance(keys, str) else keys
        await asyncio.to_thread(self._write, data)

    async def end(self) -> int:
        """Wait for the end; returns the exit code."""
        return await asyncio.wait_for(self.process.wait(), HIGH_S)

    def hang_up(self) -> None:
        """The terminal goes away."""
        if self._ours >= 0:
            asyncio.get_running_loop().remove_reader(self._ours)
            os.close(self._ours)
            self._ours = -1

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._ours, view) :]

    def _read(self) -> None:
        try:
            self.raw += os.read(self._ours, 65_536).decode("utf-8", "replace")
            self.all = ESCAPES.sub("", self.raw)
        except OSError:  # the program has ended
            asyncio.get_running_loop().remove_reader(self._ours)
        self._news.set()


@asynccontextmanager
async def on_terminal(
    place: Place, *arguments: str, environ: Mapping[str, str] | None = None, columns: int = 80
) -> AsyncIterator[OnTerminal]:
    """Start the program on a terminal of its own; leaving ends it."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    variables = environment(place, environ)
    variables.pop("COLUMNS")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.cli._own_terminal", *arguments),
        cwd=place.folder,
        env={
            **variables,
            "PROMPT_TOOLKIT_NO_CPR": "1",  # nobody here answers where the cursor is: each prompt would wait a second
            "PYTHONPATH": os.pathsep.join([str(ROOT), *variables.get("PYTHONPATH", "").split(os.pathsep)]),
        },
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    screen = OnTerminal(process, ours)
    try:
        yield screen
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        screen.hang_up()


async def asked(server: MockLLM, count: int) -> None:
    """Wait until the server was asked so often."""
    await holds(lambda: len(server.requests) >= count)


async def holds(fact: Callable[[], bool | Awaitable[bool]]) -> None:
    """Wait until something is true that no event tells of: it is looked at again and again."""
    async with asyncio.timeout(HIGH_S):
        while True:
            found = fact()
            if found if isinstance(found, bool) else await found:
                return
            await asyncio.sleep(0.02)
