"""Reads what a person types: with editing and history on a terminal, line by line from a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from rich.console import Console

from ...config.layout import Layout
from ...types.errors import UsageError
from ..incoming import Lines, refuse_nul, text_of
from ..terminal import prompt_output
from .history import open_history

if TYPE_CHECKING:
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.key_binding import KeyBindings

LARGEST_PASTE = 262_144
"""Characters that can be typed or pasted at once on a terminal; every key redraws them all."""

END_MARK = 6
"""Characters of the sequence that ends a paste; they may come in two pieces."""


class Reader(Protocol):
    """Where a person's words come from. Each method raises EOFError at their end."""

    async def line(self, prompt: str) -> str:
        """Read a message, perhaps of several lines.

        Raises:
            UsageError: it is no text, or too long.
            KeyboardInterrupt: Ctrl-C was typed.
        """
        ...

    async def answer(self, prompt: str) -> str:
        """Read the answer to a question; it is not remembered."""
        ...

    async def edit(self, prompt: str, text: str) -> str:
        """Let the person change a text in place; where that cannot be done, read the whole text anew."""
        ...


def make_reader(out: Console, place: Layout, completer: Callable[[], Completer], *, plain: bool) -> Reader:
    """Return what reads for as long as the chat lasts.

    Args:
        out: Where the person is told what is wrong with a paste.
        place: Where the history is kept.
        completer: Makes what completes words; called on a terminal only.
        plain: Nothing can be changed in place.

    Raises:
        OSError: the history cannot be opened.
    """
    if not sys.stdin.isatty():
        return PipeReader()
    place.prepare()
    return TerminalReader(out, place, completer(), plain=plain)


class PipeReader:
    """Lines of standard input that is no terminal."""

    def __init__(self) -> None:
        self._lines = Lines(sys.stdin.fileno())

    async def line(self, prompt: str) -> str:
        """Read a line."""
        return text_of(await self._lines.read(), "the line")

    async def answer(self, prompt: str) -> str:
        """Read a line."""
        return await self.line(prompt)

    async def edit(self, prompt: str, text: str) -> str:
        """Read a line."""
        return await self.line(prompt)


class TerminalReader:
    """Keys of a terminal, with editing, history and completion."""

    def __init__(self, out: Console, place: Layout, completer: Completer, *, plain: bool) -> None:
        from prompt_toolkit import PromptSession

        screen = prompt_output(sys.stdout)
        self._plain = plain
        self._refused = ""
        self._skipped = bound_pastes()
        self._messages: PromptSession[str] = PromptSession(
            history=open_history(out, place.home / "state" / "chat_history"),
            output=screen,
            key_bindings=self._keys(),
            completer=completer,
            complete_while_typing=False,
            reserve_space_for_menu=0 if plain else 8,  # a plain terminal would show the room as empty lines
            prompt_continuation="...  ",
        )
        self._answers: PromptSession[str] = PromptSession(output=screen, key_bindings=self._keys())

    async def line(self, prompt: str) -> str:
        """Read a message."""
        return self._checked(await self._messages.prompt_async(prompt))

    async def answer(self, prompt: str) -> str:
        """Read an answer."""
        return self._checked(await self._answers.prompt_async(prompt))

    async def edit(self, prompt: str, text: str) -> str:
        """Let the person change a text; on a plain terminal they write it anew."""
        return self._checked(await self._answers.prompt_async(prompt, default="" if self._plain else text))

    def _checked(self, text: str) -> str:
        refused, self._refused = self._refused, ""
        if refused:
            raise UsageError(refused, hint="put it into a file, and name the file in the message")
        if len(text) > LARGEST_PASTE:
            raise UsageError(_too_long(len(text)), hint="put it into a file, and name the file in the message")
        refuse_nul(text, "the line")
        return text

    def _keys(self) -> KeyBindings:
        from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
        from prompt_toolkit.keys import Keys

        keys = KeyBindings()

        @keys.add("escape", "enter")
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        @keys.add(Keys.BracketedPaste)
        def _(event: KeyPressEvent) -> None:
            pasted = event.data.replace("\r\n", "\n").replace("\r", "\n")
            size = len(event.current_buffer.text) + self._skipped() + len(pasted)
            if size > LARGEST_PASTE:
                self._refused = _too_long(size)
                event.app.exit(result="")
            else:
                event.current_buffer.insert_text(pasted)

        return keys


def bound_pastes() -> Callable[[], int]:
    """Let the terminal's input keep no more of a paste than fits; gathered whole, megabytes take half a minute.

    Returns:
        What tells, once for each paste, how many characters of it were not kept.
    """
    from prompt_toolkit.application import get_app_session
    from prompt_toolkit.input.vt100 import Vt100Input
    from prompt_toolkit.input.vt100_parser import Vt100Parser

    class BoundedParser(Vt100Parser):
        skipped = 0

        def feed(self, data: str) -> None:
            if self._in_bracketed_paste and len(self._paste_buffer) > LARGEST_PASTE:
                self.skipped += len(self._paste_buffer) - END_MARK
                self._paste_buffer = self._paste_buffer[-END_MARK:]
            super().feed(data)

    keys = get_app_session().input
    if not isinstance(keys, Vt100Input):
        return int
    parser = keys.vt100_parser = BoundedParser(keys.vt100_parser.feed_key_callback)

    def take() -> int:
        skipped, parser.skipped = parser.skipped, 0
        return skipped

    return take


def _too_long(size: int) -> str:
    return f"this has {size:,} characters, and {LARGEST_PASTE:,} fit here: nothing was sent"
