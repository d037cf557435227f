"""JSON that survives what models and servers write."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from math import isfinite
from typing import NoReturn

import orjson

_SURROGATE = re.compile("[\ud800-\udfff]")
_HALF = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")
_LONG_NUMBER = re.compile(r"\d{19}")
_SUSPECT = 200
"""Brackets from which it is tried whether a value can be encoded again; the encoder's limit is 254 levels."""


def loads(data: bytes | str, *, keep_halves: bool = False) -> object:
    """Decode JSON into a value that `dumps` can encode again.

    NaN, infinity and deeper nesting than the encoder's are refused; whole
    numbers beyond 64 bits become floats.

    Args:
        data: The document.
        keep_halves: Whether halves of surrogate pairs stay, since the other half may follow in the next
            document; else they become U+FFFD.

    Raises:
        ValueError: not JSON; the text says where.
    """
    try:
        decoded: object = orjson.loads(data)
    except orjson.JSONDecodeError:
        text = data if isinstance(data, str) else data.decode("utf-8")
        if not _HALF.search(text):
            raise
        decoded = _shallow(_lenient(text), data)
        return decoded if keep_halves else cleaned(decoded)
    return _shallow(decoded, data)


def exact(text: str) -> object:
    """Decode as `loads` does, but refuse whole numbers that would lose digits.

    Raises:
        ValueError: as for `loads`, or a number beyond 64 bits.
    """
    if _LONG_NUMBER.search(text):
        _lenient(text, whole=_within_64_bits)
    return loads(text)


def dumps(value: object) -> bytes:
    """Encode compactly; half a surrogate pair, which UTF-8 cannot hold, becomes U+FFFD.

    Raises:
        TypeError: the value holds something that JSON has no word for.
    """
    try:
        return orjson.dumps(value)
    except TypeError:
        return orjson.dumps(cleaned(value))


def clean(text: str) -> str:
    """Replace halves of surrogate pairs; the rest of the text stays as it is.

    >>> clean("ok " + chr(0xD83D)) == "ok " + chr(0xFFFD)
    True
    """
    return _SURROGATE.sub("\ufffd", text)


def cleaned(value: object) -> object:
    """Replace halves of surrogate pairs in all strings of a value."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {cleaned(k): cleaned(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [cleaned(v) for v in value]
    return value


class Pairs:
    """Joins surrogate pairs that a server cut between two strings; a half that stays alone becomes U+FFFD."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """Take a string and return what is whole; a first half at its end waits for the next one."""
        if not self._held and (text.isascii() or not _SURROGATE.search(text)):
            return text
        text, self._held = self._held + text, ""
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self._held = text[:-1], text[-1]
        return joined(text)

    def close(self) -> str:
        """End the text: a half that still waits is alone."""
        held, self._held = self._held, ""
        return clean(held)


def joined(text: str) -> str:
    """Join the halves of surrogate pairs that stand side by side, and replace those that stand alone.

    >>> joined(chr(0xD83C) + chr(0xDF27)) == chr(0x1F327)
    True
    """
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _shallow(value: object, data: bytes | str) -> object:
    """Return a decoded value that `dumps` can encode."""
    brackets = data.count("{") + data.count("[") if isinstance(data, str) else data.count(b"{") + data.count(b"[")
    if brackets > _SUSPECT:
        try:
            dumps(value)
        except (TypeError, RecursionError):
            raise ValueError("nested too deeply") from None
    return value


def _lenient(text: str, *, whole: Callable[[str], int | float] | None = None) -> object:
    """Decode with the standard library, which takes half pairs."""
    try:
        decoded: object = json.loads(
            text, parse_constant=_refuse, parse_float=_finite, parse_int=_whole if whole is None else whole
        )
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return decoded


def _whole(digits: str) -> int | float:
    number = int(digits)
    return number if _fits(number) else _finite(digits)


def _within_64_bits(digits: str) -> int:
    number = int(digits)
    if not _fits(number):
        raise ValueError(f"{digits[:24]} is beyond 64 bits")
    return number


def _fits(number: int) -> bool:
    return -(2**63) <= number < 2**64


def _finite(digits: str) -> float:
    number = float(digits)
    return number if isfinite(number) else _refuse(digits)


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name[:24]} is no finite number")
