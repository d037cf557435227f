"""The help of commands as text that was written beforehand: loading a whole command to describe it takes a second.

``help.txt`` is written by `make golden` from the commands themselves, and a test compares the two.
"""

from __future__ import annotations

import os

NARROWEST = 80
"""Columns that the stored text takes; on a narrower terminal the command wraps its help itself."""

_FILE = os.path.join(os.path.dirname(__file__), "help.txt")
_MARK = "$ ferrule "


def stored_help(words: list[str]) -> str | None:
    """Return the help of a command; None when it must be made.

    Args:
        words: What was typed behind ``ferrule``; its last word is ``--help``.
    """
    if words[-1:] != ["--help"] or _columns() < NARROWEST:
        return None
    try:
        with open(_FILE, encoding="utf-8") as file:
            sections = file.read().split(_MARK)
    except OSError:
        return None  # an incomplete installation still describes itself
    begin = " ".join(words) + "\n"
    for section in sections:
        if section.startswith(begin):
            return section[len(begin) :].rstrip("\n") + "\n"
    return None


def _columns() -> int:
    named = os.environ.get("COLUMNS", "")
    if named.isdigit() and int(named):
        return int(named)
    try:
        return os.get_terminal_size(1).columns
    except OSError:
        return NARROWEST
