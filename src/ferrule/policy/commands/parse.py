"""Reads a command line into the tree. The only file that knows the grammar's library, loaded with the first line.

What the grammar reads in another way than a shell would is no way round: what
runs is written anew from the tree that was judged (`plan`), never the line.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .tree import (
    DEEPEST,
    LONGEST,
    TOO_DEEP,
    Assignment,
    Compound,
    Expansion,
    Node,
    Pipeline,
    Redirection,
    Sequence,
    Simple,
    Text,
    Word,
)

if TYPE_CHECKING:
    import tree_sitter

COMPOUNDS = {
    "c_style_for_statement": "a loop",
    "case_statement": "a case",
    "compound_statement": "a group",
    "declaration_command": "a declaration",
    "for_statement": "a loop",
    "function_definition": "a function",
    "if_statement": "a condition",
    "negated_command": "a negation",
    "subshell": "a subshell",
    "test_command": "a test of the shell",
    "unset_command": "a word of the shell",
    "variable_assignment": "an assignment",
    "variable_assignments": "assignments",
    "while_statement": "a loop",
}
"""Statements that are known and not followed, in words for people."""

STATEMENTS = frozenset({"program", "list", "pipeline", "command", "redirected_statement", *COMPOUNDS})

EXPANSIONS = {
    "ansi_c_string": "an escaped string",
    "arithmetic_expansion": "arithmetic",
    "command_substitution": "the output of a command",
    "expansion": "a variable",
    "process_substitution": "the output of a command",
    "simple_expansion": "a variable",
}

_UNQUOTED = re.compile(r"\\(\n|.)|(\{\})|([*?\[\]])|([{}])|(~)|([$`()<>|&;!#])|([^\\*?\[\]{}~$`()<>|&;!#]+|\\)", re.S)
_JOINED_LINES = re.compile(r"\S\\\n\S")
_QUOTED = re.compile(r"\\([$`\"\\\n])|([$`])|([^\\$`]+|\\)", re.S)


def parsed(line: str) -> Node:
    """Read one line; what cannot be followed becomes `Compound` or `Expansion`, never an error."""
    if len(line) > LONGEST:
        return Compound(f"a line of more than {LONGEST} characters")
    if _JOINED_LINES.search(line):
        return Compound("a word over two lines")
    strange = next((sign for sign in line if _is_strange(sign)), None)
    if strange is not None:
        return Compound(f"the sign U+{ord(strange):04X}")
    source = line.encode()
    root = _parser().parse(source).root_node
    reader = _Reader(source)
    found = reader.node(root, 0)
    if reader.is_too_deep:
        return Compound(TOO_DEEP)
    return Compound("something that is not understood", (found,)) if root.has_error else found


def _is_strange(sign: str) -> bool:
    return sign not in "\t\n" and unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp")


@functools.cache
def _parser() -> tree_sitter.Parser:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


class _Reader:
    """Turns the grammar's nodes into ours."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self.is_too_deep = False

    def node(self, found: tree_sitter.Node, depth: int) -> Node:
        """Read one statement."""
        if depth > DEEPEST:
            self.is_too_deep = True
            return Compound(TOO_DEEP)
        if found.type in ("program", "list"):
            return self._sequence(found, depth)
        if found.type == "pipeline":
            return self._pipeline(found, depth)
        if found.type == "command":
            return self._simple(found, depth)
        if found.type == "redirected_statement":
            return self._redirected(found, depth)
        return Compound(COMPOUNDS.get(found.type, "something that is not understood"), self._inside(found, depth))

    def _inside(self, found: tree_sitter.Node, depth: int) -> tuple[Node, ...]:
        """Return the statements below a node that is not followed."""
        if depth > DEEPEST:
            self.is_too_deep = True
            return ()
        inner: list[Node] = []
        for child in found.named_children:
            if child.type in STATEMENTS:
                inner.append(self.node(child, depth + 1))
            else:
                inner += self._inside(child, depth + 1)
        return tuple(inner)

    def _sequence(self, found: tree_sitter.Node, depth: int) -> Node:
        items: list[Node] = []
        joins: list[str] = []
        for child in _links(found):
            if child.type == "comment":
                continue
            if child.is_named:
                if len(joins) < len(items):
                    joins.append(";")  # a line break
                items.append(self.node(child, depth + 1))
            elif child.type in ("&&", "||"):
                joins.append(child.type)
            elif child.type not in (";", "\n"):
                return Compound("a job in the background", self._inside(found, depth))
        return items[0] if len(items) == 1 else Sequence(tuple(items), tuple(joins))

    def _pipeline(self, found: tree_sitter.Node, depth: int) -> Node:
        if any(child.type not in ("|", "comment") for child in found.children if not child.is_named):
            return Compound("a pipe of errors", self._inside(found, depth))
        return Pipeline(tuple(self.node(child, depth + 1) for child in found.named_children if child.type != "comment"))

    def _simple(self, found: tree_sitter.Node, depth: int) -> Node:
        words: list[Word] = []
        assignments: list[Assignment] = []
        redirections: list[Redirection] = []
        at = found.start_byte
        for child in found.children:
            if self._slice(at, child.start_byte).replace("\\\n", "").strip(" \t"):
                return Compound("a sign between words", self._inside(found, depth))
            at = child.end_byte
            if child.type == "variable_assignment":
                read = self._assignment(child, depth)
                if read is None:
                    return Compound("an assignment", self._inside(found, depth))
                assignments.append(read)
            elif child.type == "file_redirect":
                redirections.append(self._redirection(child, depth))
            elif child.type == "command_name":
                words.append(self._word(child.children, depth))
            elif child.type == "herestring_redirect":
                return Compound("a text as input", (*self._inside(found, depth), Simple(tuple(words))))
            else:
                words.append(self._word([child], depth))
        return Simple(tuple(words), tuple(assignments), tuple(redirections))

    def _assignment(self, found: tree_sitter.Node, depth: int) -> Assignment | None:
        name, equals = found.children[0], found.children[1]
        if name.type != "variable_name" or equals.type != "=":
            return None
        return Assignment(self._text(name), self._word(found.children[2:], depth))

    def _redirected(self, found: tree_sitter.Node, depth: int) -> Node:
        """Read a statement with redirections behind it; they belong to its last program."""
        body: Node = Simple(())
        redirections: list[Redirection] = []
        for child in found.named_children:
            if child.type == "file_redirect":
                redirections.append(self._redirection(child, depth))
            elif child.type in STATEMENTS:
                body = self.node(child, depth + 1)
            else:
                return Compound("a text as input", self._inside(found, depth))
        return _with_last(body, tuple(redirections))

    def _redirection(self, found: tree_sitter.Node, depth: int) -> Redirection:
        handle = operator = ""
        parts: list[Text | Expansion] = []
        for child in found.children:
            if child.type == "file_descriptor":
                handle = self._text(child)
            elif not child.is_named and not operator:
                operator = child.type
            else:
                parts += self._parts(child, depth)
        return Redirection(operator, handle, Word(tuple(parts)))

    def _word(self, found: Iterable[tree_sitter.Node], depth: int) -> Word:
        return Word(tuple(part for piece in found for part in self._parts(piece, depth)))

    def _parts(self, found: tree_sitter.Node, depth: int) -> tuple[Text | Expansion, ...]:
        text = self._text(found)
        if found.type in ("word", "number", "variable_name") and not found.child_count:
            return tuple(_unquoted(text))
        if found.type == "raw_string":
            return (Text(text[1:-1]),)
        if found.type == "string":
            return self._string(found, depth)
        if found.type == "concatenation":
            return self._joined(found, depth)
        kind = EXPANSIONS.get(found.type, "something that is not understood")
        inside = self._inside(found, depth + 1)
        return (Expansion(kind, text, inside, is_home=text in ("$HOME", "${HOME}")),)

    def _joined(self, found: tree_sitter.Node, depth: int) -> tuple[Text | Expansion, ...]:
        if self._text(found) == "{}":  # an empty list is no list
            return (Text("{}"),)
        parts: list[Text | Expansion] = []
        at = found.start_byte
        for child in found.children:
            gap = self._slice(at, child.start_byte)
            parts += [Expansion("a gap in a word", gap)] if gap else []
            inner = self._parts(child, depth)
            is_tilde = bool(inner) and isinstance(inner[0], Expansion) and inner[0].is_home
            if is_tilde and at != found.start_byte and child.type == "word":
                inner = (Text("~"), *inner[1:])
            parts += inner
            at = child.end_byte
        return tuple(parts)

    def _string(self, found: tree_sitter.Node, depth: int) -> tuple[Text | Expansion, ...]:
        """Read between double quotes by position: the grammar leaves line breaks out of its pieces."""
        parts: list[Text | Expansion] = []
        at = found.start_byte + 1
        for child in found.named_children:
            if child.type != "string_content":
                parts += _quoted(self._slice(at, child.start_byte))
                parts += self._parts(child, depth)
                at = child.end_byte
        return (*parts, *_quoted(self._slice(at, found.end_byte - 1)))

    def _text(self, found: tree_sitter.Node) -> str:
        return self._slice(found.start_byte, found.end_byte)

    def _slice(self, start: int, end: int) -> str:
        return self._source[start:end].decode(errors="replace")  # an unclosed quote may end within a sign


