"""Messages as the chat-completions dialect writes them."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from ...types.messages import Message
from ...types.parts import FilePart, ImagePart, Part, TextPart
from ...types.tools import ToolCall
from .._attachments import media_type, placeholder
from .._json import dumps
from .history import encode_history

DIALECT = "openai-chat"
NO_OUTPUT = "(no output)"
"""What an empty tool result is sent as: strict servers refuse empty content."""

WITHOUT_REASONING = f"{DIALECT}/plain"
"""Key of the bytes made for servers that refuse a reasoning field."""


def encode_messages(messages: Sequence[Message], *, reasoning: bool = True) -> list[bytes]:
    """Encode a history.

    Args:
        messages: The history in order.
        reasoning: Whether reasoning goes back under the field that brought it.
    """
    if reasoning:
        return encode_history(messages, DIALECT, encode=_body, show=_shown)
    return encode_history(messages, WITHOUT_REASONING, encode=_plain_body, show=_shown)


def _shown(answers: Sequence[Message]) -> dict[str, object]:
    blocks: list[dict[str, object]] = []
    for message in answers:
        blocks.append({"type": "text", "text": parts_title(message)})
        blocks += _parts(message)
    return {"role": "user", "content": blocks}


def parts_title(message: Message) -> str:
    """Say whose output the images and files of a tool message are."""
    return f"Output of {message.name or 'the tool'} ({message.call_id}):"


def _plain_body(message: Message) -> dict[str, object]:
    return _body(message, reasoning=False)


def _body(message: Message, *, reasoning: bool = True) -> dict[str, object]:
    match message.role:
        case "assistant":
            return _assistant(message, reasoning=reasoning)
        case "tool":
            return {"role": "tool", "tool_call_id": message.call_id, "content": message.text or NO_OUTPUT}
        case "system" | "user":
            return {"role": message.role, "content": _content(message)}


def _content(message: Message) -> object:
    if not message.parts:
        return message.text
    blocks: list[dict[str, object]] = [{"type": "text", "text": message.text}] if message.text else []
    return blocks + _parts(message)


def _parts(message: Message) -> list[dict[str, object]]:
    """Encode what stands beside the text; a tool of others may give empty text, which strict servers refuse."""
    return [_part(part) for part in message.parts if part != TextPart(text="")]


def _part(part: Part) -> dict[str, object]:
    instead = placeholder(part)
    if instead is not None:
        return {"type": "text", "text": instead}
    match part:
        case TextPart():
            return {"type": "text", "text": part.text}
        case ImagePart():
            return {
                "type": "image_url",
                "image_url": {"url": part.url or _inline(media_type(part.data) or "", part.data)},
            }
        case FilePart():
            inline = _inline(part.media_type, part.data)
            return {"type": "file", "file": {"filename": part.name, "file_data": inline}}


def _inline(media_type: str, data: bytes) -> str:
    return f"data:{media_type};base64,{base64.b64encode(data).decode('ascii')}"


def _assistant(message: Message, *, reasoning: bool) -> dict[str, object]:
    """Encode what the model said: no empty content beside calls, reasoning under its own name, also when empty."""
    body: dict[str, object] = {"role": "assistant"}
    if message.text or not message.calls:
        body["content"] = message.text
    if reasoning and message.reasoning is not None and message.reasoning_field:
        body[message.reasoning_field] = message.reasoning
    if message.calls:
        body["tool_calls"] = [_call(call) for call in message.calls]
    return body


def _call(call: ToolCall) -> dict[str, object]:
    """Encode a call; its arguments are always a valid object, whatever the model once wrote."""
    own: dict[str, object] = {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": dumps(call.arguments).decode()},
    }
    if call.extra and call.dialect == DIALECT:
        return {**call.extra, **own}
    return own
