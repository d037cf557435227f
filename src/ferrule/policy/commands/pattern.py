"""What "always" binds to: the shape of a line, as it is shown.

A pattern is the program, its sub-command, each option by name, and which kinds
of words follow - and it covers exactly the lines of the same shape: fewer
options are another shape, for an option may also make a program milder
(``cp -n``). Paths and texts may differ; paths are judged anew on every line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The shape of one program's words.

    Attributes:
        program: With its wrappers and its sub-command: ``timeout git status``.
        options: Their names, without values.
        has_texts: Words follow that are no paths.
        has_paths: Paths follow.
        redirections: Operators behind which it writes a file.
    """

    program: str
    options: frozenset[str] = frozenset()
    has_texts: bool = False
    has_paths: bool = False
    redirections: tuple[str, ...] = ()

    def __str__(self) -> str:
        words = [self.program, *sorted(self.options)]
        words += ["TEXT"] * self.has_texts + ["PATH"] * self.has_paths
        return " ".join([*words, *(f"{operator} PATH" for operator in self.redirections)])


def pattern_of(shapes: Sequence[Shape]) -> str:
    """Write the pattern of a line whose programs have these shapes.

    >>> pattern_of([Shape(program="grep", options=frozenset({"-n"}), has_texts=True), Shape(program="wc")])
    'command:grep -n TEXT, wc'
    """
    return "command:" + ", ".join(str(shape) for shape in shapes)
