"""What is started for a line: one program without a shell, or a line written anew from the tree that was judged."""

from __future__ import annotations

from dataclasses import dataclass

from .lines import Place, judged_line
from .parse import parsed
from .tree import Compound, Node, Pipeline, Redirection, Simple, Word


@dataclass(frozen=True, slots=True)
class Plan:
    """How a line is started.

    Attributes:
        argv: Program and arguments.
        has_shell: The program is a shell.
        places: Paths that it names, absolute: to be looked at once more on the disk.
    """

    argv: tuple[str, ...]
    has_shell: bool
    places: tuple[Place, ...]


def planned(line: str, *, cwd: str, home: str) -> Plan:
    """Plan a line. One that is not understood in full keeps its text: it runs only when a person allowed it.

    >>> planned("ls -l 'a b'", cwd="", home="/w").argv
    ('ls', '-l', 'a b')
    >>> planned('ls | wc "-l" 2>/dev/null', cwd="", home="/w").argv[2]
    "'ls' | 'wc' '-l' 2>'/dev/null'"
    """
    tree = parsed(line)
    judged = judged_line(tree, cwd=cwd, home=home)
    if judged.unclear or judged.is_too_much:
        return Plan(("/bin/sh", "-c", line), True, judged.places)
    if isinstance(tree, Simple) and not tree.assignments and not tree.redirections:
        return Plan(tuple(_text(word) for word in tree.words), False, judged.places)
    return Plan(("/bin/sh", "-c", written(tree)), True, judged.places)


def written(node: Node) -> str:
    """Write a tree as a line in which every word is quoted.

    Raises:
        ValueError: something in it is left to a shell.
    """
    if isinstance(node, Simple):
        assigned = [f"{a.name}={_quoted(a.value)}" for a in node.assignments]
        words = [_quoted(word) for word in node.words]
        if words[:1] == ["'cd'"]:
            words.insert(1, "-P")  # so that a later ".." means what it meant when the paths were looked at
        return " ".join([*assigned, *words, *map(_redirection, node.redirections)])
    if isinstance(node, Pipeline):
        return " | ".join(map(written, node.items))
    if isinstance(node, Compound):
        raise ValueError(f"{node.kind} is left to a shell")
    pieces = [written(node.items[0])]
    for join, item in zip(node.joins, node.items[1:], strict=False):
        pieces += ["; " if join == ";" else f" {join} ", written(item)]
    return "".join(pieces)


def _redirection(redirection: Redirection) -> str:
    target = _text(redirection.target) if redirection.operator == ">&" else _quoted(redirection.target)
    return f"{redirection.handle}{redirection.operator}{target}"


def _text(word: Word) -> str:
    text = word.literal
    if text is None:
        raise ValueError("a word is left to a shell")
    return text


def _quoted(word: Word) -> str:
    return "'" + _text(word).replace("'", "'\\''") + "'"
