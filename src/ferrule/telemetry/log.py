"""The log: every record of the process as one JSON line, written by a thread of its own.

The ids that are bound in `types.log_context` are read where the record is
made, in the task it belongs to; secrets are masked where it is written, so
that records of libraries are covered, too.
"""

from __future__ import annotations

import copy
import logging
import queue
import sys
from collections.abc import Callable
from logging.handlers import QueueHandler, QueueListener
from pathlib import Path

import orjson

from ..ports.guard import Guard
from ..types.log_context import current
from .rotated import RotatedFile

WAITING = 10_000
"""Records that may wait for the disk; more are counted and dropped, so that a slow disk cannot fill the memory."""

_IDS = "ferrule_ids"
_FORMAT = logging.Formatter()


def start_logging(path: Path, level: str, guard: Guard, *, max_bytes: int = 10_000_000) -> Callable[[], None]:
    """Send every record of this process to `path`.

    Args:
        path: The file; its folder is made.
        level: ``debug``, ``info``, ``warning`` or ``error``.
        guard: Masks secrets.
        max_bytes: Size of one file; three older ones are kept.

    Returns:
        A function that writes what waits, closes the file and puts logging back as it was.

    Raises:
        OSError: the file cannot be opened.
    """
    waiting: queue.Queue[logging.LogRecord | None] = queue.Queue(WAITING)
    sink = _Sink(RotatedFile(path, max_bytes), guard)
    source = _Source(waiting, sink)
    listener = _Listener(waiting, sink)
    root = logging.getLogger()
    before = root.level
    root.setLevel(level.upper())
    root.addHandler(source)
    listener.start()

    def stop() -> None:
        root.removeHandler(source)
        root.setLevel(before)
        listener.stop()
        sink.close()

    return stop


class _Source(QueueHandler):
    """Runs in the task that logs: reads its ids, and never waits."""

    def __init__(self, waiting: queue.Queue[logging.LogRecord | None], sink: _Sink) -> None:
        super().__init__(waiting)
        self._waiting = waiting
        self._sink = sink

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        """Turn arguments and exception into text now: they may change, or not live, until they are written."""
        ready = copy.copy(record)
        ready.msg = record.getMessage()
        ready.args = None
        if record.exc_info and not record.exc_text:
            ready.exc_text = _FORMAT.formatException(record.exc_info)
        ready.exc_info = None
        ready.__dict__[_IDS] = current()
        return ready

    def enqueue(self, record: logging.LogRecord) -> None:
        """Hand over, or count."""
        try:
            self._waiting.put_nowait(record)
        except queue.Full:
            self._sink.lost += 1


class _Listener(QueueListener):
    """Waits for room when it is told to stop, so that stopping works with a full queue."""

    def __init__(self, waiting: queue.Queue[logging.LogRecord | None], sink: _Sink) -> None:
        super().__init__(waiting, sink)
        self._waiting = waiting

    def enqueue_sentinel(self) -> None:
        """Mark the end."""
        self._waiting.put(None)


class _Sink(logging.Handler):
    """Runs in the log's thread: masks, encodes, writes."""

    def __init__(self, file: RotatedFile, guard: Guard) -> None:
        super().__init__()
        self._file = file
        self._guard = guard
        self.lost = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line; when that fails, count it and say so with the next one that succeeds."""
        try:
            self._write(self._entry(record))
            if self.lost:
                lost, self.lost = self.lost, 0
                entry = {"at_ms": int(record.created * 1000), "level": "error", "logger": __name__}
                self._write({**entry, "message": f"{lost} log records could not be written"})
        except OSError as error:
            if not self.lost:
                print(f"ferrule: the log cannot be written: {error.strerror}", file=sys.stderr)  # noqa: T201 - no log
            self.lost += 1

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()

    def _entry(self, record: logging.LogRecord) -> dict[str, object]:
        entry: dict[str, object] = {
            "at_ms": int(record.created * 1000),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._clean(str(record.msg)),
        }
        for name, value in record.__dict__[_IDS].items():
            entry[name] = self._clean(value)
        if record.exc_text:
            entry["error"] = self._clean(record.exc_text)
        return entry

    def _clean(self, text: str) -> str:
        """Mask before the line is encoded: escapes would hide a secret. A lone surrogate is no UTF-8."""
        return self._guard.clean(text).encode("utf-8", "replace").decode()

    def _write(self, entry: dict[str, object]) -> None:
        self._file.write(orjson.dumps(entry, option=orjson.OPT_APPEND_NEWLINE))
