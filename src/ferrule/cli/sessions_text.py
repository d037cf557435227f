"""A conversation as text that is safe to open anywhere."""

from __future__ import annotations

import re
from collections.abc import Sequence

import orjson

from ..ports.session import SessionFacts
from ..types.messages import Message
from ..types.parts import FilePart, ImagePart
from ..types.tools import ToolCall
from .printable import one_line, printable

_SIGNS = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_FENCES = re.compile(r"`{3,}")


def safe_json(document: bytes) -> str:
    """Return JSON in which every sign that could command a terminal is written as an escape; its meaning is the same.

    >>> safe_json('["a\\u009bb"]'.encode())
    '["a\\\\u009bb"]'
    """
    return _SIGNS.sub(lambda match: f"\\u{ord(match.group()):04x}", document.decode())


def called(call: ToolCall) -> str:
    """Return a call as its tool and its arguments."""
    return f"{call.name} {orjson.dumps(call.arguments).decode()}"


def markdown(facts: SessionFacts, messages: Sequence[Message]) -> str:
    """Return a conversation as Markdown.

    What people, models and tools wrote stands in fences longer than any in
    it, with control characters made visible: nothing in it can end its fence,
    make a link or run in a viewer.

    >>> fenced("```")
    '````text\\n```\\n````\\n'
    """
    head = (
        f"# {_in_line(facts.title) or 'Conversation'}\n\nSession `{facts.id}` of the agent `{_in_line(facts.agent)}`\n"
    )
    return "\n".join([head, *(_message(message) for message in messages)])


def fenced(text: str) -> str:
    """Return text in a fence that it cannot end."""
    shown = printable(text)
    longest = max((len(match.group()) for match in _FENCES.finditer(shown)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}text\n{shown}{'' if shown.endswith(chr(10)) else chr(10)}{fence}\n"


def _message(message: Message) -> str:
    state = "" if message.status == "completed" else f", {message.status}"
    name = f" `{_in_line(message.name)}`" if message.role == "tool" else ""
    failed = f", failed (`{_in_line(message.code)}`)" if message.is_error else ""
    pieces = [f"## {message.role}{name}{failed}{state}\n"]
    if message.text:
        pieces.append(fenced(message.text))
    for part in message.parts:
        if isinstance(part, ImagePart):
            pieces.append(f"An image, `{_in_line(part.media_type)}`, {len(part.data):,} bytes\n")
        elif isinstance(part, FilePart):
            pieces.append(f"A file, `{_in_line(part.name)}`, `{_in_line(part.media_type)}`, {len(part.data):,} bytes\n")
        else:
            pieces.append(fenced(part.text))
    for call in message.calls:
        pieces.append(f"Calls `{_in_line(call.name)}`\n\n{fenced(orjson.dumps(call.arguments).decode())}")
    return "\n".join(pieces)


def _in_line(text: str) -> str:
    """Return text that can stand in a heading or between backticks: no mark-up, no line end."""
    return " ".join(re.sub(r"[`<>\[\]*_#|!\\&]", " ", one_line(text, 80)).split())
