"""Versioned JSON form of messages, as stores and exports keep them.

A document is ``{"v": 1, ...}`` with the fields that differ from their
default. A reader refuses a newer version by name and ignores fields that it
does not know. Lone surrogates, which JSON can smuggle in and UTF-8 cannot
carry out, become U+FFFD.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TypeVar, cast, get_args

from .errors import StoreError
from .messages import Message, Role, Status
from .parts import FilePart, ImagePart, Part, TextPart
from .provenance import ORIGINS, Origin
from .tools import ToolCall

T = TypeVar("T")

VERSION = 1
ROLES: frozenset[str] = frozenset(get_args(Role))
STATUSES: frozenset[str] = frozenset(get_args(Status))
SCALARS = frozenset({str, int, float, bool, type(None)})
_PLAIN = frozenset({"v", "id", "role", "text", "origin", "at_ms"})
PART_KINDS = frozenset({"text", "image", "file"})


def clean(text: str) -> str:
    """Return `text` without lone surrogates, so that it can be encoded as UTF-8."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def is_flat(arguments: Mapping[str, object]) -> bool:
    """Tell whether an object holds nothing but plain scalars, as most arguments of tools do."""
    return SCALARS.issuperset(map(type, arguments.values()))


def clean_value(value: object) -> object:
    """Return a JSON value with `clean` applied to every string in it, keys included."""
    if isinstance(value, str):
        return clean(value)
    if type(value) in SCALARS:
        return value
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
        out["call_id"] = message.call_id
        out["name"] = clean(message.name)
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
        StoreError: the document is of a newer version, a field is missing, or a value is of another kind.
    """
    version = data.get("v")
    if version != VERSION:
        raise StoreError(
            f"a message of version {version!r} cannot be read",
            hint=f"this Ferrule reads version {VERSION}; use the one that wrote it",
        )
    if data.keys() <= _PLAIN and (plain := _plain(data)) is not None:
        return plain
    try:
        return Message(
            id=_text(data["id"]),
            role=cast(Role, _one_of(ROLES, data["role"])),
            text=_text(data.get("text", "")),
            parts=tuple(_part_from_dict(_as(dict, part)) for part in _as(list, data.get("parts", []))),
            calls=tuple(_call_from_dict(_as(dict, call)) for call in _as(list, data.get("calls", []))),
            reasoning=_text_or_none(data.get("reasoning")),
            reasoning_field=_text(data.get("reasoning_field", "")),
            call_id=_text(data.get("call_id", "")),
            name=_text(data.get("name", "")),
            is_error=_as(bool, data.get("is_error", False)),
            code=_text(data.get("code", "")),
            status=cast(Status, _one_of(STATUSES, data.get("status", "completed"))),
            origin=cast(Origin, _one_of(ORIGINS, data.get("origin", "user"))),
            trusted=_as(bool, data.get("trusted", True)),
            at_ms=_whole(data.get("at_ms", 0)),
        )
    except (KeyError, TypeError, ValueError) as error:  # ValueError: no base64
        raise StoreError(f"a stored message is damaged: {type(error).__name__}: {error}") from error


def _plain(data: Mapping[str, object]) -> Message | None:
    """Make a message of text alone, as most of a long history are; None when a value is not as it should be."""
    id_, role, text = data.get("id"), data.get("role"), data.get("text", "")
    origin, at_ms = data.get("origin", "user"), data.get("at_ms", 0)
    if not (type(id_) is type(role) is type(text) is type(origin) is str and type(at_ms) is int):
        return None
    if role not in ROLES or origin not in ORIGINS:
        return None
    return Message(id=id_, role=cast(Role, role), text=text, origin=cast(Origin, origin), at_ms=at_ms)


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
    extra = data.get("extra")
    return ToolCall(
        id=_text(data["id"]),
        name=_text(data["name"]),
        arguments=_as(dict, data["arguments"]),
        raw=_text(data.get("raw", "")),
        fault=_text_or_none(data.get("fault")),
        extra=None if extra is None else _as(dict, extra),
        dialect=_text(data.get("dialect", "")),
    )


def _part_to_dict(part: Part) -> dict[str, str]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": clean(part.text)}
    data = base64.b64encode(part.data).decode()
    if isinstance(part, ImagePart):
        return {"type": "image", "media_type": part.media_type, "data": data, "url": part.url}
    return {"type": "file", "name": clean(part.name), "media_type": part.media_type, "data": data}


def _part_from_dict(data: Mapping[str, object]) -> Part:
    kind = _one_of(PART_KINDS, data["type"])
    if kind == "text":
        return TextPart(text=_text(data["text"]))
    raw = base64.b64decode(_text(data["data"]), validate=True)
    media_type = _text(data["media_type"])
    if kind == "image":
        return ImagePart(media_type=media_type, data=raw, url=_text(data.get("url", "")))
    return FilePart(name=_text(data["name"]), media_type=media_type, data=raw)


def _as(kind: type[T], value: object) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"expected {kind.__name__}, found {type(value).__name__}")
    return value


def _text(value: object) -> str:
    return _as(str, value)


def _text_or_none(value: object) -> str | None:
    return None if value is None else _as(str, value)


def _whole(value: object) -> int:
    if isinstance(value, bool):
        raise TypeError("expected int, found bool")
    return _as(int, value)


def _one_of(words: frozenset[str], value: object) -> str:
    if _text(value) not in words:
        raise TypeError(f"{value!r} is none of {', '.join(sorted(words))}")
    return _text(value)
