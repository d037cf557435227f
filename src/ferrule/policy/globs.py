"""Patterns of grants and show lists: names, programs, hosts, and paths by components."""

from __future__ import annotations

import re
from functools import lru_cache

_SPECIAL = frozenset("*?[\\")


def escaped(text: str) -> str:
    """Return a pattern that matches exactly `text`.

    >>> escaped("/w/[a]*")
    '/w/\\\\[a]\\\\*'
    """
    return "".join(f"\\{sign}" if sign in _SPECIAL else sign for sign in text)


def matches_name(pattern: str, name: str) -> bool:
    """Match a whole name; `*` and `?` match any sign, capitals count.

    >>> matches_name("memory_*", "memory_store"), matches_name("*", "a/b"), matches_name("git", "./git")
    (True, True, False)
    """
    return _name(pattern).fullmatch(name) is not None


def matches_host(pattern: str, host: str) -> bool:
    """Match a host name without regard to capitals; ``*.example.com`` is every name below it, ``*`` every host.

    >>> matches_host("*.example.com", "a.b.example.com"), matches_host("*.example.com", "evilexample.com")
    (True, False)
    """
    pattern, host = pattern.lower().rstrip("."), host.lower().rstrip(".")
    if pattern == "*":
        return True
    if pattern.startswith("*."):
        return host.endswith(pattern[1:]) and "*" not in pattern[1:] and len(host) > len(pattern) - 1
    return host == pattern


def matches_path(pattern: str, place: str) -> bool:
    """Match an absolute, normal path by components.

    `*` and `?` stay within a component, a component `**` is any number of
    them, and a pattern that ends in ``/**`` matches the folder itself too.

    >>> matches_path("/w/src/**", "/w/src"), matches_path("/w/*.py", "/w/a/b.py"), matches_path("/w/**/*.py", "/w/b.py")
    (True, False, True)
    """
    return _path(pattern).fullmatch(place) is not None


@lru_cache(maxsize=4_096)
def _name(pattern: str) -> re.Pattern[str]:
    return re.compile(_translated(pattern, within=False), re.DOTALL)


@lru_cache(maxsize=4_096)
def _path(pattern: str) -> re.Pattern[str]:
    parts = [part for part in pattern.split("/") if part]
    text = ""
    for number, part in enumerate(parts):
        if part != "**":
            text += "/(?=[^/])" + _translated(part, within=True)
        elif number == len(parts) - 1:
            text += "(?:/.*)?" if text else "/.*"
        else:
            text += "(?:/[^/]+)*"
    return re.compile(text or "/", re.DOTALL)


def _translated(pattern: str, *, within: bool) -> str:
    """Translate one component, or one name, into a regular expression; a set of signs is ``[...]``."""
    anything = "[^/]" if within else "."
    found, at = "", 0
    while at < len(pattern):
        sign = pattern[at]
        at += 1
        if sign == "*":
            found += "" if found.endswith(f"{anything}*") else f"{anything}*"
        elif sign == "?":
            found += anything
        elif sign == "\\" and at < len(pattern):
            found += re.escape(pattern[at])
            at += 1
        elif sign == "[" and (end := pattern.find("]", at + 1)) > 0:
            found += _set(pattern[at:end])
            at = end + 1
        else:
            found += re.escape(sign)
    return found


def _set(signs: str) -> str:
    """Translate the inside of ``[...]``: signs, ranges such as ``a-z``, and a leading ``!`` for all others."""
    negated, signs = signs[:1] == "!", signs.removeprefix("!")
    ranges = "".join(
        f"{re.escape(low)}-{re.escape(high)}" if high and low <= high else re.escape(f"{low}-{high}" if high else low)
        for low, high in re.findall(r"(.)(?:-(.))?", signs, re.DOTALL)
    )
    if not ranges:
        return "(?!)"
    return f"[^/{ranges}]" if negated else f"[{ranges}]"
