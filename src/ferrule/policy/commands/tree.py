"""What a command line says, as small frozen values. Whatever a shell would still have to work out is an `Expansion`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

LONGEST = 16_384
"""Characters of the longest line that is read at all."""

DEEPEST = 60
"""Levels of nesting that are followed."""

TOO_DEEP = "deep nesting"
"""The kind of a line that is nested deeper."""


@dataclass(frozen=True, slots=True)
class Text:
    """Characters that mean themselves."""

    value: str


@dataclass(frozen=True, slots=True)
class Expansion:
    """Part of a word that a shell replaces.

    Attributes:
        kind: For people: "a variable", "a pattern of file names".
        source: As written.
        inside: The commands that run for it.
        is_home: It is the home folder and nothing else.
    """

    kind: str
    source: str
    inside: tuple[Node, ...] = ()
    is_home: bool = False


@dataclass(frozen=True, slots=True)
class Word:
    """One word, in parts."""

    parts: tuple[Text | Expansion, ...]

    @property
    def literal(self) -> str | None:
        """The word's text; None when a shell would change it."""
        texts = [part.value for part in self.parts if isinstance(part, Text)]
        return "".join(texts) if len(texts) == len(self.parts) else None

    @property
    def expansions(self) -> tuple[Expansion, ...]:
        """What a shell would replace."""
        return tuple(part for part in self.parts if isinstance(part, Expansion))

    def guess(self, home: str) -> str:
        """Return the text as far as it is known: the home folder filled in, other expansions as written.

        >>> Word((Expansion("the home folder", "~", is_home=True), Text("/../x"))).guess("/w")
        '/w/../x'
        """
        return "".join(
            part.value if isinstance(part, Text) else home if part.is_home else part.source for part in self.parts
        )


@dataclass(frozen=True, slots=True)
class Assignment:
    """``NAME=value`` before a program."""

    name: str
    value: Word


@dataclass(frozen=True, slots=True)
class Redirection:
    """``2>/dev/null``: `handle` is the number in front, "" when there is none."""

    operator: str
    handle: str
    target: Word


@dataclass(frozen=True, slots=True)
class Simple:
    """One program with its words, assignments and redirections."""

    words: tuple[Word, ...]
    assignments: tuple[Assignment, ...] = ()
    redirections: tuple[Redirection, ...] = ()


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Programs that feed each other with ``|``."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Sequence:
    """Commands one after the other; `joins` stand between them: ``;``, ``&&``, ``||``."""

    items: tuple[Node, ...]
    joins: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compound:
    """Anything else: loops, functions, groups, what is not understood. `inside` are the commands found in it."""

    kind: str
    inside: tuple[Node, ...] = ()


Node = Simple | Pipeline | Sequence | Compound


def simples(node: Node) -> Iterator[Simple]:
    """Yield every simple command of a tree, those inside of words and compounds included."""
    if isinstance(node, Simple):
        yield node
        words = [*node.words, *(a.value for a in node.assignments), *(r.target for r in node.redirections)]
        for word in words:
            for part in word.expansions:
                for inner in part.inside:
                    yield from simples(inner)
        return
    for inner in node.inside if isinstance(node, Compound) else node.items:
        yield from simples(inner)


def strangers(node: Node) -> Iterator[str]:
    """Yield, for people, each kind of thing in a tree that a shell would have to work out."""
    if isinstance(node, Compound):
        yield node.kind
    elif isinstance(node, Simple):
        words = [*node.words, *(a.value for a in node.assignments), *(r.target for r in node.redirections)]
        for word in words:
            yield from (f"{part.kind} ({part.source})" for part in word.expansions)
    else:
        for inner in node.items:
            yield from strangers(inner)
