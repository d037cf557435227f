"""What can be typed with a slash; `/ls`, `/read` and `/run` call a tool by hand, through the same gate."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field

from ...types.errors import UsageError


@dataclass(frozen=True, slots=True)
class Offered:
    """One command.

    Attributes:
        takes: Its argument as the help shows it; in brackets when it may be left out, "" when it takes none.
        about: What it does, on one line.
    """

    takes: str
    about: str


COMMANDS: dict[str, Offered] = {
    "help": Offered("", "this text"),
    "tools": Offered("", "what the agent can call"),
    "policy": Offered("", "the rules that the agent works by"),
    "cost": Offered("", "tokens that this chat has used"),
    "model": Offered("[NAME]", "show the model, or use another of this provider"),
    "new": Offered("", "begin a new session"),
    "resume": Offered("[ID]", "list the sessions, or go on in one"),
    "undo": Offered("[TURNS]", "take back the last turn, or several"),
    "redo": Offered("", "bring back what /undo took"),
    "export": Offered("FILE", "write this session to FILE.md or FILE.json"),
    "ls": Offered("[PATH]", "list a folder, through the gate"),
    "read": Offered("PATH", "read a file, through the gate"),
    "run": Offered("COMMAND", "run a command, through the gate"),
    "quit": Offered("", "end the chat (so does Ctrl-D)"),
}

_KEYS = """
Anything else is sent to the agent. Alt-Enter begins a new line, Tab completes,
Ctrl-C stops an answer.
"""

HELP = "".join(f"/{f'{name} {one.takes}':<15} {one.about}\n" for name, one in COMMANDS.items()) + _KEYS


@dataclass(frozen=True, slots=True, kw_only=True)
class HandCall:
    """A tool call that a person typed."""

    tool: str
    arguments: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A command of the chat itself, with its argument; "" when there is none."""

    name: str
    rest: str = ""


def parse_slash(line: str) -> HandCall | Word | None:
    """Read a line; None when it is a message for the agent.

    Raises:
        UsageError: an unknown command, one without its argument, or with one that it does not take.

    >>> parse_slash("/read a.txt")
    HandCall(tool='file_read', arguments={'path': 'a.txt'})
    >>> parse_slash("hello") is None
    True
    """
    if not line.startswith("/"):
        return None
    name, rest = _split(line)
    if name not in COMMANDS:
        near = difflib.get_close_matches(name, COMMANDS, 1)
        meant = f"did you mean /{near[0]}? " if near else ""
        raise UsageError(f"there is no command /{name}", hint=f"{meant}/help lists them; begin with a space to send it")
    takes = COMMANDS[name].takes
    if takes and not takes.startswith("[") and not rest:
        raise UsageError(f"/{name} needs its argument", hint=f"type /{name} {takes}")
    if rest and not takes:
        raise UsageError(f"/{name} takes no argument", hint=f"type /{name}; begin with a space to send the line")
    match name:
        case "ls":
            return HandCall(tool="list_directory", arguments={"path": rest or "."})
        case "read":
            return HandCall(tool="file_read", arguments={"path": rest})
        case "run":
            return HandCall(tool="shell", arguments={"command": rest})
        case _:
            return Word(name=name, rest=rest)


def _split(line: str) -> tuple[str, str]:
    words = line[1:].strip().split(None, 1)
    name, rest = (words[0] if words else ""), (words[1] if len(words) > 1 else "")
    return ("quit" if name == "exit" else name), rest
