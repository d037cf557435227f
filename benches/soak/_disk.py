"""What a disk holds after the power failed: a tape of what was asked of it, and the states that may be left.

The rules are those that POSIX promises, not those that one file system keeps
on good days:

- bytes are safe when `Sync` of their file returned; before that each sector
  of each write is there or not, whatever its neighbours do, and so is each
  change of length. What lies between kept sectors is zeros or rubbish.
- names are safe when `SyncFolder` of their folder returned; before that each
  making, renaming or removing of a name happened or not. One renaming
  happened whole or not at all. A synced file with a lost name is lost.
- a failed sync promises nothing: the bytes are there or not, and a later
  sync that succeeds does not bring them back.
"""

from __future__ import annotations

import os
import random
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

SCRATCH = "/dev/shm" if os.path.isdir("/dev/shm") else None
"""Where the files lie: real syncs prove nothing here, so they need not take their time."""

ROOT = 0
"""The number of the folder that was there, safely, before the tape began."""


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes were written to a file."""

    node: int
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Resize:
    """A file was cut, or grown by a hole."""

    node: int
    size: int


@dataclass(frozen=True, slots=True)
class Sync:
    """The bytes of a file were put on disk, or that failed."""

    node: int
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Names:
    """Names of a folder changed, all at once; None removes a name."""

    folder: int
    changes: tuple[tuple[str, int | None], ...]


@dataclass(frozen=True, slots=True)
class SyncFolder:
    """The names of a folder were put on disk."""

    folder: int


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """The product said that something is done."""

    what: str


Act = Write | Resize | Sync | Names | SyncFolder | Acknowledged


@dataclass
class Tape:
    """What was asked of the disk below one folder, in order.

    Attributes:
        root: The folder; nothing above it is watched.
        acts: The record.
    """

    root: Path
    acts: list[Act] = field(default_factory=list)
    _nodes: dict[str, int] = field(default_factory=dict)
    _folders: set[int] = field(default_factory=lambda: {ROOT})
    _next: int = 1

    def __post_init__(self) -> None:
        """The folder itself is there already."""
        self.root = Path(os.path.realpath(self.root))
        self._nodes[str(self.root)] = ROOT

    def watches(self, path: str) -> bool:
        """Tell whether a path is the folder, or lies below it."""
        return path == str(self.root) or path.startswith(f"{self.root}/")

    def node(self, path: str) -> int | None:
        """Return the number of what has this path, if anything has."""
        return self._nodes.get(path)

    def folder_of(self, path: str) -> int:
        """Return the number of the folder that a path lies in."""
        return self._parent(path)[0]

    def make(self, path: str, *, is_folder: bool = False) -> int:
        """Note a new file or folder; returns its number."""
        node, self._next = self._next, self._next + 1
        if is_folder:
            self._folders.add(node)
        self._nodes[path] = node
        folder, name = self._parent(path)
        self.acts.append(Names(folder, ((name, node),)))
        return node

    def remove(self, path: str) -> None:
        """Note that a name is gone."""
        del self._nodes[path]
        folder, name = self._parent(path)
        self.acts.append(Names(folder, ((name, None),)))

    def link(self, old: str, new: str) -> None:
        """Note that a file has one more name."""
        node = self._nodes[new] = self._nodes[old]
        folder, name = self._parent(new)
        self.acts.append(Names(folder, ((name, node),)))

    def rename(self, old: str, new: str) -> None:
        """Note that a name was given up for another of the same folder.

        Raises:
            ValueError: they are in two folders, which this record does not know.
        """
        node = self._nodes.pop(old)
        self._nodes[new] = node
        folder, old_name = self._parent(old)
        other, new_name = self._parent(new)
        if folder != other:
            raise ValueError(f"{old} was moved to another folder: {new}")
        self.acts.append(Names(folder, ((new_name, node), (old_name, None))))

    def note(self, act: Act) -> None:
        """Add to the record."""
        self.acts.append(act)

    def acknowledge(self, what: str) -> None:
        """Note that the product called something done."""
        self.acts.append(Acknowledged(what))

    def is_folder(self, node: int) -> bool:
        """Tell whether a number is that of a folder."""
        return node in self._folders

    def acknowledged(self, end: int) -> list[str]:
        """Return what had been acknowledged after the first `end` acts."""
        return [act.what for act in self.acts[:end] if isinstance(act, Acknowledged)]

    def _parent(self, path: str) -> tuple[int, str]:
        folder, _, name = path.rpartition("/")
        return self._nodes[folder], name


class Remains:
    """What may be left of the first acts of a tape, as one throw of the dice says."""

    def __init__(self, tape: Tape, end: int, chance: random.Random | None) -> None:
        """Throw the dice.

        Args:
            tape: The record.
            end: How many acts there were before the power failed.
            chance: The dice; None keeps everything, as if the power had stayed.
        """
        self._tape = tape
        self._chance = chance or random.Random(0)
        self._sector = self._chance.choice((512, 4096))
        self._keep = self._chance.choice((0.0, 0.2, 0.5, 0.8, 1.0)) if chance else 1.0
        self._keep_name = self._chance.choice((0.0, 0.5, 1.0)) if chance else 1.0
        self._rubbish = self._chance.random() < 0.2
        self.files: dict[int, bytearray] = defaultdict(bytearray)
        self.names: dict[int, dict[str, int]] = defaultdict(dict)
        waiting: dict[int, list[Write | Resize]] = defaultdict(list)
        renamed: dict[int, list[Names]] = defaultdict(list)
        for act in tape.acts[:end]:
            if isinstance(act, Write | Resize):
                waiting[act.node].append(act)
            elif isinstance(act, Sync):
                self._settle(waiting.pop(act.node, ()), 1.0 if not act.failed else self._keep)
            elif isinstance(act, Names):
                renamed[act.folder].append(act)
            elif isinstance(act, SyncFolder):
                self._name(renamed.pop(act.folder, ()), 1.0)
        for late in waiting.values():
            self._settle(late, self._keep)
        for unsure in renamed.values():
            self._name(unsure, self._keep_name)

    def write(self, folder: Path) -> None:
        """Make the files in a folder."""
        self._write(folder, ROOT)

    def _write(self, folder: Path, node: int) -> None:
        for name, inner in self.names[node].items():
            if self._tape.is_folder(inner):
                (folder / name).mkdir(mode=0o700)
                self._write(folder / name, inner)
            else:
                descriptor = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with open(descriptor, "wb") as file:
                    file.write(self.files[inner])

    def _settle(self, acts: Iterable[Write | Resize], keep: float) -> None:
        for act in acts:
            if isinstance(act, Write):
                self._put(act, keep)
            elif self._happens(keep):
                held = self.files[act.node]
                del held[act.size :]
                held.extend(bytes(act.size - len(held)))

    def _put(self, act: Write, keep: float) -> None:
        held, begin, end = self.files[act.node], act.offset, act.offset + len(act.data)
        while begin < end:
            until = end if keep >= 1.0 else min(end, begin - begin % self._sector + self._sector)
            if self._happens(keep):
                if len(held) < begin:
                    gap = begin - len(held)
                    held.extend(self._chance.randbytes(gap) if self._rubbish else bytes(gap))
                held[begin:until] = act.data[begin - act.offset : until - act.offset]
            begin = until

    def _name(self, acts: Iterable[Names], keep: float) -> None:
        for act in acts:
            if not self._happens(keep):
                continue
            for name, node in act.changes:
                if node is None:
                    self.names[act.folder].pop(name, None)
                else:
                    self.names[act.folder][name] = node

    def _happens(self, keep: float) -> bool:
        return keep >= 1.0 or self._chance.random() < keep
