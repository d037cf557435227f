"""How risky a program is, and which paths it names. What is not known is high.

Low: reads, and runs nothing else. Medium: changes files it names. High: runs
other programs, reaches the network, destroys, or is unknown. A program's
harmless forms are low; an option that makes it write or run something lifts
it. Options are parsed, not compared as text: clusters of letters, ``--name``
with or without ``=``, and every abbreviation of a long name.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Risk = Literal["low", "medium", "high"]


@dataclass(frozen=True, slots=True)
class Form:
    """What is known about a program.

    Attributes:
        risk: Of its harmless forms.
        letters: Short options that lift it to high.
        names: Long options (and words such as ``-exec``) that lift it to high.
        words: How many leading plain words are no paths (a pattern, a script); -1 when none of them is one.
        most: Most plain words of the harmless form; -1 for any number.
    """

    risk: Risk
    letters: str = ""
    names: tuple[str, ...] = ()
    words: int = 0
    most: int = -1


FORMS: dict[str, Form] = {
    "basename": Form("low", words=-1),
    "cat": Form("low"),
    "cmp": Form("low"),
    "cut": Form("low"),
    "date": Form("low", "sfr", ("set", "file", "reference"), words=-1),
    "df": Form("low"),
    "diff": Form("low", names=("to-file", "from-file")),
    "dirname": Form("low", words=-1),
    "du": Form("low", names=("files0-from",)),
    "echo": Form("low", words=-1),
    "false": Form("low", words=-1),
    "file": Form("low", "fmC", ("compile", "magic-file", "files-from")),
    "find": Form(
        "low",
        names=(
            "-exec",
            "-execdir",
            "-ok",
            "-okdir",
            "-delete",
            "-fprint",
            "-fprint0",
            "-fprintf",
            "-fls",
            "-files0-from",
        ),
    ),
    "grep": Form("low", "fe", ("file", "regexp"), words=1),
    "head": Form("low"),
    "ls": Form("low"),
    "nl": Form("low"),
    "pwd": Form("low", words=-1),
    "rg": Form(
        "low",
        "fze",
        ("files", "regexp", "pre", "pre-glob", "search-zip", "hostname-bin", "file", "ignore-file"),
        words=1,
    ),
    "sort": Form("low", "oT", ("output", "compress-program", "temporary-directory", "files0-from")),
    "stat": Form("low"),
    "tail": Form("low", names=("pid",)),
    "tree": Form("low", "oR", ("fromfile",)),
    "true": Form("low", words=-1),
    "uniq": Form("low", most=1),
    "wc": Form("low", names=("files0-from",)),
    "which": Form("low", words=-1),
    "cp": Form("medium", "S", ("suffix", "target-directory"), most=2),
    "ln": Form("medium", most=2),
    "mkdir": Form("medium", "m", ("mode", "context")),
    "mv": Form("medium", "S", ("suffix", "target-directory"), most=2),
    "touch": Form("medium", "r", ("reference",)),
}

GIT_READS: dict[str, frozenset[str]] = {
    "status": frozenset({"-s", "--short", "-b", "--branch", "--porcelain", "--porcelain=v1", "--porcelain=v2"}),
    "log": frozenset(
        {"--oneline", "--graph", "--decorate", "--all", "--reverse", "--merges", "--no-merges", "--name-only", "-n"}
    ),
    "branch": frozenset({"-a", "-r", "-v", "-vv", "--all", "--remotes", "--list", "--show-current"}),
    "rev-parse": frozenset({"--show-toplevel", "--abbrev-ref", "--short", "--verify", "--git-dir"}),
    "ls-files": frozenset({"-c", "-o", "--cached", "--others", "--exclude-standard"}),
    "describe": frozenset({"--tags", "--always", "--all"}),
    "shortlog": frozenset({"-s", "-n", "-e", "-sn", "-sne"}),
}
"""Sub-commands that only read, with the options that keep it so: many others run programs that a repository names."""

GIT_VALUES = ("--since=", "--until=", "--author=", "--grep=", "--max-count=", "--date=")
"""Options of `git log` whose value is only text."""

GIT_FORMATS = frozenset({"oneline", "short", "medium", "full", "fuller", "reference", "raw"})
"""Formats that git itself names; a repository's config can name others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A program's risk, and the paths it names.

    Attributes:
        shape: The words that "always" would bind to, for example ``git status``.
    """

    risk: Risk
    reason: str
    paths: tuple[str, ...] = ()
    shape: str = ""


def judge_program(argv: Sequence[str]) -> Judged:
    """Judge one program with its arguments."""
    program = argv[0]
    if program == "date" and any(not word.startswith(("+", "-")) for word in argv[1:]):
        return Judged(risk="high", reason="date with a plain word sets the clock")
    if program == "git":
        return _judge_git(argv)
    form = FORMS.get(program)
    if form is None:
        named = posixpath.basename(program)
        return Judged(risk="high", reason=f"{named} may run anything, or is not known to be harmless")
    return _judge_form(program, form, argv[1:])


def _judge_git(argv: Sequence[str]) -> Judged:
    rest = list(argv[1:])
    paths: list[str] = []
    while rest and rest[0] in ("-C", "--no-pager"):
        if rest.pop(0) == "-C":
            if not rest:
                return Judged(risk="high", reason="git -C names no folder")
            paths.append(rest.pop(0))
    if not rest or rest[0] not in GIT_READS:
        return Judged(risk="high", reason=f"git {rest[0] if rest else ''} may change things or run programs")
    verb, arguments = rest[0], rest[1:]
    if verb == "branch" and any(not word.startswith("-") for word in arguments):
        return Judged(risk="high", reason="git branch with a name changes branches")
    for word in arguments:
        if word.startswith("-") and word != "--" and not _is_harmless(verb, word):
            return Judged(risk="high", reason=f"git {verb} {word}: it may write, or run what a repository names")
    shape = f"git {verb}"
    return Judged(risk="low", reason=f"{shape} only reads", paths=tuple(paths), shape=shape)


def _is_harmless(verb: str, word: str) -> bool:
    if word in GIT_READS[verb]:
        return True
    if verb != "log":
        return False
    name, _, value = word.partition("=")
    if name in ("--format", "--pretty"):  # %G asks the program that checks signatures
        return value in GIT_FORMATS or ("%" in value and "%G" not in value)
    return word[1:].removeprefix("n").isdigit() or word.startswith(GIT_VALUES)


def _judge_form(shape: str, form: Form, arguments: Sequence[str]) -> Judged:
    plain: list[str] = []
    paths: list[str] = []
    only_plain = False
    for word in arguments:
        if only_plain or not word.startswith("-") or word == "-":
            plain.append(word)
        elif word == "--":
            only_plain = True
        elif reason := _lifts(word, form):
            return Judged(risk="high", reason=f"{shape} {word}: {reason}")
        else:
            paths += _glued_path(word)
    if 0 <= form.most < len(plain):
        return Judged(risk="high", reason=f"{shape} with {len(plain)} names writes to the last one")
    if form.words >= 0:
        paths += plain[form.words :]
    return Judged(risk=form.risk, reason=f"{shape} {_MEANING[form.risk]}", paths=tuple(paths), shape=shape)


_MEANING: dict[Risk, str] = {"low": "only reads", "medium": "changes files", "high": "may run anything"}


def _lifts(word: str, form: Form) -> str:
    """Say why an option makes a program dangerous; "" when it does not."""
    name = word.lstrip("-").partition("=")[0]
    if word.startswith("--"):
        hit = next((known for known in form.names if not known.startswith("-") and known.startswith(name)), None)
        return "it writes, runs or reads something else" if hit is not None and name else ""
    if word in form.names:
        return "it runs or changes something"
    if any(letter in form.letters for letter in name):
        return "it writes, runs or reads something else"
    return ""


def _glued_path(word: str) -> list[str]:
    """Return the path that is stuck to an option: ``--file=/x``, ``-f/x``, ``-f../x``."""
    _, equals, value = word.partition("=")
    if equals:
        return [value] if value else []
    for sign in ("/", ".."):
        if sign in word:
            return [word[word.index(sign) :]]
    return []
