"""Messages as Ollama writes them: images beside the text as base64, arguments as objects, results by name."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from functools import partial

from ...types.messages import Message
from ...types.parts import FilePart, ImagePart, Part, TextPart
from .._attachments import fault_of
from .._chat.encode import NO_OUTPUT, parts_title
from .._chat.history import encode_history

DIALECT = "ollama-chat"
REASONING = "thinking"
"""Field of a message that carries reasoning; only what came under this name goes back."""

_TEXT = ("text/", "application/json", "application/xml", "application/toml", "application/yaml")


def encode_messages(messages: Sequence[Message], *, sees: bool) -> list[bytes]:
    """Encode a history.

    Args:
        messages: The history in order.
        sees: Whether the model takes images; one that does not is told that there was one.
    """
    key = DIALECT if sees else f"{DIALECT}/blind"
    return encode_history(messages, key, encode=partial(_body, sees=sees), show=partial(_shown, sees=sees))


def unreadable(part: Part, *, sees: bool) -> str | None:
    """Say what Ollama cannot take about a part; None when it can."""
    match part:
        case TextPart():
            return None
        case ImagePart():
            if not sees:
                return "an image, which this model cannot see"
            if part.url and not part.data:
                return "the address of an image, which the server does not fetch"
            fault = fault_of(ImagePart(media_type=part.media_type, data=part.data))
            return None if fault is None else f"an image, which {fault}"
        case FilePart():
            return (
                None if _text_of(part) is not None else f"the file {part.name} ({part.media_type}), which is not text"
            )


def _body(message: Message, *, sees: bool) -> dict[str, object]:
    match message.role:
        case "assistant":
            return _assistant(message)
        case "tool":
            return {
                "role": "tool",
                "tool_name": message.name,
                "tool_call_id": message.call_id,
                "content": message.text or NO_OUTPUT,
            }
        case "system" | "user":
            return _spoken(message.role, [TextPart(text=message.text), *message.parts], sees=sees)


def _shown(answers: Sequence[Message], *, sees: bool) -> dict[str, object]:
    parts: list[Part] = []
    for message in answers:
        parts += [TextPart(text=parts_title(message)), *message.parts]
    return _spoken("user", parts, sees=sees)


def _spoken(role: str, parts: Sequence[Part], *, sees: bool) -> dict[str, object]:
    texts: list[str] = []
    images: list[str] = []
    for part in parts:
        if (why := unreadable(part, sees=sees)) is not None:
            texts.append(f"({why}, was sent here)")
        elif isinstance(part, ImagePart):
            images.append(base64.b64encode(part.data).decode("ascii"))
        else:
            texts.append(part.text if isinstance(part, TextPart) else f"File {part.name}:\n{_text_of(part)}")
    body: dict[str, object] = {"role": role, "content": "\n\n".join(text for text in texts if text)}
    return body | {"images": images} if images else body


def _text_of(part: FilePart) -> str | None:
    if not part.media_type.startswith(_TEXT):
        return None
    try:
        return part.data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _assistant(message: Message) -> dict[str, object]:
    body: dict[str, object] = {"role": "assistant", "content": message.text}
    if message.reasoning and message.reasoning_field == REASONING:
        body[REASONING] = message.reasoning
    if message.calls:
        body["tool_calls"] = [
            {
                **(call.extra or {} if call.dialect == DIALECT else {}),
                "id": call.id,
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.calls
        ]
    return body
