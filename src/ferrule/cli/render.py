"""Turns the event stream into what a person sees on a terminal."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.markup import escape

from ..types.events import (
    AgentEvent,
    ApprovalAnswered,
    Notice,
    RequestStarted,
    TextDelta,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    TurnFinished,
)
from .complaint import fix_of
from .markdown_stream import MarkdownStream
from .printable import one_line, printable

SIGNS = {"allow": "●", "ask": "?", "deny": "✗"}
WORDS = {"allow": "tool:", "ask": "tool, with a question:", "deny": "tool, denied:"}


class ChatView:
    """Renders one turn: streamed Markdown, a card for each tool call, notices and the outcome.

    Args:
        console: Where.
        plain: Words in the place of signs, for who hears the screen.
    """

    def __init__(self, console: Console, *, plain: bool = False) -> None:
        self._console = console
        self._plain = plain
        self._answer = MarkdownStream(console)
        self._names: dict[str, str] = {}

    def show(self, event: AgentEvent) -> None:
        """Render one event."""
        if isinstance(event, TextDelta):
            self._answer.feed(event.text)
            return
        if isinstance(event, ToolStarted | Notice | TurnFinished):
            self._answer.close()
        match event:
            case RequestStarted(attempt=attempt) if attempt > 1:
                self._line(f"[dim]asking again, attempt {attempt}[/dim]")
            case ToolStarted():
                self._started(event)
            case ToolOutput():
                self._console.print(printable(event.text), end="", markup=False, highlight=False, style="dim")
            case ToolFinished():
                self._finished(event)
            case ApprovalAnswered(source="timed_out"):
                self._line("[yellow]the question lapsed: denied[/yellow]")
            case Notice():
                self._line(f"[yellow]{escape(printable(event.text))}[/yellow]")
            case TurnFinished():
                self._outcome(event)
            case _:
                return

    def close(self) -> None:
        """Print what is still held back; a turn that was stopped ends in the middle of a block."""
        self._answer.close()

    def _started(self, event: ToolStarted) -> None:
        self._names[event.call_id] = event.name
        sign = (WORDS if self._plain else SIGNS)[event.decision]
        shown = escape(describe_arguments(event.arguments, limit=max(20, self._console.width - 24)))
        self._line(f"[cyan]{sign} {escape(printable(event.name))}[/cyan] {shown}")

    def _finished(self, event: ToolFinished) -> None:
        cut = ", cut" if event.truncated else ""
        failed, done = ("failed:", "done:") if self._plain else ("✗", "✓")
        if event.is_error:
            self._line(f"  [red]{failed} {escape(event.code)}[/red] [dim]{event.duration_ms} ms[/dim]")
        else:
            self._line(f"  [green]{done}[/green] [dim]{event.duration_ms} ms, {event.bytes:,} bytes{cut}[/dim]")

    def _outcome(self, event: TurnFinished) -> None:
        if event.status == "completed":
            return
        text = event.status if event.error is None else f"{event.status}: {printable(event.error.message)}"
        self._line(f"[red]{escape(text)}[/red]")
        fix = fix_of(event.error.code, event.error.hint) if event.error is not None else ""
        if fix:
            self._line(f"  [yellow]fix: {escape(printable(fix))}[/yellow]")

    def _line(self, markup: str) -> None:
        self._console.print(markup, highlight=False)


def describe_arguments(arguments: Mapping[str, object], *, limit: int) -> str:
    """Return arguments as ``key=value`` on one line of at most `limit` characters.

    >>> describe_arguments({"path": "a.txt", "limit": 3}, limit=40)
    'path=a.txt limit=3'
    """
    return one_line(" ".join(f"{key}={value}" for key, value in arguments.items()), limit)
