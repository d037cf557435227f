"""Versioned JSON form of messages, as stores and exports keep them.

A document is ``{"v": 1, ...}`` with the fields that differ from their
default. A reader refuses a newer version by name and ignores fields that it
does not know. Lone surrogates, which JSON can smuggle in and UTF-8 cannot
carry out, become U+FFFD.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import cast

from .errors import StoreError
from .messages import Message, Role, Status
from .parts import FilePart, ImagePart, Part, TextPart
from .provenance import Origin
from .tools import ToolCall

VERSION = 1


def clean(text: str) -> str:
    """Return `text` without lone surrogates, so that it can be encoded as UTF-8."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def clean_value(value: object) -> object:
    """Return a JSON value with `clean` applied to every string in it, keys included."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(k)): clean_value(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [clean_value(v) for v in value]
    return value


def message_to_dict(message: Message) -> dict[str, object]:
    """Return the JSON-ready form of a message."""
    out: dict[str, object] = {"v": VERSION, "id": message.id, "role": message.role}
    if message.text:
        out["text"] = clean(message.text)
    if message.parts:
        out["parts"] = [_part_to_dict(p) for p in message.parts]
    if message.calls:
        out["calls"] = [_call_to_dict(c) for c in message.calls]
    if message.reasoning is not None:
        out["reasoning"] = clean(message.reasoning)
        out["reasoning_field"] = message.reasoning_field
    if message.role == "tool":
        out.update(call_id=message.call_id, name=clean(message.name))
        if message.is_error:
            out.update(is_error=True, code=message.code)
    if message.status != "completed":
        out["status"] = message.status
    out["origin"] = message.origin
    if not message.trusted:
        out["trusted"] = False
    if message.at_ms:
        out["at_ms"] = message.at_ms
    return out


def message_from_dict(data: Mapping[str, object]) -> Message:
    """Rebuild a message.

    Raises:
        StoreError: the document is of a newer version, or a field is missing.
    """
    version = data.get("v")
    if version != VERSION:
        raise StoreError(
            f"a message of version {version!r} cannot be read",
            hint=f"this Ferrule reads version {VERSION}; use the one that wrote it",
        )
    try:
        return Message(
            id=cast(str, data["id"]),
            role=cast(Role, data["role"]),
            text=cast(str, data.get("text", "")),
            parts=tuple(_part_from_dict(p) for p in cast(list[dict[str, str]], data.get("parts", ()))),
            calls=tuple(_call_from_dict(c) for c in cast(list[dict[str, object]], data.get("calls", ()))),
            reasoning=cast("str | None", data.get("reasoning")),
            reasoning_field=cast(str, data.get("reasoning_field", "")),
            call_id=cast(str, data.get("call_id", "")),
            name=cast(str, data.get("name", "")),
            is_error=cast(bool, data.get("is_error", False)),
            code=cast(str, data.get("code", "")),
            status=cast(Status, data.get("status", "completed")),
            origin=cast(Origin, data.get("origin", "user")),
            trusted=cast(bool, data.get("trusted", True)),
            at_ms=cast(int, data.get("at_ms", 0)),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"a stored message is damaged: {type(error).__name__}: {error}") from error


def _call_to_dict(call: ToolCall) -> dict[str, object]:
    out: dict[str, object] = {
        "id": call.id,
        "name": clean(call.name),
        "arguments": clean_value(call.arguments),
    }
    if call.raw:
        out["raw"] = clean(call.raw)
    if call.fault is not None:
        out["fault"] = call.fault
    if call.extra is not None:
        out["extra"] = clean_value(call.extra)
    if call.dialect:
        out["dialect"] = call.dialect
    return out


def _call_from_dict(data: Mapping[str, object]) -> ToolCall:
    return ToolCall(
        id=cast(str, data["id"]),
        name=cast(str, data["name"]),
        arguments=cast(dict[str, object], data["arguments"]),
        raw=cast(str, data.get("raw", "")),
        fault=cast("str | None", data.get("fault")),
        extra=cast("Mapping[str, object] | None", data.get("extra")),
        dialect=cast(str, data.get("dialect", "")),
    )


def _part_to_dict(part: Part) -> dict[str, str]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": clean(part.text)}
    data = base64.b64encode(part.data).decode()
    if isinstance(part, ImagePart):
        return {"type": "image", "media_type": part.media_type, "data": data, "url": part.url}
    return {"type": "file", "name": clean(part.name), "media_type": part.media_type, "data": data}


def _part_from_dict(data: Mapping[str, str]) -> Part:
    kind = data["type"]
    if kind == "text":
        return TextPart(text=data["text"])
    raw = base64.b64decode(data["data"])
    if kind == "image":
        return ImagePart(media_type=data["media_type"], data=raw, url=data.get("url", ""))
    return FilePart(name=data["name"], media_type=data["media_type"], data=raw)
