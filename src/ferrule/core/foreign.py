"""Code of other people: hooks, tools, sources, approvers, observers. Whatever it raises is a value here.

Only what ends a process (`SystemExit`, `KeyboardInterrupt`) and a real
cancellation of the present task pass through. A `CancelledError` that nobody
asked for, leaked from something such code waited for, is a fault like any other.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import CoroutineType


@dataclass(frozen=True, slots=True)
class Broke:
    """What foreign code raised instead of returning."""

    error: BaseException

    @property
    def told(self) -> str:
        """Name the fault in one line."""
        try:
            text = str(self.error)
        # The words of an exception are foreign code, too.
        except Exception:
            text = ""
        return f"{type(self.error).__name__}: {text}" if text else type(self.error).__name__


async def ran(work: Callable[..., object], *arguments: object) -> object:
    """Call and await foreign code; returns its value, or `Broke`."""
    try:
        outcome = work(*arguments)
        return await outcome if type(outcome) is CoroutineType or inspect.isawaitable(outcome) else outcome
    except asyncio.CancelledError as stop:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return Broke(stop)
    except (SystemExit, KeyboardInterrupt, GeneratorExit):  # the last closes this very coroutine
        raise
    # Foreign code may raise anything; what it means is decided by whoever called it.
    except BaseException as error:
        return Broke(error)


def called(work: Callable[..., object], *arguments: object) -> object:
    """Call foreign code that does not wait; returns its value, or `Broke`."""
    try:
        return work(*arguments)
    # The same for code that only looks on, or only lists.
    except Exception as error:
        return Broke(error)
