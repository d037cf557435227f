"""What can be typed with a slash; `/ls`, `/read` and `/run` call a tool by hand, through the same gate."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...types.errors import UsageError

HELP = """\
/help            this text
/tools           what the agent can call, and what the gate says
/ls [PATH]       list a folder, through the gate
/read PATH       read a file, through the gate
/run COMMAND     run a command, through the gate
/quit            end the chat (so does Ctrl-D)

Anything else is sent to the agent. Ctrl-C stops an answer.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandCall:
    """A tool call that a person typed."""

    tool: str
    arguments: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A command of the chat itself: help, tools or quit."""

    name: str


def parse_slash(line: str) -> HandCall | Word | None:
    """Read a line; None when it is a message for the agent.

    Raises:
        UsageError: an unknown command, or one without its argument.

    >>> parse_slash("/read a.txt")
    HandCall(tool='file_read', arguments={'path': 'a.txt'})
    >>> parse_slash("hello") is None
    True
    """
    if not line.startswith("/"):
        return None
    name, _, rest = line[1:].strip().partition(" ")
    rest = rest.strip()
    match name:
        case "help" | "tools" | "quit":
            return Word(name=name)
        case "exit":
            return Word(name="quit")
        case "ls":
            return HandCall(tool="list_directory", arguments={"path": rest or "."})
        case "read":
            return HandCall(tool="file_read", arguments={"path": _needed(name, rest, "PATH")})
        case "run":
            return HandCall(tool="shell", arguments={"command": _needed(name, rest, "COMMAND")})
        case _:
            raise UsageError(f"there is no command /{name}", hint="/help lists them; begin with a space to send it")


def _needed(name: str, rest: str, what: str) -> str:
    if not rest:
        raise UsageError(f"/{name} needs its argument", hint=f"type /{name} {what}")
    return rest
