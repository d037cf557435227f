"""How risky a program is with its arguments, and which paths it names. What is not known is high.

Options are parsed, not compared as text: clusters of letters, values that are
glued or follow, ``--name`` with or without ``=``. An option that is not known
makes the whole call high, and so does an abbreviation of a long one.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from .forms import (
    FIND_FILES,
    FIND_PLAIN,
    FIND_RUNS,
    FIND_TESTS,
    FORMS,
    GIT_FORMATS,
    GIT_READS,
    GIT_VALUES,
    LINKS,
    RAW,
    SHELL_WORDS,
    Form,
    Risk,
)
from .pattern import Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A program's risk, and the paths it names.

    Attributes:
        shape: What "always" would bind to; None when it is not offered.
        reads: Paths it reads, as written.
        writes: Paths it writes.
        walks: Paths among them below which it goes through everything.
        listed: Programs that must be in `allowed_commands`.
        is_word: Only a shell understands it.
        keeps_links: A path that is a link means the link, not where it leads.
    """

    risk: Risk
    reason: str
    shape: Shape | None = None
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    walks: tuple[str, ...] = ()
    listed: tuple[str, ...] = ()
    is_word: bool = False
    keeps_links: bool = False


_MEANING: dict[Risk, str] = {"low": "only reads", "medium": "changes files", "high": "may run or destroy anything"}


def judge_program(argv: Sequence[str]) -> Judged:
    """Judge one program with its arguments; wrappers are taken off before."""
    program = argv[0]
    if program in SHELL_WORDS:
        folders = tuple(argv[1:]) if program in ("cd", "pushd", ".", "source") else ()
        return Judged(risk="high", reason=f"{program} is a word of the shell", reads=folders, is_word=True)
    if program == "git":
        judged = _judge_git(argv)
    elif program == "find":
        judged = _judge_find(argv)
    elif program in RAW and not (program == "printf" and argv[1:2] and argv[1].startswith("-")):
        judged = Judged(
            risk="low", reason=f"{program} only writes its words", shape=Shape(program=program, has_texts=len(argv) > 1)
        )
    elif program in FORMS:
        judged = _judge_form(program, FORMS[program], argv[1:])
    else:
        named = posixpath.basename(program) or program
        judged = Judged(risk="high", reason=f"{named} may run anything, or is not known to be harmless")
    return replace(judged, listed=(program,))


def _judge_git(argv: Sequence[str]) -> Judged:
    rest = list(argv[1:])
    paths: list[str] = []
    while rest and rest[0] in ("-C", "--no-pager"):
        if rest.pop(0) == "-C":
            if not rest:
                return Judged(risk="high", reason="git -C names no folder")
            paths.append(rest.pop(0))
    if not rest or rest[0] not in GIT_READS:
        reason = f"git {rest[0] if rest else ''} may change things or run programs"
        return Judged(risk="high", reason=reason, reads=tuple(paths))
    verb, arguments = rest[0], rest[1:]
    if verb == "branch" and any(not word.startswith("-") for word in arguments):
        return Judged(risk="high", reason="git branch with a name changes branches")
    options = [word for word in arguments if word.startswith("-") and word != "--"]
    for word in options:
        if not _is_harmless(verb, word):
            return Judged(risk="high", reason=f"git {verb} {word}: it may write, or run what a repository names")
    shape = Shape(
        program=f"git {verb}",
        options=frozenset(word.partition("=")[0] for word in options) | ({"-C"} if paths else set()),
        has_texts=len(options) < len(arguments),
    )
    return Judged(risk="low", reason=f"git {verb} only reads", reads=tuple(paths), walks=tuple(paths), shape=shape)


def _is_harmless(verb: str, word: str) -> bool:
    if word in GIT_READS[verb]:
        return True
    if verb != "log":
        return False
    name, _, value = word.partition("=")
    if name in ("--format", "--pretty"):  # %G asks the program that checks signatures
        return value in GIT_FORMATS or ("%" in value and "%G" not in value)
    return word[1:].removeprefix("n").isdigit() or word.startswith(GIT_VALUES)


