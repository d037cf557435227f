"""Shows that something still goes on, and for how long: a line that is redrawn, or plain lines now and then."""

from __future__ import annotations

import asyncio

from rich.console import Console
from rich.live import Live
from rich.text import Text

from ...types.events import (
    AgentEvent,
    ApprovalAnswered,
    ApprovalAsked,
    RequestStarted,
    TextDelta,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    TurnFinished,
)
from ..printable import one_line

FIRST_S = 1.0
"""Seconds until the line appears, and between two of its redraws."""

PLAIN_S = 10.0
"""Seconds between two lines of a plain chat."""

MODEL = ""
"""Stands for the model among the ids of calls."""


class Progress:
    """Follows the events of one turn, `before` and `after` each is shown; `pause` while a person is asked."""

    def __init__(self, console: Console, *, plain: bool) -> None:
        self._console = console
        self._plain = plain
        self._loop = asyncio.get_running_loop()
        self._since: dict[str, tuple[str, float]] = {}
        self._names: dict[str, str] = {}
        self._calls: dict[str, str] = {}
        self._pauses = 0
        self._timer: asyncio.TimerHandle | None = None
        self._live: Live | None = None
        self._is_line_open = False

    def pause(self) -> None:
        """Draw nothing until as many times `resume` was called: the screen is somebody else's."""
        self._pauses += 1
        self._hide()

    def resume(self) -> None:
        """The screen is free again."""
        self._pauses -= 1

    def before(self, event: AgentEvent) -> None:
        """Take the line away before something else is shown."""
        if isinstance(event, TextDelta | ToolOutput | TurnFinished):
            self._hide()

    def after(self, event: AgentEvent) -> None:
        """Note what begins and what ends."""
        match event:
            case RequestStarted():
                self._begin(MODEL, "waiting for the model")
            case TextDelta():
                self._since.pop(MODEL, None)
            case ToolStarted() | ToolOutput() | ToolFinished():
                self._of_a_tool(event)
            case ApprovalAsked():
                self._since.pop(event.call_id, None)
                self._calls[event.approval_id] = event.call_id
            case ApprovalAnswered(answer="allow" | "always" | "edit"):
                call_id = self._calls.pop(event.approval_id, "")
                self._begin(call_id, f"{self._names.get(call_id, 'the tool')} runs")
            case TurnFinished():
                self.stop()
        if not self._since:
            self._rest()

    def _of_a_tool(self, event: ToolStarted | ToolOutput | ToolFinished) -> None:
        self._since.pop(MODEL, None)
        if isinstance(event, ToolOutput):
            self._is_line_open = not event.text.endswith("\n")
        elif isinstance(event, ToolFinished):
            self._is_line_open = False
            self._since.pop(event.call_id, None)
        else:
            self._names[event.call_id] = one_line(event.name, 40)
            if event.decision == "allow":
                self._begin(event.call_id, f"{self._names[event.call_id]} runs")

    def stop(self) -> None:
        """Nothing goes on any more."""
        self._since.clear()
        self._rest()

    def _begin(self, key: str, what: str) -> None:
        self._since[key] = (what, self._loop.time())
        if self._timer is None:
            self._timer = self._loop.call_later(PLAIN_S if self._plain else FIRST_S, self._tick)

    def _tick(self) -> None:
        self._timer = self._loop.call_later(PLAIN_S if self._plain else FIRST_S, self._tick)
        if self._pauses or self._is_line_open:
            return
        now = self._loop.time()
        lines = [f"  {what}, {now - since:.0f} s" for what, since in self._since.values()]
        if self._plain:
            for line in lines:
                self._console.print(line, markup=False, highlight=False)
        else:
            self._draw(Text("\n".join(lines), style="dim"))

    def _draw(self, text: Text) -> None:
        if self._live is None:
            self._live = Live(text, console=self._console, transient=True, auto_refresh=False)
            self._live.start()
        self._live.update(text, refresh=True)

    def _hide(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            live.stop()

    def _rest(self) -> None:
        self._hide()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
