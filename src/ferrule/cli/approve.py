"""Asks the person at the terminal: yes, no, or always."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable

from rich.console import Console
from rich.syntax import Syntax

from ..types.access import NOBODY, ApprovalAnswer, ApprovalRequest
from .printable import printable
from .terminal import forget_typed_ahead, prompt_output

ReadLine = Callable[[str], Awaitable[str]]
"""Shows a prompt and returns one line; raises EOFError at the end of input."""


class TerminalApprover:
    """Shows what a call would do, with its diff or full command, and waits for an answer."""

    def __init__(self, console: Console, read_line: ReadLine, *, principal: str = "operator") -> None:
        self._console = console
        self._read_line = read_line
        self._principal = principal
        self._turn = asyncio.Lock()

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Ask; the end of input counts as nobody being there."""
        async with self._turn:
            self._show(request)
            forget_typed_ahead()
            return await self._answer(request)

    async def _answer(self, request: ApprovalRequest) -> ApprovalAnswer:
        choices = "[y]es, [n]o" + (f", [a]lways ({printable(request.pattern)})" if request.pattern else "")
        while True:
            try:
                word = (await self._read_line(f"Allow? {choices}: ")).strip().lower()
            except EOFError:
                return NOBODY
            if word in ("y", "yes"):
                return ApprovalAnswer(answer="allow", by=self._principal)
            if word in ("n", "no"):
                return ApprovalAnswer(answer="deny", by=self._principal)
            if word in ("a", "always") and request.pattern:
                return ApprovalAnswer(answer="always", by=self._principal)
            self._console.print("please answer y or n" + (" or a" if request.pattern else ""), style="yellow")

    def _show(self, request: ApprovalRequest) -> None:
        self._console.print(f"{printable(request.tool)} wants to run: {printable(request.reason)}", markup=False)
        if not request.preview:
            for key, value in request.arguments.items():
                self._console.print(f"  {printable(key)}: {printable(str(value))}", markup=False, highlight=False)
        elif request.preview.startswith(("---", "+++")):
            self._console.print(Syntax(printable(request.preview), "diff", background_color="default"))
        else:
            self._console.print(printable(request.preview), markup=False, highlight=False)


async def read_terminal_line(prompt: str) -> str:
    """Read one line from the terminal; cancellable, and standard output stays free for the answer.

    Raises:
        EOFError: standard input ended.
    """
    from prompt_toolkit import PromptSession

    session: PromptSession[str] = PromptSession(output=prompt_output(sys.stderr))
    return await session.prompt_async(prompt)
