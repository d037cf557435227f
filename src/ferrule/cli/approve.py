"""Asks the person at the terminal: yes, no, always, changed so, or why."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping

import orjson
from rich.console import Console
from rich.syntax import Syntax

from ..core.guard import MASK
from ..types.access import NOBODY, ApprovalAnswer, ApprovalRequest
from ..types.codec import clean_value
from .printable import printable
from .terminal import forget_typed_ahead, prompt_output

ReadLine = Callable[[str], Awaitable[str]]
"""Shows a prompt and returns one line; raises EOFError at the end of input."""


Faults = Callable[[str, Mapping[str, object]], list[str]]
"""Says what is wrong with a tool's arguments."""


class TerminalApprover:
    """Shows what a call would do, with its diff or full command, and waits for an answer.

    Args:
        console: Where the question is shown.
        read_line: Reads an answer.
        edit: Reads changed arguments, beginning with the present ones; without it they cannot be changed.
        principal: Who answers.
    """

    def __init__(
        self,
        console: Console,
        read_line: ReadLine,
        *,
        edit: Callable[[str, str], Awaitable[str]] | None = None,
        principal: str = "operator",
    ) -> None:
        self._console = console
        self._read_line = read_line
        self._edit = edit
        self._principal = principal
        self._faults: Faults | None = None
        self._turn = asyncio.Lock()

    def check_with(self, faults: Faults) -> None:
        """From now on, say at once what is wrong with changed arguments; the dispatcher checks them in any case."""
        self._faults = faults

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Ask; the end of input counts as nobody being there."""
        async with self._turn:
            for _ in range(2):  # whoever shows the events shows first what came before the question
                await asyncio.sleep(0)
            self._show(request)
            forget_typed_ahead()
            return await self._answer(request)

    async def _answer(self, request: ApprovalRequest) -> ApprovalAnswer:
        choices = "[y]es, [n]o" + (f", [a]lways ({printable(request.pattern)})" if request.pattern else "")
        choices += f"{', [e]dit' if self._edit else ''}, e[x]plain"
        while True:
            try:
                word = (await self._read_line(f"Allow? {choices}: ")).strip().lower()
                if word in ("e", "edit") and self._edit is not None:
                    if (changed := await self._changed(request, self._edit)) is not None:
                        return ApprovalAnswer(answer="edit", by=self._principal, arguments=changed)
                    continue
            except EOFError:
                return NOBODY
            if word in ("y", "yes"):
                return ApprovalAnswer(answer="allow", by=self._principal)
            if word in ("n", "no"):
                return ApprovalAnswer(answer="deny", by=self._principal)
            if word in ("a", "always") and request.pattern:
                return ApprovalAnswer(answer="always", by=self._principal)
            if word in ("x", "explain"):
                self._say(explained(request))
                continue
            self._complain(f"please answer y or n{' or a' if request.pattern else ''}, or x for why")

    async def _changed(
        self, request: ApprovalRequest, edit: Callable[[str, str], Awaitable[str]]
    ) -> dict[str, object] | None:
        """Let the person change the arguments until they fit; None when they are left as they were."""
        before = orjson.dumps(clean_value(request.arguments), default=str).decode()
        if MASK in before:  # what is hidden would be replaced by its mask
            self._complain("this cannot be changed here: a secret in it is hidden")
            return None
        text = before
        while True:
            self._say(["the arguments as JSON; Enter judges them again, an empty line leaves them:", f"  {text}"])
            text = (await edit("edit> ", text)).strip()
            if text in ("", before):
                self._say(["unchanged"])
                return None
            faults, changed = self._read(request.tool, text)
            if not faults:
                return changed
            self._complain("; ".join(faults))

    def _read(self, tool: str, text: str) -> tuple[list[str], dict[str, object]]:
        try:
            found = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            return [f"this is no JSON: {error}"], {}
        if not isinstance(found, dict):
            return ["arguments are a JSON object, in braces"], {}
        return (self._faults(tool, found) if self._faults is not None else []), found

    def _show(self, request: ApprovalRequest) -> None:
        self._console.print(f"{printable(request.tool)} wants to run: {printable(request.reason)}", markup=False)
        if not request.preview:
            for key, value in request.arguments.items():
                self._console.print(f"  {printable(key)}: {printable(str(value))}", markup=False, highlight=False)
        elif request.preview.startswith(("---", "+++")):
            self._console.print(Syntax(printable(request.preview), "diff", background_color="default"))
        else:
            self._console.print(printable(request.preview), markup=False, highlight=False)

    def _say(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._console.print(printable(line), markup=False, highlight=False)

    def _complain(self, text: str) -> None:
        self._console.print(printable(text), style="yellow", markup=False, highlight=False)


def explained(request: ApprovalRequest) -> list[str]:
    """Say which rule asks, why, and what each answer binds to."""
    always = (
        f"always: what matches {request.pattern!r} runs without asking for 30 days, or until the rules change"
        " or `ferrule policy approvals revoke` takes it back; denials stay"
        if request.pattern
        else "always: not offered, since no pattern would cover just this"
    )
    return [
        f"asked by the rule {request.rule or 'of the gate'}: {request.reason}",
        "yes: this call with exactly these arguments, once",
        always,
        f"may answer: {' or '.join(request.principals) or 'nobody'}",
    ]


async def read_terminal_line(prompt: str) -> str:
    """Read one line from the terminal; cancellable, and standard output stays free for the answer.

    Raises:
        EOFError: standard input ended.
    """
    from prompt_toolkit import PromptSession

    session: PromptSession[str] = PromptSession(output=prompt_output(sys.stderr))
    return await session.prompt_async(prompt)
