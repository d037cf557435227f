"""Reads what a person types: with editing and history on a terminal, line by line from a pipe."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from ...config.layout import Layout
from ..approve import ReadLine
from ..incoming import Lines, refuse_nul, text_of
from ..terminal import prompt_output

if TYPE_CHECKING:
    from prompt_toolkit.history import History

LONGEST_REMEMBERED = 10_000
"""Characters of a line that the history keeps; a paste of megabytes would be loaded at every start."""


def make_reader(out: Console, place: Layout) -> ReadLine:
    """Return what reads a line for as long as the chat lasts.

    Raises:
        OSError: the history cannot be opened.
    """
    if not sys.stdin.isatty():
        return _of_a_pipe()
    from prompt_toolkit import PromptSession

    place.prepare()
    history = _history(out, place.home / "state" / "chat_history")
    session: PromptSession[str] = PromptSession(history=history, output=prompt_output(sys.stdout))

    async def read(prompt: str) -> str:
        line = await session.prompt_async(prompt)
        refuse_nul(line, "the line")
        return line

    return read


def _of_a_pipe() -> ReadLine:
    lines = Lines(sys.stdin.fileno())

    async def read(prompt: str) -> str:
        return text_of(await lines.read(), "the line")

    return read


def _history(out: Console, path: Path) -> History:
    from prompt_toolkit.history import FileHistory

    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))

    class ChatHistory(FileHistory):
        def store_string(self, string: str) -> None:
            if len(string) > LONGEST_REMEMBERED:
                return
            try:
                super().store_string(string)
            except OSError as error:  # the message itself is not lost: only the arrow key will not bring it back
                out.print(f"not kept in the history of this prompt: {error.strerror}", style="yellow")

    return ChatHistory(str(path))
