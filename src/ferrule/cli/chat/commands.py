"""Carries out the commands of the chat itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from pathlib import PurePath

from rich.console import Console

from ...app.home import Home
from ...app.runtime import OpenAgent
from ...types.errors import StoreError, UsageError
from ..printable import one_line, printable
from ..sessions_look import when
from ..sessions_transfer import export
from .policy_text import policy_lines
from .slash import HELP, Word
from .tokens import TokenMeter, cost_lines

LISTED = 10
"""Sessions and models that are listed; `ferrule sessions` shows more."""

KINDS = {".md": "markdown", ".json": "json"}


class ChatCommands:
    """Carries out one word at a time; what cannot be done raises and changes nothing."""

    def __init__(self, out: Console, opened: OpenAgent, meter: TokenMeter, home: Home) -> None:
        self._out = out
        self._opened = opened
        self._meter = meter
        self._home = home
        self._words: dict[str, Callable[[str], Awaitable[None]]] = {
            "help": self._help,
            "tools": self._tools,
            "policy": self._policy,
            "cost": self._cost,
            "model": self._model,
            "new": self._new,
            "resume": self._resume,
            "undo": self._undo,
            "redo": self._redo,
            "export": self._export,
        }

    async def run(self, word: Word) -> None:
        """Do it.

        Raises:
            FerruleError: it cannot be done; says why, and what to do.
        """
        await self._words[word.name](word.rest)

    async def _help(self, _: str) -> None:
        self._say(HELP.rstrip("\n").split("\n"))

    async def _tools(self, _: str) -> None:
        self._say(f"  {name:<16} {summary}" for name, summary in self._opened.tools)

    async def _policy(self, _: str) -> None:
        opened = self._opened
        gate = opened.gate
        self._say([f"agent: {opened.alias}"])
        self._say(policy_lines(gate.policy, opened.limits, label=gate.label, always=gate.remembered))

    async def _cost(self, _: str) -> None:
        self._say(cost_lines(self._meter))

    async def _model(self, name: str) -> None:
        opened = self._opened
        if not name:
            self._say([f"the model is {opened.model or 'not named'}, of the provider {opened.provider}"])
            self._say(f"  {one}" for one in (await opened.desk.models())[:LISTED])
            return
        if len(name.split()) > 1:
            raise UsageError(f"{one_line(name, 60)!r} is no model's name", hint="type /model NAME")
        await opened.desk.use_model(name)
        self._meter.forget_context()
        self._say([f"{name} answers from now on; the next answer shows whether {opened.provider} has it"])

    async def _new(self, _: str) -> None:
        left = self._opened.session_id if self._opened.agent.session.messages else ""
        await self._opened.desk.new()
        self._meter.forget_context()
        self._say(["a new session"])
        if left:
            self._say([f"to go back: /resume {left}"])

    async def _resume(self, beginning: str) -> None:
        desk = self._opened.desk
        if not beginning:
            found = [one for one in await desk.sessions(LISTED) if one.id != self._opened.session_id]
            self._say(f"{one.id}  {when(one.changed_ms)}  {one_line(one.title, 40)}" for one in found)
            self._say(["/resume ID goes on in one" if found else "there is no other session of this agent yet"])
            return
        await desk.resume(beginning)
        self._meter.forget_context()
        session = self._opened.agent.session
        self._say([f"in session {session.id}, {_counted(len(session.messages), 'message')}"])
        if self._opened.in_doubt:
            self._say([self._opened.in_doubt])

    async def _undo(self, turns: str) -> None:
        if turns and not (turns.isascii() and turns.isdigit() and int(turns[:9]) > 0 and len(turns) < 10):
            raise UsageError(f"{one_line(turns, 60)!r} is no number of turns", hint="type /undo, or /undo 2")
        change = await self._opened.desk.undo(int(turns or 1))
        self._meter.forget_context()
        self._say(
            [
                f"took back {_counted(change.turns, 'turn')} ({_counted(change.messages, 'message')})",
                "only the conversation changed: files, and whatever else tools did, are as they were",
                "/redo brings it back, until something new is said",
            ]
        )

    async def _redo(self, _: str) -> None:
        change = await self._opened.desk.redo()
        self._meter.forget_context()
        self._say([f"brought back {_counted(change.turns, 'turn')} ({_counted(change.messages, 'message')})"])

    async def _export(self, file: str) -> None:
        kind = KINDS.get(PurePath(file).suffix.lower())
        if kind is None:
            raise UsageError(
                f"the name of {one_line(file, 60)!r} does not tell its form",
                hint="end it with .md for people, or with .json for `ferrule sessions import`",
            )
        if not self._opened.agent.session.messages:
            raise UsageError("there is nothing to write: nothing was said yet", hint="say something first")
        try:
            await export(self._home, self._opened.session_id, kind, file)
        except OSError as error:
            raise StoreError(
                f"{one_line(file, 60)!r} cannot be written: {error.strerror}", hint="name a file in a folder of yours"
            ) from error

    def _say(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._out.print(printable(line), markup=False, highlight=False, soft_wrap=False)


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
