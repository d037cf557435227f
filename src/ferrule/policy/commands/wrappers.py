"""Programs that start the program named in their arguments: they are taken off, and what is inside is judged."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

DEEPEST = 8
"""Wrappers in wrappers that are followed."""

HARMLESS = {
    **dict.fromkeys(
        ("LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME", "LANG", "LANGUAGE"), r"[\w.@:-]*"
    ),
    "TZ": r"[A-Za-z]\w*(?:/[\w+-]+)*(?:[+-]\d+)?",
    "COLUMNS": r"\d+",
    "LINES": r"\d+",
    "NO_COLOR": r"\w*",
    "CLICOLOR": r"\w*",
}
"""Variables that may stand before a program, with what their value must look like: never a path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrapper:
    """How a wrapper's own words are read.

    Attributes:
        flags: Options without a value.
        values: Options with one.
        operands: Words between the options and the program.
        asks: It always asks, whatever is inside.
    """

    flags: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    operands: int = 0
    asks: str = ""


WRAPPERS: dict[str, Wrapper] = {
    "command": Wrapper(flags=("-p",), asks="a word of the shell"),
    "doas": Wrapper(values=("-u",), asks="it runs as somebody else"),
    "env": Wrapper(),
    "exec": Wrapper(values=("-a",), asks="a word of the shell"),
    "ionice": Wrapper(flags=("-c1", "-c2", "-c3", "-t"), values=("-c", "-n")),
    "nice": Wrapper(values=("-n",)),
    "nohup": Wrapper(),
    "setsid": Wrapper(flags=("-w", "-c", "-f", "--wait"), asks="it leaves the group of the command"),
    "stdbuf": Wrapper(flags=tuple(f"-{s}{m}" for s in "ioe" for m in "0L"), values=("-i", "-o", "-e")),
    "sudo": Wrapper(flags=("-n", "-E", "-H"), values=("-u", "-g"), asks="it runs as somebody else"),
    "time": Wrapper(flags=("-p",), asks="a word of the shell"),
    "timeout": Wrapper(flags=("-v", "--verbose", "--preserve-status", "--foreground"), values=("-s", "-k"), operands=1),
    "xargs": Wrapper(
        flags=("-0", "-r", "-t", "--null", "--no-run-if-empty"),
        values=("-n", "-I", "-L", "-P", "-d"),
        asks="its input becomes arguments",
    ),
}

_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.S)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unwrapped:
    """What is left when the wrappers are off.

    Attributes:
        argv: The program inside; empty when there is none.
        names: The wrappers.
        reason: Why it asks; "" when it does not.
    """

    argv: tuple[str, ...]
    names: tuple[str, ...] = ()
    reason: str = ""


def unwrapped(argv: Sequence[str]) -> Unwrapped:
    """Take wrappers off.

    >>> unwrapped(("timeout", "5", "nice", "ls", "-l"))
    Unwrapped(argv=('ls', '-l'), names=('timeout', 'nice'), reason='')
    """
    rest = list(argv)
    names: list[str] = []
    reason = ""
    while rest and rest[0] in WRAPPERS:
        if len(names) == DEEPEST:
            return Unwrapped(argv=tuple(rest), names=tuple(names), reason="too many wrappers")
        name = rest.pop(0)
        wrapper = WRAPPERS[name]
        names.append(name)
        if wrapper.asks:
            reason = reason or f"{name}: {wrapper.asks}"
        reason = reason or _taken(name, wrapper, rest)
    if names and not rest:
        reason = reason or f"{names[-1]} names no program"
    return Unwrapped(argv=tuple(rest), names=tuple(names), reason=reason)


def is_harmless(name: str, value: str) -> bool:
    """Tell whether a variable may be set for a program without asking."""
    form = HARMLESS.get(name)
    return form is not None and re.fullmatch(form, value) is not None


def _taken(name: str, wrapper: Wrapper, rest: list[str]) -> str:
    """Drop a wrapper's own words; returns why it asks, or ""."""
    reason = ""
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        if word == "--":
            break
        if word in wrapper.values:
            del rest[:1]
        elif word not in wrapper.flags and not reason:
            reason = f"{name} {word}: not known"
    if name == "env":
        while rest and (found := _ASSIGNED.fullmatch(rest[0])):
            rest.pop(0)
            if not is_harmless(found[1], found[2]):
                reason = reason or f"it sets {found[1]}"
    del rest[: wrapper.operands]
    return reason
