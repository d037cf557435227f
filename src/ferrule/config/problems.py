"""Everything that is wrong with a config, told at once."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..types.errors import ConfigError

Path = tuple[str | int, ...]
"""A key as its steps: table names, keys, positions in arrays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One fault.

    Attributes:
        where: The file, or the variable or flag that brought the value.
        line: The line in the file, from 1; 0 when there is none.
        key: The dotted key, "" for the file as a whole.
        cause: What is wrong. Never holds a secret.
        hint: How to fix it.
    """

    where: str
    key: str
    cause: str
    hint: str = ""
    line: int = 0

    def __str__(self) -> str:
        """One line for people."""
        place = f"{self.where}:{self.line}" if self.line else self.where
        subject = f"{place}: {self.key}" if self.key else place
        return f"{subject}: {self.cause}" + (f" ({self.hint})" if self.hint else "")


class InvalidConfig(ConfigError):
    """The config has faults; `problems` holds every one of them, in the order of the file."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        super().__init__(f"{count} in the config:\n" + "\n".join(f"  {problem}" for problem in problems))
        self.problems = tuple(problems)


def dotted(path: Iterable[str | int]) -> str:
    """Write a key for people.

    >>> dotted(("agents", "main", "tools", 0))
    'agents.main.tools[0]'
    """
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def nearest(name: str, valid: Iterable[str]) -> str:
    """Say what may have been meant.

    >>> nearest("tempreature", ["temperature", "model"])
    'did you mean "temperature"?'
    >>> nearest("x", ["model", "api_key"])
    'valid here: api_key, model'
    """
    names = sorted(valid)
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f'did you mean "{close[0]}"?'
    return f"valid here: {', '.join(names)}" if names else ""
