"""Scripts in files: a JSON list of steps."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from .script import Reply, calls, error, raw, say

_KINDS = ("say", "call", "error", "raw")


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _is_seconds(value: object) -> bool:
    return type(value) in (int, float) and 0 <= float(str(value)) < float("inf")


def _is_headers(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


_Check = tuple[Callable[[object], bool], str]
_TEXT: _Check = (lambda value: isinstance(value, str), "text")
_STATUS: _Check = (lambda value: type(value) is int and 100 <= value < 600, "a whole number from 100 to 599")
_COUNT: _Check = (_is_count, "a whole number of bytes")
_SECONDS: _Check = (_is_seconds, "a number of seconds")

_HOW: Mapping[str, _Check] = {
    "every": _COUNT,
    "delay_s": _SECONDS,
    "pause_s": _SECONDS,
    "stall_after": _COUNT,
    "stall_s": _SECONDS,
    "drop_after": _COUNT,
}
_FIELDS: Mapping[str, _Check] = {
    "say": _TEXT,
    "call": _TEXT,
    "arguments": (lambda value: isinstance(value, dict | str), "an object or text"),
    "error": _STATUS,
    "body": (lambda value: isinstance(value, dict), "an object"),
    "headers": (_is_headers, "an object of texts"),
    "raw": _TEXT,
    "status": _STATUS,
    **_HOW,
}


def script_of(text: str) -> list[Reply]:
    """Read a script.

    Raises:
        ValueError: it is no list of steps; the message names the step and what is wrong with it.
    """
    try:
        steps = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None
    if not isinstance(steps, list):
        raise ValueError("a script is a list of steps, in square brackets")
    return [_numbered(number, step) for number, step in enumerate(steps, 1)]


def step_of(table: Mapping[str, Any]) -> Reply:
    """Read one step.

    Raises:
        ValueError: it is none of the four kinds, or a field has the wrong type or name.

    >>> step_of({"say": "hello", "every": 3}).text
    'hello'
    """
    if not any(kind in table for kind in _KINDS):
        raise ValueError(f"a step has say, call, error or raw, not {', '.join(table) or 'nothing'}")
    for name, value in table.items():
        if name not in _FIELDS:
            raise ValueError(f"nobody knows {name}; a field is one of {', '.join(_FIELDS)}")
        is_right, what = _FIELDS[name]
        if not is_right(value):
            raise ValueError(f"{name} is {what}, not {json.dumps(value)}")
    return replace(_reply(table), **{name: table[name] for name in _HOW if name in table})


def _numbered(number: int, step: object) -> Reply:
    if not isinstance(step, dict):
        raise ValueError(f"step {number}: a step is an object, in braces")
    try:
        return step_of(step)
    except ValueError as fault:
        raise ValueError(f"step {number}: {fault}") from None


def _reply(table: Mapping[str, Any]) -> Reply:
    if "say" in table:
        return say(table["say"])
    if "call" in table:
        return calls([(table["call"], table.get("arguments", {}))])
    if "error" in table:
        return error(table["error"], table.get("body", {}), headers=table.get("headers"))
    return raw(table["raw"].encode("utf-8", "replace"), status=table.get("status", 200), headers=table.get("headers"))
