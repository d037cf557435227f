"""Connecting that is cancelled at each of its steps, just when what it waited for has come."""

from __future__ import annotations

import asyncio
import os
import ssl
from pathlib import Path

from ferrule.sandbox._http1 import Pool
from ferrule.sandbox._http1.connection import Connection
from ferrule.sandbox._http1.pool import Server
from tests.providers._vendor import vendor, whole
from tests.sandbox._certificate import CERTIFICATE, untrusted


async def cancelled_at(step: int, task: asyncio.Task[Connection]) -> None:
    """Cancel a task between the end of its `step`-th wait and its going on."""
    met: set[int] = set()
    seen: list[object] = []  # kept, so that no id is used twice
    while not task.done():
        waiter = task._fut_waiter  # type: ignore[attr-defined]  # no public name tells what a task waits for
        if waiter is not None and waiter.done() and id(waiter) not in met:
            met.add(id(waiter))
            seen.append(waiter)
            if len(met) == step:
                task.cancel()
                return
        await asyncio.sleep(0)


async def test_a_cancelled_handshake_leaves_no_transport_on_a_descriptor_of_others(tmp_path: Path) -> None:
    async with vendor(whole(b"x"), tls=untrusted(tmp_path)) as server:
        before, cancelled, step = len(os.listdir("/proc/self/fd")), 0, 0
        pool = Pool(20.0)
        pool._tls = ssl.create_default_context(cadata=CERTIFICATE)
        while True:
            step += 1
            task = asyncio.ensure_future(pool.connection(Server("localhost", server.port, is_tls=True), 10))
            await cancelled_at(step, task)
            await asyncio.wait([task])
            if not task.cancelled():
                break
            cancelled += 1
        task.result().abort()
        await pool.close()
        for _ in range(100):
            if len(os.listdir("/proc/self/fd")) > before:
                await asyncio.sleep(0.01)  # the server's sides are closed when it sees the end
        assert len(os.listdir("/proc/self/fd")) <= before
        assert cancelled >= 2
