"""The conversation: read a line, show the answer, until the person leaves."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ParamSpec

from rich.console import Console

from ...app.desk import Desk
from ...app.home import Home, read_home
from ...app.runtime import Choices, OpenAgent, open_agent
from ...types.errors import FerruleError, UsageError
from ...types.events import AgentEvent
from ..approve import TerminalApprover
from ..complaint import fix_of
from ..consent import agree_to_key
from ..printable import printable
from ..render import ChatView
from ..standard_streams import OutputFailed
from ..terminal import console, is_plain
from .commands import ChatCommands
from .completion import MOST, make_completer
from .line_reader import Reader, make_reader
from .progress import Progress
from .slash import HandCall, Word, parse_slash
from .tokens import TokenMeter, status_line

if TYPE_CHECKING:
    from prompt_toolkit.completion import Completer

P = ParamSpec("P")

PATIENCE_S = 3.0
"""Seconds in which a server may name its models for a completion."""


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
    offers = Offers(options.folder)
    reader = make_reader(out, home.layout, offers.completer, plain=is_plain())
    approver = TerminalApprover(out, answering.guarded(reader.answer), edit=answering.guarded(reader.edit))
    choices = Choices(alias=options.alias, session_id=options.session_id, fork=options.fork, folder=options.folder)
    async with open_agent(home, choices, approver=approver) as opened:
        approver.check_with(opened.faults_of)
        offers.of(opened.desk)
        out.print(opened.describe(), style="dim", markup=False, highlight=False, soft_wrap=True)
        out.print("/help shows what you can type", style="dim")
        if opened.in_doubt:
            out.print(printable(opened.in_doubt), style="yellow", markup=False, highlight=False, soft_wrap=True)
        await Talk(out, home, opened, answering).go_on(reader)
        if opened.agent.session.messages:
            out.print(f"to go on: ferrule chat --session {opened.session_id}", style="dim", soft_wrap=True)
    return 0


class Answering:
    """The answer that is being made; Ctrl-C stops it, not the chat."""

    def __init__(self, out: Console) -> None:
        self._out = out
        self._task: asyncio.Future[None] | None = None
        self.progress: Progress | None = None

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

    def guarded(self, read: Callable[P, Awaitable[str]]) -> Callable[P, Awaitable[str]]:
        """Return the same for questions inside an answer: Ctrl-C there is a typed key, and stops the answer too."""

        async def guarded(*given: P.args, **named: P.kwargs) -> str:
            progress = self.progress
            if progress is not None:
                progress.pause()
            try:
                while True:
                    try:
                        return await read(*given, **named)
                    except UsageError as error:  # no text, or too much: asked again
                        tell(self._out, error)
            except KeyboardInterrupt:
                self._stop()
                stopped: asyncio.Future[str] = asyncio.get_running_loop().create_future()
                return await stopped  # nothing but the cancellation ends it
            finally:
                if progress is not None:
                    progress.resume()
                self._listen()  # a prompt takes the signal for itself, and leaves nobody with it

        return guarded

    def _listen(self) -> None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._stop)

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()


class Talk:
    """Reads, and acts on what was read, until the person leaves."""

    def __init__(self, out: Console, home: Home, opened: OpenAgent, answering: Answering) -> None:
        self._out = out
        self._answering = answering
        self._opened = opened
        self._meter = TokenMeter()
        self._commands = ChatCommands(out, opened, self._meter, home)
        self._status = self._status_now()

    async def go_on(self, reader: Reader) -> None:
        """Converse until the input ends or /quit is typed."""
        while True:
            try:
                self._show_status()
                line = (await reader.line("you> ")).rstrip()
                wanted = parse_slash(line)
            except EOFError:
                return
            except KeyboardInterrupt:
                continue
            except OutputFailed:
                raise
            except FerruleError as error:
                tell(self._out, error)
                continue
            if wanted == Word(name="quit"):
                return
            if line.strip():
                await self._answering.run(self._act(line, wanted))

    async def _act(self, line: str, wanted: HandCall | Word | None) -> None:
        try:
            if isinstance(wanted, Word):
                await self._commands.run(wanted)
            elif isinstance(wanted, HandCall):
                await self._call_by_hand(wanted)
            else:
                await self._send(line)
        except OutputFailed:
            raise
        except FerruleError as error:
            tell(self._out, error)

    async def _send(self, line: str) -> None:
        with self._shown() as show:
            async with aclosing(self._opened.agent.stream(line)) as stream:
                async for event in stream:
                    show(event)

    async def _call_by_hand(self, wanted: HandCall) -> None:
        with self._shown() as show:
            result = await self._opened.agent.call(wanted.tool, wanted.arguments, on_event=show)
        self._out.print(printable(result.content), markup=False, highlight=False)

    @contextmanager
    def _shown(self) -> Iterator[Callable[[AgentEvent], None]]:
        view, plain = ChatView(self._out, plain=is_plain()), is_plain()
        progress = self._answering.progress = Progress(self._out, plain=plain) if self._out.is_terminal else None

        def show(event: AgentEvent) -> None:
            self._meter.note(event)
            if progress is not None:
                progress.before(event)
            view.show(event)
            if progress is not None:
                progress.after(event)

        try:
            yield show
        finally:
            self._answering.progress = None
            if progress is not None:
                progress.stop()
            view.close()

    def _show_status(self) -> None:
        """Say who answers and what was used, when that has changed; a pipe has no use for it."""
        before, self._status = self._status, self._status_now()
        if self._status != before and self._out.is_terminal:
            self._out.print(printable(self._status), style="dim", markup=False, highlight=False)

    def _status_now(self) -> str:
        opened = self._opened
        return status_line(f"{opened.alias}: {opened.model or opened.provider}, {opened.gate.label}", self._meter)


class Offers:
    """What the prompt completes; it is made before the agent is open."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._desk: Desk | None = None

    def of(self, desk: Desk) -> None:
        """Complete sessions and models of this desk from now on."""
        self._desk = desk

    def completer(self) -> Completer:
        """Return what a prompt asks."""
        return make_completer({"resume": self._sessions, "model": self._models}, self._folder)

    async def _sessions(self) -> list[str]:
        if self._desk is None:
            return []
        try:
            return [one.id for one in await self._desk.sessions(MOST) if one.id != self._desk.agent.session.id]
        except FerruleError:
            return []  # /resume itself says what is wrong with the store

    async def _models(self) -> tuple[str, ...]:
        try:
            async with asyncio.timeout(PATIENCE_S):
                return await self._desk.models() if self._desk is not None else ()
        except TimeoutError:
            return ()


def tell(out: Console, error: FerruleError) -> None:
    """Show an error and what to do about it."""
    out.print(f"error: {printable(str(error))}", style="red", markup=False, highlight=False, soft_wrap=True)
    fix = fix_of(error.code, error.hint)
    if fix:
        out.print(f"  fix: {printable(fix)}", style="yellow", markup=False, highlight=False, soft_wrap=True)
