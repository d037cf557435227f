"""A model in a process of its own: jobs go out, chunks come back, and what does not stop is killed."""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import signal
import sys
import tempfile
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from ...types.errors import ConfigError, ProviderError
from .._json import dumps
from .faults import load_fault

WORKER = (sys.executable, "-P", str(Path(__file__).with_name("worker.py")))
GRACE_S = 0.6
"""Seconds that a stopped job has to reach its next token or batch; then its process is killed."""

BATCH = 64
"""Tokens of a prompt that are read between two looks at whether to stop."""

LONGEST_LINE = 64 << 20
LAST_WORDS = 40
PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES")
"""What of the environment a child gets: nothing that may hold a key."""


@dataclass(slots=True)
class _Job:
    """One job; None in `chunks` is its end."""

    number: int
    line: bytes
    chunks: asyncio.Queue[bytes | ProviderError | ConfigError | None] = field(default_factory=asyncio.Queue)
    begun: bool = False
    left: bool = False
    sent: int = 0


class Engine:
    """One model; several requests wait in the order in which they came.

    Args:
        path: The model's file.
        context: Tokens of context to load it with.
        named: Who it is, for errors: ``local.main``.
        worker: The command that holds the model.
    """

    def __init__(self, path: Path, *, context: int, named: str, worker: Sequence[str] = WORKER) -> None:
        self._path, self._context, self._named, self._worker = path, context, named, tuple(worker)
        self._numbers = itertools.count(1)
        self._jobs: dict[int, _Job] = {}
        self._process: asyncio.subprocess.Process | None = None
        self._running: asyncio.Task[None] | None = None
        self._words: deque[str] = deque(maxlen=LAST_WORDS)
        self._ready = self._killed = self._closed = False

    @property
    def pid(self) -> int | None:
        """The process that holds the model; None when none does."""
        return None if self._process is None else self._process.pid

    async def stream(self, work: str, body: Mapping[str, object]) -> AsyncGenerator[bytes, None]:
        """Do one job and yield its chunks as JSON; leaving the iterator stops the job at once.

        Raises:
            ConfigError: the package is missing, or the model cannot be loaded.
            ProviderError: the process ended.
        """
        number = next(self._numbers)
        job = _Job(number, dumps({"job": number, "work": work, "body": body}) + b"\n")
        self._jobs[number] = job
        self._go_on()
        try:
            while (chunk := await job.chunks.get()) is not None:
                if isinstance(chunk, Exception):
                    raise chunk
                yield chunk
        finally:
            self._leave(job)

    async def complete(self, body: Mapping[str, object]) -> tuple[Mapping[str, Any], ...]:
        """Complete a prompt and return the chunks; raises what `stream` raises."""
        async with aclosing(self.stream("complete", body)) as chunks:
            return tuple([orjson.loads(chunk) async for chunk in chunks])

    async def close(self) -> None:
        """End the process, which frees the model; safe to call twice."""
        self._closed = True
        for job in self._jobs.values():
            job.chunks.put_nowait(ProviderError(f"{self._named} was closed"))
        self._jobs.clear()
        running, process = self._running, self._process
        if running is None:
            return
        if process is not None and process.stdin is not None:
            process.stdin.close()
        try:
            await asyncio.wait([running], timeout=GRACE_S)
        finally:
            self._kill()
            await asyncio.wait([running])

    def _go_on(self) -> None:
        """Start the process when none runs, or give it what waits."""
        if self._closed:
            self._fail(ProviderError(f"{self._named} was closed"))
        elif self._running is None:
            self._running = asyncio.get_running_loop().create_task(self._run())
        elif self._ready:
            self._send()

    def _send(self) -> None:
        pipe = None if self._process is None else self._process.stdin
        for job in self._jobs.values():
            if pipe is not None and not job.sent:
                job.sent = 1
                pipe.write(job.line)

    def _leave(self, job: _Job) -> None:
        """Nobody waits for a job any more."""
        if self._jobs.get(job.number) is not job:
            return
        job.left = True
        pipe = None if self._process is None else self._process.stdin
        if not job.sent or pipe is None:
            del self._jobs[job.number]
            return
        pipe.write(b'{"stop":%d}\n' % job.number)
        asyncio.get_running_loop().call_later(GRACE_S, self._overdue, job)

    def _overdue(self, job: _Job) -> None:
        if self._jobs.get(job.number) is job and job.begun:
            self._kill()

    def _kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._killed = True
            self._process.kill()

    async def _run(self) -> None:
        """Run one process from its start to its end."""
        self._killed = self._ready = False
        self._words.clear()
        folder = ""
        try:
            folder = _short_folder()
            self._process = await asyncio.create_subprocess_exec(
                *self._worker,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env={name: os.environ[name] for name in PASSED_ON if name in os.environ},
                limit=LONGEST_LINE,
                start_new_session=True,  # a Ctrl-C at the terminal is the parent's business
            )
            await self._talk(self._process, f"{folder}/model.sock")
        except OSError as error:
            self._fail(ProviderError(f"{self._named}: its process cannot be started: {error.strerror}"))
        finally:
            self._kill()
            if self._process is not None:
                await self._process.wait()
            shutil.rmtree(folder, ignore_errors=True)
            self._process, self._running, self._ready = None, None, False
        if self._jobs and not self._closed:
            self._go_on()

    async def _talk(self, process: asyncio.subprocess.Process, socket: str) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        listening = asyncio.ensure_future(self._listen(process.stderr))
        wish = {"model": str(self._path), "context": self._context, "batch": BATCH, "socket": socket}
        process.stdin.write(dumps(wish) + b"\n")
        while line := await process.stdout.readline():
            self._take(line)
        await process.wait()
        await listening
        self._ended(process.returncode or 0)

    async def _listen(self, pipe: asyncio.StreamReader) -> None:
        while line := await pipe.readline():
            self._words.append(line.decode("utf-8", "replace").strip())

    def _take(self, line: bytes) -> None:
        number, _, rest = line.partition(b" ")
        word, _, body = rest.partition(b" ")
        job = self._jobs.get(int(number))
        if word == b"ready":
            self._ready = True
            self._send()
        elif word == b"failed":
            self._fail(load_fault(self._named, self._path, orjson.loads(body), tuple(self._words)))
        elif job is None:
            return
        elif word == b"begun":
            job.begun = True
            if job.left:
                asyncio.get_running_loop().call_later(GRACE_S, self._overdue, job)
        elif word == b"end":
            del self._jobs[job.number]
            job.chunks.put_nowait(None)
        else:
            job.chunks.put_nowait(body.strip())

    def _ended(self, code: int) -> None:
        """Tell the jobs that the process was doing; those that had not begun are done by the next one."""
        for job in [job for job in self._jobs.values() if job.left or job.begun or (job.sent and not self._killed)]:
            del self._jobs[job.number]
            job.chunks.put_nowait(self._death(code))
        for job in self._jobs.values():
            job.sent = 0
        if not self._ready and not self._killed:
            self._fail(self._death(code))

    def _death(self, code: int) -> ProviderError:
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
        said = next((f": {words}" for words in reversed(self._words) if words), "")
        return ProviderError(
            f"{self._named}: the process that holds the model {how}{said[:400]}",
            hint="if it recurs, choose a smaller context_tokens or another model: the memory may not suffice",
        )

    def _fail(self, error: ProviderError | ConfigError) -> None:
        for job in self._jobs.values():
            job.chunks.put_nowait(error)
        self._jobs.clear()


def _short_folder() -> str:
    """Make a folder of this user; the name of a socket in it must stay under about 100 bytes."""
    place = tempfile.gettempdir()
    return tempfile.mkdtemp(prefix="ferrule-local-", dir=place if len(os.fsencode(place)) < 70 else "/tmp")
