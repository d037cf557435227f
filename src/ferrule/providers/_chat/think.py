"""Reasoning that a model writes into its visible text, between ``<think>`` tags."""

from __future__ import annotations

from ...types.completion import ProviderEvent, ReasoningChunk, TextChunk

TAGS = {"<think>": "</think>", "<thinking>": "</thinking>"}
"""Opening tag -> closing tag. They count at the start of the answer or of a line, so that prose about tags stays."""


class ThinkFilter:
    """Parts text from reasoning while both stream in.

    Held back is only an end that may become a tag, and white space before the
    first word. A closing tag before the first word is dropped: servers leave it
    there when they sent the reasoning in a field of its own. A tag that is never closed does not swallow the answer: its
    text is given as text when the stream ends, unless tool calls are the answer.
    """

    __slots__ = ("_before", "_close", "_held", "_open", "_shown", "_swallowed", "_thought")

    def __init__(self) -> None:
        self._held = ""
        self._open = ""
        self._close = ""  # the tag that ends the block we are in; "" outside
        self._before = ""  # the last text that was shown
        self._shown = False  # whether a visible character was
        self._thought = False  # whether a block was closed
        self._swallowed: list[str] = []  # the text of the block we are in

    def feed(self, text: str) -> list[ProviderEvent]:
        """Take a piece of content and return what can be said of it now."""
        if self._shown and not self._held and not self._close and "<" not in text:
            self._before = text
            return [TextChunk(text=text)]
        return self._scan(self._held + text)

    def close(self, *, answered: bool = False) -> list[ProviderEvent]:
        """End the text: give what was held, and the text of an unclosed block if nothing else is the answer."""
        held, self._held = self._held, ""
        if self._close:
            held = "" if answered else "".join(self._swallowed) + held
            self._close = ""
        return [TextChunk(text=held)] if held.strip() else []

    def _scan(self, text: str) -> list[ProviderEvent]:
        events: list[ProviderEvent] = []
        self._held = ""
        while text:
            text = self._inside(text, events) if self._close else self._outside(text, events)
        return events

    def _inside(self, text: str, events: list[ProviderEvent]) -> str:
        """Read reasoning up to its closing tag; return what follows it."""
        thought, found, rest = text.partition(self._close)
        if not found:
            keep = _tag_begun_at_end(text, self._close)
            thought, self._held = text[:keep], text[keep:]
        if thought:
            events.append(ReasoningChunk(text=thought))
            self._swallowed.append(thought)
        if found:
            self._close = ""
            self._thought = True
            self._swallowed.clear()
        return rest

    def _outside(self, text: str, events: list[ProviderEvent]) -> str:
        """Read text up to an opening tag; return what follows it."""
        start = self._candidate(text, 0)
        while start >= 0:
            for tag, close in TAGS.items():
                if text.startswith(tag, start):
                    self._show(text[:start], events)
                    self._held = ""  # white space before a tag belongs to it
                    self._close = close
                    return text[start + len(tag) :]
            alone = () if self._shown or text[:start].strip() else tuple(TAGS.values())
            for tag in alone:
                if text.startswith(tag, start):  # its reasoning came in a field of its own, or was empty
                    self._held, self._thought = "", True
                    return text[start + len(tag) :]
            if any(tag.startswith(text[start:]) for tag in (*TAGS, *alone)):
                self._show(text[:start], events)
                self._held = self._held + text[start:]
                return ""
            start = self._candidate(text, start + 1)
        self._show(text, events)
        return ""

    def _candidate(self, text: str, start: int) -> int:
        """Find the next ``<`` that stands where a tag would count."""
        start = text.find("<", start)
        while start >= 0:
            before = text[:start] or self._before
            if not (self._shown or text[:start].strip()) or before.endswith("\n"):
                return start
            start = text.find("<", start + 1)
        return -1

    def _show(self, text: str, events: list[ProviderEvent]) -> None:
        """Give text; white space before the first word waits, since it belongs to a tag that may follow."""
        if not self._shown:
            if not text.strip():
                self._held = text
                return
            self._shown = True
            text = text.lstrip() if self._thought else text
        if text:
            self._before = text
            events.append(TextChunk(text=text))


def _tag_begun_at_end(text: str, tag: str) -> int:
    """Return where an end of `text` that begins `tag` starts; its length when there is none."""
    for start in range(max(0, len(text) - len(tag) + 1), len(text)):
        if tag.startswith(text[start:]):
            return start
    return len(text)
