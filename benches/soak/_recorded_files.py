"""Writes down what a program asks of its files through `os`, and lets calls fail.

The functions of `os` are replaced for the length of a block: use it in a
process of its own. What the product calls stays what it calls.
"""

from __future__ import annotations

import builtins
import fcntl
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ._disk import Resize, Sync, SyncFolder, Tape, Write
from ._faults import Faults

BY_PATH = (
    *("open", "replace", "rename", "link", "unlink", "remove", "mkdir", "rmdir"),
    *("stat", "lstat", "statvfs", "scandir", "listdir", "chmod"),
)
BY_DESCRIPTOR = ("close", "write", "pwrite", "read", "pread", "ftruncate", "fsync", "fdatasync", "fchmod", "fchown")
Call = Callable[..., Any]


class Recorder:
    """Stands between a program and its files.

    Attributes:
        skip_file_sync: Pretend to put files on disk, as code that forgot it would.
        skip_folder_sync: The same for folders.
    """

    def __init__(
        self, tape: Tape, faults: Faults, *, skip_file_sync: bool = False, skip_folder_sync: bool = False
    ) -> None:
        self._tape = tape
        self._faults = faults
        self._nodes: dict[int, int] = {}
        self._skip_file_sync = skip_file_sync
        self._skip_folder_sync = skip_folder_sync
        self._real: dict[str, Call] = {name: vars(os)[name] for name in (*BY_PATH, *BY_DESCRIPTOR)}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch what this process asks of its files."""
        whole_file, lock = builtins.open, fcntl.flock
        for name in BY_PATH:
            setattr(os, name, self._by_path(name))
        for name in BY_DESCRIPTOR:
            setattr(os, name, self._by_descriptor(name))
        builtins.open = io.open = self._whole_file(whole_file)
        fcntl.flock = self._lock(lock)
        try:
            yield
        finally:
            for name, call in self._real.items():
                setattr(os, name, call)
            builtins.open = io.open = whole_file
            fcntl.flock = lock

    def _by_path(self, name: str) -> Call:
        real = self._real[name]
        records: dict[str, Call] = {
            "open": self._opened,
            "replace": self._renamed,
            "rename": self._renamed,
            "link": self._linked,
            "unlink": self._removed,
            "remove": self._removed,
            "rmdir": self._removed,
            "mkdir": self._made,
        }
        record = records.get(name)

        def call(path: Any = ".", *more: Any, **named: Any) -> Any:
            place = self._place(path, named.get("dir_fd", named.get("src_dir_fd")))
            if not self._tape.watches(place):
                return real(path, *more, **named)
            if self._faults.due(name):
                raise self._faults.error()
            result = real(path, *more, **named)
            if record is not None:
                record(place, result, more, named)
            return result

        return call

    def _by_descriptor(self, name: str) -> Call:
        real = self._real[name]
        records: dict[str, Call] = {
            "close": self._closed,
            "write": self._written,
            "pwrite": self._written,
            "ftruncate": self._resized,
            "fsync": self._synced,
            "fdatasync": self._synced,
        }
        record = records.get(name)

        def call(descriptor: int, *more: Any) -> Any:
            node = self._nodes.get(descriptor)
            if node is None:
                return real(descriptor, *more)
            due = self._faults.due(name)
            if due and name == "close":  # the descriptor is gone all the same
                self._closed(descriptor, node, real(descriptor), more)
            if due:
                if name in ("fsync", "fdatasync") and not self._tape.is_folder(node):
                    self._tape.note(Sync(node, failed=True))
                raise self._faults.error()
            where = os.lseek(descriptor, 0, os.SEEK_CUR) if name == "write" else None
            result = real(descriptor, *more)
            if record is not None:
                record(descriptor, node, result, more if where is None else (*more, where))
            return result

        return call

    def _whole_file(self, real: Call) -> Call:
        def call(file: Any, *more: Any, **named: Any) -> Any:
            if isinstance(file, int) and file in self._nodes:
                return _written_through(file, more[0] if more else named["mode"])
            watched = not isinstance(file, int) and self._tape.watches(self._place(file, None))
            if watched and self._faults.due("open to read"):
                raise self._faults.error()
            return real(file, *more, **named)

        return call

    def _lock(self, real: Call) -> Call:
        def call(descriptor: Any, operation: int) -> None:
            if descriptor in self._nodes and self._faults.due("flock"):
                raise self._faults.error()
            real(descriptor, operation)

        return call

    def _place(self, path: Any, folder: int | None) -> str:
        if isinstance(path, int):
            return ""
        text = os.fsdecode(path)
        if folder is not None:
            return os.path.normpath(os.path.join(os.readlink(f"/proc/self/fd/{folder}"), text))
        return os.path.normpath(os.path.join(os.getcwd(), text))

    def _opened(self, place: str, descriptor: int, more: tuple[Any, ...], named: dict[str, Any]) -> None:
        flags = more[0] if more else named["flags"]
        node = self._tape.node(place)
        if node is None:
            if not flags & os.O_CREAT:
                return
            node = self._tape.make(place)
        elif flags & os.O_TRUNC:
            self._tape.note(Resize(node, 0))
        self._nodes[descriptor] = node

    def _renamed(self, place: str, _: object, more: tuple[Any, ...], named: dict[str, Any]) -> None:
        self._tape.rename(place, self._place(more[0], named.get("dst_dir_fd")))

    def _linked(self, place: str, _: object, more: tuple[Any, ...], named: dict[str, Any]) -> None:
        self._tape.link(place, self._place(more[0], named.get("dst_dir_fd")))

    def _removed(self, place: str, *_: object) -> None:
        self._tape.remove(place)

    def _made(self, place: str, *_: object) -> None:
        self._tape.make(place, is_folder=True)

    def _closed(self, descriptor: int, *_: object) -> None:
        self._nodes.pop(descriptor, None)

    def _written(self, _: int, node: int, count: int, more: tuple[Any, ...]) -> None:
        self._tape.note(Write(node, more[1], bytes(memoryview(more[0])[:count])))

    def _resized(self, _: int, node: int, __: object, more: tuple[Any, ...]) -> None:
        self._tape.note(Resize(node, more[0]))

    def _synced(self, _: int, node: int, *__: object) -> None:
        if self._tape.is_folder(node):
            if not self._skip_folder_sync:
                self._tape.note(SyncFolder(node))
        elif not self._skip_file_sync:
            self._tape.note(Sync(node))


class _Through(io.RawIOBase):
    """An open file that asks `os` for everything, as the one of the interpreter does below Python."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor

    def fileno(self) -> int:
        return self._descriptor

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return os.write(self._descriptor, data)

    def close(self) -> None:
        if not self.closed:
            super().close()
            os.close(self._descriptor)


def _written_through(descriptor: int, mode: str) -> Any:
    if mode not in ("w", "wb"):
        raise ValueError(f"a file that is opened for {mode!r} is not known here")
    buffered = io.BufferedWriter(_Through(descriptor))
    return buffered if mode == "wb" else io.TextIOWrapper(buffered, "utf-8")
