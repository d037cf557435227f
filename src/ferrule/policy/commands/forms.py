"""Which programs are known, with every option that is known to be harmless. What is not written here asks.

Risk low: reads, and runs nothing else. Medium: changes the files it names.
High: asks always; it is here for the paths that it names. Source of the
options: the manuals of GNU coreutils 9, findutils 4.9, diffutils 3.8,
grep 3.8, sed 4.9, ripgrep 13 and tree 2.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Risk = Literal["low", "medium", "high"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What is known about a program.

    Attributes:
        risk: Of its known forms.
        flags: Short options without a value.
        values: Short options that must have a value, which is only text: glued or the next word.
        longs: Long options; a text may be glued to them with ``=``.
        long_values: Long options whose text may also be the next word.
        patterns: Options that give the text which is otherwise the first word.
        digits: ``-5`` is known.
        texts: How many leading words are no paths; -1 when none of them is one.
        most: Most words besides options; -1 for any number.
        each: What every text must match, whole; "" for anything.
        walks: Options that make it go through folders; "*" when it always does.
    """

    risk: Risk = "low"
    flags: str = ""
    values: str = ""
    longs: str = ""
    long_values: str = ""
    patterns: tuple[str, ...] = ()
    digits: bool = False
    texts: int = 0
    most: int = -1
    each: str = ""
    walks: tuple[str, ...] = ()


_TEXT = Form(texts=-1)
_LINES = r"(?:\d+|\$)(?:,(?:\d+|\$))?"
_PIECE = r"(?:(?!(?P=mark))[^\\\n]|\\[^\n])*"
_SUM = Form(flags="bz", longs="binary tag zero")
_GREP = Form(
    flags="EFGPiIvwxycLlqsonHhTZabrU",
    values="ABCm",
    longs="extended-regexp fixed-strings basic-regexp perl-regexp ignore-case no-ignore-case invert-match word-regexp"
    " line-regexp count files-without-match files-with-matches quiet silent no-messages byte-offset only-matching"
    " line-number with-filename no-filename initial-tab null text recursive color colour line-buffered",
    long_values="max-count after-context before-context context include exclude exclude-dir label",
    patterns=("-e", "--regexp"),
    digits=True,
    texts=1,
    walks=("-r", "--recursive"),
)

