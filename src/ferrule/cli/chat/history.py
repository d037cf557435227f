"""What was typed in earlier chats, for the arrow keys: a private file that stays small."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from ...storage.atomic import write_atomic

if TYPE_CHECKING:
    from prompt_toolkit.history import History

LONGEST_REMEMBERED = 10_000
"""Characters of a line that the history keeps; a paste of megabytes would be loaded at every start."""

LARGEST = 1_048_576
"""Bytes of the file at which its older half is forgotten, at the next start."""


def open_history(out: Console, path: Path) -> History:
    """Open the history; only its owner can read it from now on.

    Raises:
        OSError: it cannot be opened.
        StoreError: it grew too large, and cannot be rewritten.
    """
    from prompt_toolkit.history import FileHistory

    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if os.fstat(number).st_mode & 0o077:
            os.fchmod(number, 0o600)
    finally:
        os.close(number)
    shorten(path)

    class ChatHistory(FileHistory):
        def store_string(self, string: str) -> None:
            if len(string) > LONGEST_REMEMBERED:
                return
            try:
                super().store_string(string)
            except OSError as error:  # the message itself is not lost: only the arrow key will not bring it back
                out.print(f"not kept in the history of this prompt: {error.strerror}", style="yellow")

    return ChatHistory(str(path))


def shorten(path: Path) -> None:
    """Forget the older half of a file that is too large; what is kept begins with a whole entry.

    Raises:
        OSError: it cannot be read.
        StoreError: it cannot be written; the old one stands.
    """
    if path.stat().st_size <= LARGEST:
        return
    with path.open("rb") as file:
        file.seek(-LARGEST // 2, os.SEEK_END)
        tail = file.read()
    start = tail.find(b"\n# ")  # an entry begins with a line that is a comment
    write_atomic(path, tail[start:] if start >= 0 else b"", mode=0o600)
