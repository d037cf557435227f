"""Reads command lines that need no shell.

Until a shell grammar stands, every line that is not the bare argv of one
program is "not bare": its meaning would depend on a shell.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

LONGEST = 16_384

_WORD = re.compile(r"""(?:[\w./+:@%,=^-]|'[^'\n\r\0]*'|"[^"$`\\!\n\r\0]*")+""")
_PIECE = re.compile(r"""'([^']*)'|"([^"]*)"|([^'"]+)""")
_GAP = re.compile(r"[ \t]+")


@dataclass(frozen=True, slots=True)
class BareCommand:
    """One program with its arguments."""

    argv: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NotBare:
    """Why the line is more than one program with its arguments."""

    reason: str


def parse_bare(line: str) -> BareCommand | NotBare:
    """Split a line into words, or say what stands in the way. Quotes are understood; nothing is expanded.

    >>> parse_bare("git log 'a b'")
    BareCommand(argv=('git', 'log', 'a b'))
    >>> parse_bare("ls; id").reason
    "';' has a meaning to the shell"
    """
    if len(line) > LONGEST:
        return NotBare(f"the line is longer than {LONGEST} characters")
    words: list[str] = []
    at = len(line) - len(line.lstrip(" \t"))
    end = len(line.rstrip(" \t"))
    while at < end:
        match = _WORD.match(line, at)
        if match is None:
            return NotBare(f"{line[at]!r} has a meaning to the shell")
        words.append("".join("".join(piece) for piece in _PIECE.findall(match.group())))
        at = match.end()
        if at < end:
            gap = _GAP.match(line, at)
            if gap is None:
                return NotBare(f"{line[at]!r} has a meaning to the shell")
            at = gap.end()
    if not words or not words[0]:
        return NotBare("the line names no program")
    if "=" in words[0]:
        return NotBare("the line begins with an assignment")
    return BareCommand(tuple(words))
