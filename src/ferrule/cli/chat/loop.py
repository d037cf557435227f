"""The conversation: read a line, show the answer, until the person leaves."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Coroutine
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from ...app.home import read_home
from ...app.runtime import Choices, OpenAgent, open_agent
from ...types.errors import FerruleError
from ...types.events import AgentEvent
from ..approve import ReadLine, TerminalApprover
from ..complaint import fix_of
from ..consent import agree_to_key
from ..printable import printable
from ..render import ChatView
from ..standard_streams import OutputFailed
from ..terminal import console
from .line_reader import make_reader
from .slash import HELP, HandCall, Word, parse_slash


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
    out = console()
    home = read_home(os.environ, agents=(options.alias,))
    await agree_to_key(out, home, options.alias, yes=options.yes)
    answering = Answering(out)
    read_line = make_reader(out, home.layout)
    approver = TerminalApprover(out, answering.reader(read_line))
    choices = Choices(alias=options.alias, session_id=options.session_id, fork=options.fork, folder=options.folder)
    async with open_agent(home, choices, approver=approver) as opened:
        out.print(opened.describe(), style="dim", markup=False, highlight=False, soft_wrap=True)
        out.print("/help shows what you can type", style="dim")
        if opened.in_doubt:
            out.print(printable(opened.in_doubt), style="yellow", markup=False, highlight=False, soft_wrap=True)
        await _converse(out, opened, read_line, answering)
        if opened.agent.session.messages:
            out.print(f"to go on: ferrule chat --session {opened.session_id}", style="dim", soft_wrap=True)
    return 0


async def _converse(out: Console, opened: OpenAgent, read_line: ReadLine, answering: Answering) -> None:
    while True:
        try:
            line = (await read_line("you> ")).rstrip()
            wanted = parse_slash(line)
        except EOFError:
            return
        except KeyboardInterrupt:
            continue
        except OutputFailed:
            raise
        except FerruleError as error:
            _tell(out, error)
            continue
        if wanted == Word(name="quit"):
            return
        if line.strip():
            await answering.run(_act(out, opened, line, wanted))


class Answering:
    """The answer that is being made; Ctrl-C stops it, not the chat."""

    def __init__(self, out: Console) -> None:
        self._out = out
        self._task: asyncio.Future[None] | None = None

    async def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Do the work to its end, or until it is stopped."""
        self._task = task = asyncio.ensure_future(work)
        self._listen()
        try:
            await asyncio.wait([task])
        finally:
            asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)
            if not task.done():
                task.cancel()
                await asyncio.wait([task])
        if task.cancelled():
            self._out.print("stopped", style="yellow")
        else:
            task.result()

    def reader(self, read_line: ReadLine) -> ReadLine:
        """Return a reader for questions inside an answer: Ctrl-C there is a typed key, and stops the answer too."""

        async def read(prompt: str) -> str:
            try:
                return await read_line(prompt)
            except KeyboardInterrupt:
                self._stop()
                stopped: asyncio.Future[str] = asyncio.get_running_loop().create_future()
                return await stopped  # nothing but the cancellation ends it
            finally:
                self._listen()  # a prompt takes the signal for itself, and leaves nobody with it

        return read

    def _listen(self) -> None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._stop)

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()


async def _act(out: Console, opened: OpenAgent, line: str, wanted: HandCall | Word | None) -> None:
    try:
        if wanted is None:
            await _show(out, opened.agent.stream(line))
        elif isinstance(wanted, HandCall):
            await _call_by_hand(out, opened, wanted)
        elif wanted.name == "tools":
            _list_tools(out, opened)
        else:
            out.print(HELP, end="", markup=False, highlight=False)
    except OutputFailed:
        raise
    except FerruleError as error:
        _tell(out, error)


async def _show(out: Console, events: AsyncIterator[AgentEvent]) -> None:
    view = ChatView(out)
    try:
        async with aclosing(events) as stream:  # type: ignore[type-var]  # `stream` is an async generator
            async for event in stream:
                view.show(event)
    finally:
        view.close()


async def _call_by_hand(out: Console, opened: OpenAgent, wanted: HandCall) -> None:
    view = ChatView(out)
    result = await opened.agent.call(wanted.tool, wanted.arguments, on_event=view.show)
    out.print(printable(result.content), markup=False, highlight=False)


def _list_tools(out: Console, opened: OpenAgent) -> None:
    for name, summary in opened.tools:
        out.print(f"  {name:<16} {summary}", markup=False, highlight=False)


def _tell(out: Console, error: FerruleError) -> None:
    out.print(f"error: {printable(str(error))}", style="red", markup=False, highlight=False, soft_wrap=True)
    fix = fix_of(error.code, error.hint)
    if fix:
        out.print(f"  fix: {printable(fix)}", style="yellow", markup=False, highlight=False, soft_wrap=True)
