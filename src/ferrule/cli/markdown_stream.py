"""Markdown that is rendered while it arrives.

A block (a paragraph, list or fenced code) is shown live until it is whole,
then printed for good; what has been printed never moves.
"""

from __future__ import annotations

from rich.console import Console
from rich.live import Live
from rich.markdown import Markdown

from .printable import printable


def split_blocks(text: str) -> tuple[list[str], str]:
    """Split text into whole blocks and the rest that may still grow.

    A block ends with a blank line outside a code fence.

    >>> split_blocks("one\\n\\ntwo")
    (['one'], 'two')
    """
    blocks: list[str] = []
    lines: list[str] = []
    fenced = False
    *whole, rest = text.split("\n")
    for line in whole:
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        if not line.strip() and not fenced:
            if lines:
                blocks.append("\n".join(lines))
            lines = []
        else:
            lines.append(line)
    return blocks, "\n".join([*lines, rest])


class MarkdownStream:
    """Shows one answer; `feed` pieces, then `close`."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._rest = ""
        self._live: Live | None = None

    def feed(self, text: str) -> None:
        """Take the next piece."""
        blocks, self._rest = split_blocks(self._rest + printable(text))
        for block in blocks:
            self._settle(block)
        if self._console.is_terminal and self._rest.strip():
            self._show_live()

    def close(self) -> None:
        """Print what is left."""
        rest, self._rest = self._rest, ""
        if rest.strip():
            self._settle(rest)
        self._stop_live()

    def _show_live(self) -> None:
        if self._live is None:
            self._live = Live(console=self._console, transient=True, refresh_per_second=12)
            self._live.start()
        self._live.update(Markdown(self._rest))

    def _stop_live(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _settle(self, block: str) -> None:
        self._stop_live()
        self._console.print(Markdown(block))
        self._console.print()
