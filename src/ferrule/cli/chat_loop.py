"""The conversation: read a line, show the answer, until the person leaves."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from ..app.home import Home, read_home
from ..app.runtime import Choices, OpenAgent, open_agent
from ..types.errors import FerruleError
from ..types.events import AgentEvent
from .approve import TerminalApprover
from .consent import agree_to_key
from .printable import printable
from .render import ChatView
from .slash import HELP, HandCall, Word, parse_slash

ReadLine = Callable[[str], Awaitable[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """What the command line asked for."""

    alias: str
    session_id: str
    fork: bool
    yes: bool
    folder: str


async def chat_loop(options: ChatOptions) -> int:
    """Hold the conversation; returns the exit code."""
    console = Console()
    home = read_home(os.environ, agents=(options.alias,))
    await agree_to_key(console, home, options.alias, yes=options.yes)
    read_line = make_reader(home)
    choices = Choices(alias=options.alias, session_id=options.session_id, fork=options.fork, folder=options.folder)
    async with open_agent(home, choices, approver=TerminalApprover(console, read_line)) as opened:
        console.print(opened.describe(), style="dim", markup=False, highlight=False)
        console.print("/help shows what you can type", style="dim")
        if opened.in_doubt:
            console.print(printable(opened.in_doubt), style="yellow", markup=False, highlight=False)
        await _converse(console, opened, read_line)
        console.print(f"to go on: ferrule chat --session {opened.session_id}", style="dim")
    return 0


def make_reader(home: Home) -> ReadLine:
    """Return what reads a line: with editing and history on a terminal, plain in a pipe."""
    if not sys.stdin.isatty():
        return _read_plain
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import FileHistory

    home.layout.prepare()
    path = home.layout.home / "state" / "chat_history"
    path.touch(mode=0o600)
    session: PromptSession[str] = PromptSession(history=FileHistory(str(path)))

    async def read(prompt: str) -> str:
        return await session.prompt_async(prompt)

    return read


async def _read_plain(prompt: str) -> str:
    line: str = await asyncio.to_thread(sys.stdin.readline)
    if not line:
        raise EOFError
    return line.removesuffix("\n")


async def _converse(console: Console, opened: OpenAgent, read_line: ReadLine) -> None:
    while True:
        try:
            line = (await read_line("you> ")).rstrip()
        except EOFError:
            return
        except KeyboardInterrupt:
            continue
        if not line.strip():
            continue
        try:
            wanted = parse_slash(line)
        except FerruleError as error:
            _tell(console, error)
            continue
        if wanted == Word(name="quit"):
            return
        await _stoppable(console, _act(console, opened, line, wanted))


async def _act(console: Console, opened: OpenAgent, line: str, wanted: HandCall | Word | None) -> None:
    try:
        if wanted is None:
            await _show(console, opened.agent.stream(line))
        elif isinstance(wanted, HandCall):
            await _call_by_hand(console, opened, wanted)
        elif wanted.name == "tools":
            _list_tools(console, opened)
        else:
            console.print(HELP, end="", markup=False, highlight=False)
    except FerruleError as error:
        _tell(console, error)


async def _show(console: Console, events: AsyncIterator[AgentEvent]) -> None:
    view = ChatView(console)
    async with aclosing(events) as stream:  # type: ignore[type-var]  # `stream` is an async generator
        async for event in stream:
            view.show(event)


async def _call_by_hand(console: Console, opened: OpenAgent, wanted: HandCall) -> None:
    view = ChatView(console)
    result = await opened.agent.call(wanted.tool, wanted.arguments, on_event=view.show)
    console.print(printable(result.content), markup=False, highlight=False)


def _list_tools(console: Console, opened: OpenAgent) -> None:
    for name, summary in opened.tools:
        console.print(f"  {name:<16} {summary}", markup=False, highlight=False)


async def _stoppable(console: Console, work: Coroutine[Any, Any, None]) -> None:
    """Run one answer; Ctrl-C stops the answer, not the chat."""
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)
    loop.add_signal_handler(signal.SIGINT, task.cancel)
    try:
        await asyncio.wait([task])
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        if not task.done():
            task.cancel()
            await asyncio.wait([task])
    if task.cancelled():
        console.print("stopped", style="yellow")
    elif (error := task.exception()) is not None:
        raise error


def _tell(console: Console, error: FerruleError) -> None:
    console.print(f"error: {printable(str(error))}", style="red", markup=False, highlight=False)
    if error.hint:
        console.print(f"  fix: {printable(error.hint)}", style="yellow", markup=False, highlight=False)
