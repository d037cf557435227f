"""Completes commands, their arguments and the names of files, when Tab is pressed."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from .slash import COMMANDS

if TYPE_CHECKING:
    from prompt_toolkit.completion import Completer

MOST = 200
"""Names of files that are offered."""

OF_FILES = frozenset({"ls", "read", "export"})

Words = Callable[[], Awaitable[Iterable[str]]]
"""What the argument of a command may be."""


async def offered(before: str, words: dict[str, Words], folder: str) -> tuple[str, Sequence[str]]:
    """Say what could stand at the cursor.

    Args:
        before: What stands before it.
        words: For a command, what its argument may be.
        folder: The folder that names of files start from.

    Returns:
        The beginning that is there already, and the words that begin so.
    """
    command, space, rest = before.partition(" ")
    if command.startswith("/") and "\n" not in before:
        if not space:
            return command, [f"/{name}" for name in COMMANDS if f"/{name}".startswith(command)]
        if command[1:] in OF_FILES:
            return rest, files(folder, rest)
        known = words.get(command[1:])
        return rest, [word for word in await known() if word.startswith(rest)] if known is not None else ()
    last = before.split()[-1] if before and not before[-1].isspace() else ""
    return last, files(folder, last) if "/" in last else ()


def make_completer(words: dict[str, Words], folder: str) -> Completer:
    """Return what a prompt asks when Tab is pressed; the arguments are those of `offered`."""
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document

    class ChatCompleter(Completer):
        def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
            return iter(())  # the prompt asks the other one, which can wait for an answer

        async def get_completions_async(
            self, document: Document, complete_event: CompleteEvent
        ) -> AsyncGenerator[Completion, None]:
            begun, found = await offered(document.text_before_cursor, words, folder)
            for word in found:
                yield Completion(word, start_position=-len(begun))

    return ChatCompleter()


def files(folder: str, begun: str) -> list[str]:
    """Name what lies in a folder and begins with `begun`, folders with a slash at their end.

    Hidden files are offered when the name begins with a dot; a folder that
    cannot be read offers nothing.
    """
    head, name = os.path.split(begun)
    found = []
    try:
        with os.scandir(os.path.join(folder, head)) as entries:
            for entry in entries:
                hidden = entry.name.startswith(".") and not name
                if entry.name.startswith(name) and not hidden and entry.name.isprintable():
                    found.append(os.path.join(head, entry.name) + ("/" if entry.is_dir() else ""))
                if len(found) == MOST:
                    break
    except (OSError, ValueError):
        return []
    return sorted(found)
