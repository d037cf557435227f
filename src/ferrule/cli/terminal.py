"""What a command finds around it: the terminal, the folder it was started in, the signals that end it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console

from ..types.errors import UsageError

if TYPE_CHECKING:
    from prompt_toolkit.output import Output

NARROWEST = 20
"""Columns; what is said to be narrower (COLUMNS=0) would show one letter a line, or nothing."""


def console(*, stderr: bool = False) -> Console:
    """Return a console of the terminal's width, which also a wrong COLUMNS cannot make unreadable."""
    made = Console(stderr=stderr)
    return made if made.width >= NARROWEST else Console(stderr=stderr, width=NARROWEST)


def make_plain() -> None:
    """Take the terminal for a dumb one from now on: no colours, nothing is redrawn; what is started sees the same."""
    os.environ["TERM"] = "dumb"


def is_plain() -> bool:
    """Tell whether nothing can be redrawn."""
    return os.environ.get("TERM", "").lower() in ("dumb", "unknown")


def prompt_output(stream: TextIO) -> Output:
    """Return where a prompt is drawn; a dumb terminal gets no control sequences, not even for its cursor."""
    from prompt_toolkit.output import create_output
    from prompt_toolkit.output.plain_text import PlainTextOutput
    from prompt_toolkit.utils import is_dumb_terminal

    return PlainTextOutput(stream) if is_dumb_terminal() else create_output(stdout=stream)


def forget_typed_ahead() -> None:
    """Forget what was typed before a question is shown: it cannot have been meant as an answer to it."""
    if not sys.stdin.isatty():
        return
    import termios

    from prompt_toolkit.application import get_app_session
    from prompt_toolkit.input.typeahead import clear_typeahead

    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    clear_typeahead(get_app_session().input)


def someone_is_there() -> bool:
    """Tell whether a person can be asked, and can answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def run_to_the_end(work: Coroutine[Any, Any, int]) -> int:
    """Run a command; Ctrl-C, being asked to end (SIGTERM) and a terminal that goes away (SIGHUP) cancel it.

    Cancelled, it still ends its child processes and keeps what was answered so far.

    Raises:
        KeyboardInterrupt: it was cancelled by any of the three.
    """
    try:
        return asyncio.run(_cancelled_by_signals(work))
    except asyncio.CancelledError as error:
        raise KeyboardInterrupt from error


async def _cancelled_by_signals(work: Coroutine[Any, Any, int]) -> int:
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        if task is not None and signal.getsignal(number) is not signal.SIG_IGN:  # `nohup` ignores SIGHUP
            loop.add_signal_handler(number, task.cancel)
    return await work


def working_folder() -> str:
    """Return the folder that the command was started in.

    Raises:
        UsageError: it was deleted, or its name is not UTF-8.
    """
    try:
        folder = os.getcwd()
    except FileNotFoundError as error:
        raise UsageError(
            "the folder this was started in has been deleted", hint="cd to a folder that exists, then repeat"
        ) from error
    try:
        folder.encode()
    except UnicodeEncodeError as error:
        shown = os.fsencode(folder).decode("utf-8", "backslashreplace")
        raise UsageError(
            f"the name of the folder this was started in is not UTF-8: {shown}", hint="rename it, or cd to another one"
        ) from error
    return folder