def _judge_find(argv: Sequence[str]) -> Judged:
    """Judge `find`: places first, then questions; whatever is no known question is high."""
    rest = list(argv[1:])
    if rest and rest[0] == "-P":
        rest.pop(0)
    places: list[str] = []
    while rest and not rest[0].startswith(("-", "(", "!", ",")):
        places.append(rest.pop(0))
    files: list[str] = []
    options: set[str] = set()
    high = ""
    while rest:
        word = rest.pop(0)
        options.add(word)
        if word in FIND_TESTS and rest:
            value = rest.pop(0)
            files += [value] if word in FIND_FILES else []
        elif word not in FIND_PLAIN:
            high = f"find {word}: it runs, writes, or is not known"
            break
    reads = (*(places or ["."]), *files)
    if high:
        inner = rest if options & FIND_RUNS else ()
        found = judge_program(inner) if inner else Judged(risk="high", reason=high)
        return Judged(risk="high", reason=high, reads=(*reads, *found.reads), writes=found.writes)
    shape = Shape(program="find", options=frozenset(options), has_paths=bool(places or files))
    return Judged(risk="low", reason="find only reads", reads=reads, walks=reads, shape=shape)


@dataclass(slots=True)
class _Read:
    """What the options of one call came to."""

    options: set[str] = field(default_factory=set)
    words: list[str] = field(default_factory=list)
    unknown: str = ""


def _judge_form(program: str, form: Form, arguments: Sequence[str]) -> Judged:
    read = _options(form, list(arguments))
    texts = 0 if read.options & set(form.patterns) else form.texts
    taken = len(read.words) if texts < 0 else texts
    plain, paths = read.words[:taken], read.words[taken:]
    reason = _lifted(program, form, read, plain)
    risk: Risk = "high" if reason else form.risk
    walks: tuple[str, ...] = ()
    if "*" in form.walks or read.options & set(form.walks):
        walks = tuple(paths) or (".",)
    shape = Shape(program=program, options=frozenset(read.options), has_texts=bool(plain), has_paths=bool(paths))
    reads, writes = _touched(program, form, paths)
    return Judged(
        risk=risk,
        reason=reason or f"{program} {_MEANING[risk]}",
        shape=None if risk == "high" else shape,
        reads=reads or walks,
        writes=writes,
        walks=walks,
        keeps_links=program in LINKS,
    )


def _lifted(program: str, form: Form, read: _Read, texts: Sequence[str]) -> str:
    """Say why a call is high; "" when it is a known form."""
    if form.risk == "high":
        return f"{program} {_MEANING['high']}"
    if read.unknown:
        return f"{program} {read.unknown}: it may write, run or read something else"
    if 0 <= form.most < len(read.words):
        return f"{program} with {len(read.words)} names writes to the last one"
    strange = next((text for text in texts if form.each and re.fullmatch(form.each, text) is None), None)
    return "" if strange is None else f"{program} {strange}: it may do more than show"


def _touched(program: str, form: Form, paths: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what is read and what is written."""
    if form.risk == "low":
        return tuple(paths), ()
    if program in ("cp", "mv") and len(paths) == 2:
        inside = posixpath.join(paths[1], posixpath.basename(posixpath.normpath(paths[0])))  # when it is a folder
        moved = (paths[0],) if program == "mv" else ()
        return (paths[0],), (*moved, paths[1], inside)
    return tuple(paths), tuple(paths)


def _options(form: Form, arguments: list[str]) -> _Read:
    read = _Read()
    while arguments:
        word = arguments.pop(0)
        if word == "--":
            read.words += arguments
            break
        if word == "-" or not word.startswith("-"):
            read.words.append(word)
        elif word.startswith("--"):
            _long(form, word, arguments, read)
        elif form.digits and word[1:].isdecimal():
            read.options.add("-NUMBER")
        else:
            _letters(form, word, arguments, read)
    return read


def _long(form: Form, word: str, arguments: list[str], read: _Read) -> None:
    name, equals, _ = word[2:].partition("=")
    read.options.add(f"--{name}")
    if name in form.longs.split() or f"--{name}" == "--files" in form.patterns:
        return
    if name in form.long_values.split() or f"--{name}" in form.patterns:
        if not equals and arguments:
            arguments.pop(0)
        return
    read.unknown = read.unknown or f"--{name}"


def _letters(form: Form, word: str, arguments: list[str], read: _Read) -> None:
    """Read a cluster of letters; the value of one that takes one is the rest, or the next word."""
    for at, letter in enumerate(word[1:], 2):
        read.options.add(f"-{letter}")
        if letter in form.values or f"-{letter}" in form.patterns:
            if at == len(word) and arguments:
                arguments.pop(0)
            return
        if letter not in form.flags:
            read.unknown = read.unknown or f"-{letter}"
