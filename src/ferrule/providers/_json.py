"""JSON that survives what models and servers write."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from math import isfinite
from typing import NoReturn

import orjson

_SURROGATE = re.compile("[\ud800-\udfff]")
_HALF = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")


def loads(data: bytes | str) -> object:
    """Decode JSON; NaN and infinity are refused, half a surrogate pair becomes U+FFFD.

    Raises:
        ValueError: not JSON; the text says where.
    """
    try:
        decoded: object = orjson.loads(data)
    except orjson.JSONDecodeError:
        text = data if isinstance(data, str) else data.decode("utf-8")
        if not _HALF.search(text):
            raise
        return _lenient(text)
    return decoded


def dumps(value: object) -> bytes:
    """Encode compactly; half a surrogate pair, which UTF-8 cannot hold, becomes U+FFFD.

    Raises:
        TypeError: the value holds something that JSON has no word for.
    """
    try:
        return orjson.dumps(value)
    except TypeError:
        return orjson.dumps(_clean(value))


def clean(text: str) -> str:
    """Replace halves of surrogate pairs; the rest of the text stays as it is.

    >>> clean("ok " + chr(0xD83D)) == "ok " + chr(0xFFFD)
    True
    """
    return _SURROGATE.sub("\ufffd", text)


def _lenient(text: str) -> object:
    """Decode with the standard library, which takes half pairs, then clean them away."""
    try:
        return _clean(json.loads(text, parse_constant=_refuse, parse_float=_finite))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _finite(digits: str) -> float:
    number = float(digits)
    return number if isfinite(number) else _refuse(digits)


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no finite number")


def _clean(value: object) -> object:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {_clean(k): _clean(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(v) for v in value]
    return value
