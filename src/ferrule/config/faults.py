"""Turns what pydantic reports into faults with a line, a key and the nearest valid name."""

from __future__ import annotations

from pydantic import ValidationError

from .document import Document, follow
from .problems import Path, Problem, nearest
from .root import NOT_YET
from .shape import Shape


def faults_of(error: ValidationError, prefix: Path, document: Document, shape: Shape) -> list[Problem]:
    """List the faults, one for each key.

    pydantic reports one error for each member of a union and puts the member's
    name into the path; those are cut off and their texts joined.
    """
    texts: dict[Path, list[str]] = {}
    problems: list[Problem] = []
    for entry in error.errors(include_url=False, include_input=False, include_context=False):
        path = (*prefix, *entry["loc"])
        kind = entry["type"]
        if kind == "extra_forbidden":
            problems.append(unknown(path, document, shape))
        elif kind == "missing":
            problems.append(document.problem(path, "is missing", "this key has no default"))
        else:
            texts.setdefault(follow(document.data, path)[0], []).append(_text(entry["msg"]))
    problems += [document.problem(path, " or ".join(dict.fromkeys(found))) for path, found in texts.items()]
    return problems


def unknown(path: Path, document: Document, shape: Shape) -> Problem:
    """Make the fault of a key that nothing reads."""
    name = str(path[-1])
    if len(path) == 1 and name in NOT_YET:
        return document.problem(path, "unknown key", "not in this version")
    return document.problem(path, "unknown key", nearest(name, shape.keys(path[:-1])))


def _text(message: str) -> str:
    """Drop pydantic's preamble.

    >>> _text("Value error, a name is short")
    'a name is short'
    >>> _text("Input should be a valid integer")
    'should be a valid integer'
    >>> _text("Input should be a valid dictionary or instance of Agent")
    'should be a table'
    """
    text = message.removeprefix("Value error, ").removeprefix("Input ")
    return "should be a table" if text.startswith("should be a valid dictionary") else text