FORMS: dict[str, Form] = {
    "arch": Form(most=0),
    "base64": Form(flags="di", values="w", longs="decode ignore-garbage", long_values="wrap"),
    "basename": Form(flags="az", values="s", longs="multiple zero", long_values="suffix", texts=-1),
    "cat": Form(flags="AbeEnstTuv", longs="show-all number number-nonblank show-ends show-tabs squeeze-blank"),
    "cksum": Form(),
    "cmp": Form(flags="bls", values="in", longs="print-bytes verbose quiet silent", long_values="bytes"),
    "comm": Form(flags="123z", longs="check-order nocheck-order total", long_values="output-delimiter"),
    "cut": Form(
        flags="nsz",
        values="bcdf",
        longs="complement only-delimited zero-terminated",
        long_values="bytes characters delimiter fields output-delimiter",
    ),
    "date": Form(
        flags="uR",
        values="d",
        longs="utc iso-8601 rfc-3339 rfc-email",
        long_values="date",
        texts=-1,
        each=r"\+[^\0]*",
    ),
    "df": Form(flags="ahHiklmPT", longs="all human-readable si inodes local portability print-type total"),
    "diff": Form(
        flags="abBcdeinNpqstTuwyZE",
        values="CUIW",
        longs="brief report-identical-files side-by-side unified context ignore-case ignore-all-space new-file"
        " ignore-space-change ignore-blank-lines ignore-trailing-space text minimal color suppress-common-lines",
        long_values="width label",
        walks=("*",),
    ),
    "dirname": Form(flags="z", longs="zero", texts=-1),
    "du": Form(
        flags="abchkmsxS",
        values="dt",
        longs="all bytes total human-readable summarize one-file-system apparent-size si",
        long_values="max-depth threshold exclude",
        walks=("*",),
    ),
    "expand": Form(values="t", flags="i", long_values="tabs"),
    "expr": _TEXT,
    "false": _TEXT,
    "file": Form(flags="bihNL", longs="brief mime mime-type mime-encoding"),
    "fmt": Form(flags="cstu", values="w", long_values="width"),
    "fold": Form(flags="bs", values="w", long_values="width", longs="spaces bytes"),
    "egrep": _GREP,
    "fgrep": _GREP,
    "grep": _GREP,
    "head": Form(flags="qvz", values="nc", longs="quiet silent verbose", long_values="lines bytes", digits=True),
    "id": Form(flags="Ggnru", longs="group groups name real user", texts=-1),
    "join": Form(flags="iz", values="12aejotv"),
    "ls": Form(
        flags="aAbBcCdfFgGhiklmnNopqQrRsStuUvxXZ1",
        values="ITw",
        longs="all almost-all author classify color directory full-time group-directories-first human-readable si"
        " inode no-group numeric-uid-gid recursive reverse size sort time time-style format file-type zero",
        long_values="ignore hide width",
        walks=("-R", "--recursive"),
    ),
    "md5sum": _SUM,
    "nl": Form(flags="p", values="bdfhilnsvw"),
    "nproc": Form(longs="all ignore", most=0),
    "od": Form(flags="bcdiosxv", values="AjNt", long_values="address-radix skip-bytes read-bytes format"),
    "paste": Form(flags="sz", values="d", longs="serial", long_values="delimiters"),
    "pwd": Form(flags="LP", texts=-1),
    "readlink": Form(flags="efmnz"),
    "realpath": Form(flags="emLPsqz", longs="canonicalize-existing canonicalize-missing no-symlinks"),
    "rev": Form(),
    "rg": Form(
        flags="ilnNcvwxFSsuUopHIPa0",
        values="ABCmgtTjMdE",
        longs="ignore-case line-number no-line-number count count-matches invert-match word-regexp line-regexp"
        " fixed-strings smart-case case-sensitive hidden no-ignore no-ignore-vcs files-with-matches text null trim"
        " files-without-match json no-heading heading multiline only-matching pretty no-filename with-filename"
        " vimgrep stats no-messages column pcre2 type-list passthru no-config",
        long_values="glob type type-not max-count context after-context before-context max-depth color sort sortr"
        " max-columns threads max-filesize",
        patterns=("-e", "--regexp", "--files"),
        texts=1,
        walks=("*",),
    ),
    "sed": Form(
        flags="nEr",
        longs="quiet silent regexp-extended",
        texts=1,
        each=rf"{_LINES}[pd]|\d+q|/[^/\\\n]*/[pd]|(?:{_LINES})?s(?P<mark>[/|#,])(?:{_PIECE}(?P=mark)){{2}}[gip0-9]*",
    ),
    "seq": Form(flags="w", values="sf", longs="equal-width", long_values="separator format", digits=True, texts=-1),
    "sha1sum": _SUM,
    "sha256sum": _SUM,
    "sha512sum": _SUM,
    "sleep": Form(texts=-1),
    "sort": Form(
        flags="bdfghiMnRrVcCmsuz",
        values="ktS",
        longs="reverse unique numeric-sort human-numeric-sort version-sort ignore-case general-numeric-sort month-sort"
        " ignore-leading-blanks dictionary-order stable check zero-terminated random-sort",
        long_values="key field-separator parallel buffer-size",
    ),
    "stat": Form(flags="fLt", values="c", longs="dereference file-system terse", long_values="format printf"),
    "strings": Form(flags="afw", values="nte", longs="all", long_values="bytes radix encoding"),
    "tac": Form(flags="br", values="s", long_values="separator"),
    "tail": Form(
        flags="fFqvz",
        values="ncs",
        longs="follow quiet silent verbose retry",
        long_values="lines bytes sleep-interval",
        digits=True,
    ),
    "tr": Form(flags="cCdst", longs="complement delete squeeze-repeats truncate-set1", texts=-1),
    "tree": Form(
        flags="adfipsuDhFCqNngJX",
        values="LIP",
        longs="dirsfirst noreport du si prune gitignore",
        long_values="filelimit",
        walks=("*",),
    ),
    "true": _TEXT,
    "tsort": Form(),
    "uname": Form(flags="asnrvmpio", longs="all", most=0),
    "unexpand": Form(flags="a", values="t"),
    "uniq": Form(
        flags="cdDiuz",
        values="fsw",
        longs="count repeated unique ignore-case zero-terminated",
        long_values="skip-fields skip-chars check-chars",
        most=1,
    ),
    "uptime": Form(flags="ps", most=0),
    "wc": Form(flags="clmwL", longs="bytes chars lines words max-line-length"),
    "which": Form(flags="a", texts=-1),
    "whoami": Form(most=0),
    "cp": Form(
        risk="medium",
        flags="finpuv",
        longs="force interactive no-clobber update verbose preserve",
        most=2,
        walks=("*",),
    ),
    "mkdir": Form(risk="medium", flags="pv", longs="parents verbose"),
    "mv": Form(risk="medium", flags="finuv", longs="force interactive no-clobber update verbose", most=2, walks=("*",)),
    "rmdir": Form(risk="medium", flags="v", longs="verbose ignore-fail-on-non-empty"),
    "tee": Form(risk="medium", flags="ai", longs="append ignore-interrupts"),
    "touch": Form(risk="medium", flags="acm", values="dt", longs="no-create", long_values="date time"),
    "chgrp": Form(risk="high", texts=1),
    "chmod": Form(risk="high", texts=1),
    "chown": Form(risk="high", texts=1),
    "ln": Form(risk="high"),
    "rm": Form(risk="high"),
    "shred": Form(risk="high"),
    "truncate": Form(risk="high", values="s", long_values="size"),
    "unlink": Form(risk="high"),
}

RAW = frozenset({"echo", "printf"})
"""Programs whose words are all texts, options included."""

LINKS = frozenset({"rm", "unlink"})
"""Programs that touch a link itself, not where it leads."""

_SHELL_WORDS = (
    ". : alias bg bind break builtin caller cd command compgen complete compopt continue coproc declare dirs "
    "disown enable eval exec exit export fc fg getopts hash help history jobs let local logout mapfile popd pushd "
    "read readarray readonly return select set shift shopt source suspend time times trap type typeset ulimit "
    "umask unalias unset until wait"
)
SHELL_WORDS = frozenset(_SHELL_WORDS.split())
"""Words that only a shell understands; they ask."""

_FIND_TESTS = (
    "-amin -anewer -atime -cmin -cnewer -ctime -gid -group -iname -ipath -iregex -iwholename -links -maxdepth "
    "-mindepth -mmin -mtime -name -newer -path -perm -printf -regex -regextype -size -type -uid -used -user "
    "-wholename -xtype"
)
FIND_TESTS = frozenset(_FIND_TESTS.split())
"""What `find` asks with one value; none of it writes or runs."""

_FIND_PLAIN = (
    "! ( ) , -a -and -d -daystart -depth -empty -executable -false -ls -mount -nogroup -noleaf -not -nouser -o "
    "-or -print -print0 -prune -quit -readable -true -writable -xdev"
)
FIND_PLAIN = frozenset(_FIND_PLAIN.split())
"""What `find` asks without a value."""

FIND_FILES = frozenset({"-newer", "-anewer", "-cnewer"})
"""Those whose value is a path."""

FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})

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