def _links(found: tree_sitter.Node) -> list[tree_sitter.Node]:
    """Return the children of a statement; of a chain of ``&&`` and ``||``, which nests to the left, all of them."""
    children = list(found.children)
    while found.type == "list" and children[0].type == "list":
        children[:1] = children[0].children
    return children


def _with_last(node: Node, redirections: tuple[Redirection, ...]) -> Node:
    """Give redirections to the last program of a statement."""
    if isinstance(node, Simple):
        return Simple(node.words, node.assignments, node.redirections + redirections)
    if isinstance(node, Compound):
        return Compound(node.kind, (*node.inside, Simple((), (), redirections)))
    last = _with_last(node.items[-1], redirections)
    if isinstance(node, Pipeline):
        return Pipeline((*node.items[:-1], last))
    return Sequence((*node.items[:-1], last), node.joins)


def _unquoted(text: str) -> list[Text | Expansion]:
    """Read a run without quotes: backslashes go, what a shell would replace stays visible."""
    parts: list[Text | Expansion] = []
    for found in _UNQUOTED.finditer(text):
        escaped, pair, pattern, brace, tilde, sign, plain = found.groups()
        before = text[: found.start()][-1:]
        if pattern:
            parts.append(Expansion("a pattern of file names", pattern))
        elif brace:
            parts.append(Expansion("a list in braces", brace))
        elif tilde and before in ("", "=", ":"):
            rest = text[found.end() :]
            parts.append(Expansion("the home folder", "~", is_home=not rest or rest.startswith("/")))
        elif sign:
            parts.append(Text(sign) if sign == "!" else Expansion("a sign of the shell", sign))
        else:
            escaped = "" if escaped == "\n" else escaped
            parts.append(Text(escaped or pair or tilde or plain or ""))
    return parts or [Text("")]


def _quoted(text: str) -> list[Text | Expansion]:
    """Read a run between double quotes."""
    parts: list[Text | Expansion] = []
    for found in _QUOTED.finditer(text):
        escaped, sign, plain = found.groups()
        if sign:
            parts.append(Expansion("a sign of the shell", sign))
        else:
            parts.append(Text("" if escaped == "\n" else escaped or plain or ""))
    return parts
