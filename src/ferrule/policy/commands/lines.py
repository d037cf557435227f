"""A whole line: its programs one by one, where each runs, and what in it only a shell could tell."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, replace

from ..paths import FileAction
from .pattern import pattern_of
from .programs import Judged, judge_program
from .tree import TOO_DEEP, Compound, Node, Redirection, Sequence, Simple, simples, strangers
from .wrappers import is_harmless, unwrapped

MOST = 64
"""Programs of one line that are judged."""

MOST_PLACES = 1_000
"""Paths of one line that are judged."""

DEVICES = frozenset({"/dev/null"})
"""May be read from and written to by a redirection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One path that a line touches, below the folder that it is relative to.

    Attributes:
        is_followed: If it is a link, what counts is where that leads.
        is_walked: The program goes through everything below it.
    """

    path: str
    action: FileAction
    is_followed: bool = True
    is_walked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What one line would do.

    Attributes:
        programs: Each program, with what it touches.
        places: Every path of every program and redirection.
        unclear: What only a shell could tell; empty when the line is understood in full.
        is_single: It is one program.
        is_too_much: More programs or paths, or deeper ones, than are judged.
    """

    programs: tuple[Judged, ...]
    places: tuple[Place, ...]
    unclear: tuple[str, ...]
    is_single: bool
    is_too_much: bool = False

    @property
    def pattern(self) -> str:
        """What "always" would bind to; "" when it is not offered."""
        shapes = [judged.shape for judged in self.programs]
        known = [shape for shape in shapes if shape is not None]
        return "" if self.unclear or len(known) < len(shapes) else pattern_of(known)


def judged_line(tree: Node, *, cwd: str, home: str) -> Line:
    """Judge every program of a tree.

    Args:
        tree: The line.
        cwd: Folder that it starts in, "" for `home`.
        home: The agent's workspace, which is also the home of its programs.
    """
    start = posixpath.join(home, cwd)
    folder, rest = _entered(tree)
    place = posixpath.join(start, folder)
    commands = list(simples(rest))
    if len(commands) > MOST or tree == Compound(TOO_DEEP):
        return Line(programs=(), places=(), unclear=(), is_single=False, is_too_much=True)
    found = [_judged(command, home) for command in commands]
    unclear = [*strangers(rest), *(reason for _, reasons in found for reason in reasons)]
    entered = [Place(path=place, action="files.read")] if folder else []
    places = tuple(dict.fromkeys([*entered, *_places([judged for judged, _ in found], place)]))
    if not commands:
        unclear.append("the line names no program")
    return Line(
        programs=tuple(judged for judged, _ in found),
        places=places,
        unclear=tuple(dict.fromkeys(unclear)),
        is_single=isinstance(tree, Simple),
        is_too_much=len(places) > MOST_PLACES,
    )


def _places(programs: list[Judged], place: str) -> list[Place]:
    walked = [frozenset(judged.walks) for judged in programs]
    return [
        Place(
            path=posixpath.join(place, path),
            action=action,
            is_followed=not judged.keeps_links,
            is_walked=path in walks,
        )
        for judged, walks in zip(programs, walked, strict=True)
        for action, paths in _by_action(judged)
        for path in paths
    ]


def _by_action(judged: Judged) -> tuple[tuple[FileAction, tuple[str, ...]], ...]:
    return ("files.read", judged.reads), ("files.write", judged.writes)


def _entered(tree: Node) -> tuple[str, Node]:
    """Take ``cd FOLDER &&`` off the front; returns the folder, "" when there is none, and what runs there."""
    if not isinstance(tree, Sequence) or set(tree.joins) != {"&&"}:
        return "", tree
    first = tree.items[0]
    if not isinstance(first, Simple) or first.assignments or first.redirections:
        return "", tree
    words = [word.literal for word in first.words]
    if len(words) != 2 or words[0] != "cd" or not words[1] or words[1].startswith("-"):
        return "", tree
    rest = tree.items[1:]
    return words[1], rest[0] if len(rest) == 1 else Sequence(rest, tree.joins[1:])


def _judged(command: Simple, home: str) -> tuple[Judged, list[str]]:
    """Judge one program with its redirections; returns also what only a shell could tell."""
    reasons = [f"it sets {a.name}" for a in command.assignments if not is_harmless(a.name, a.value.literal or "\0")]
    if not command.words:
        judged = Judged(risk="high", reason="the line names no program")
        reasons.append("a part without a program")
    else:
        judged = _inside([word.guess(home) for word in command.words])
        if judged.is_word:
            reasons.append(judged.reason)
    for redirection in command.redirections:
        judged, reason = _redirected(judged, redirection, home)
        reasons += [reason] if reason else []
    return judged, reasons


def _inside(argv: list[str]) -> Judged:
    inner = unwrapped(argv)
    if not inner.argv or not inner.argv[0]:
        return Judged(risk="high", reason=inner.reason or "the line names no program")
    judged = judge_program(inner.argv)
    if not inner.names:
        return judged
    shape = (
        None if judged.shape is None else replace(judged.shape, program=" ".join([*inner.names, judged.shape.program]))
    )
    judged = replace(judged, listed=(*inner.names, *judged.listed), shape=shape)
    return replace(judged, risk="high", reason=inner.reason, shape=None) if inner.reason else judged


def _redirected(judged: Judged, redirection: Redirection, home: str) -> tuple[Judged, str]:
    """Add what a redirection touches; returns also why it asks, or ""."""
    target = redirection.target.guess(home)
    if redirection.operator == ">&" and redirection.target.literal in ("1", "2"):
        return judged, ""
    if target in DEVICES and redirection.operator in ("<", ">", ">>"):
        return judged, ""
    if redirection.operator == "<":
        reads = replace(judged, reads=(*judged.reads, target))
        return reads, f"the shell opens {target}; give it to the program by name"
    written = replace(judged, writes=(*judged.writes, target))
    if redirection.operator not in (">", ">>") or redirection.handle not in ("", "1", "2"):
        return written, f"the redirection {redirection.operator}"
    shape = judged.shape
    if shape is not None:
        shape = replace(shape, redirections=(*shape.redirections, redirection.operator))
    risk = "medium" if judged.risk == "low" else judged.risk
    return replace(written, risk=risk, reason=f"writes {target}", shape=shape), ""
