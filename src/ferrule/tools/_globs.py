"""Patterns over relative paths: ``*`` and ``?`` within a name, ``**`` over folders, ``[...]`` for one sign."""

from __future__ import annotations

import re

_RANGE = re.compile(r"(.)(?:-(.))?", re.DOTALL)
_PIECE = re.compile(r"\*+|\?|\[!?\]?[^\]]*\]|[^*?\[]+|\[")


def compile_glob(pattern: str) -> re.Pattern[str]:
    """Return a regular expression that matches whole relative paths.

    >>> bool(compile_glob("**/*.py").match("a/b.py")), bool(compile_glob("*.py").match("a/b.py"))
    (True, False)
    >>> bool(compile_glob("a?b").match("a/b")), bool(compile_glob("a[!x]b").match("a/b"))
    (False, False)
    """
    parts = pattern.removeprefix("./").split("/")
    out = ""
    for i, part in enumerate(parts):
        last = i == len(parts) - 1
        if part == "**":
            out += ".*" if last else "(?:[^/]+/)*"
        else:
            out += "".join(map(_translated, _PIECE.findall(part))) + ("" if last else "/")
    return re.compile(f"(?s:{out})\\Z")


def _translated(piece: str) -> str:
    if piece.startswith("*"):
        return "[^/]*"
    if piece == "?":
        return "[^/]"
    if piece.startswith("[") and len(piece) > 2:
        inside = piece[1:-1]
        no = inside.startswith("!")
        signs = "".join(
            f"{re.escape(low)}-{re.escape(high)}" if high else re.escape(low)
            for low, high in _RANGE.findall(inside.removeprefix("!") if no else inside)
        )
        try:
            return re.compile(f"(?!/)[{'^' if no else ''}{signs}]").pattern
        except re.error:  # a range that runs backwards: then the signs stand for themselves
            return re.escape(piece)
    return re.escape(piece)
