"""Command lines that try to get round the rules, from templates; and honest ones.

A template holds ``{c}`` (a harmless program), ``{p}`` (a program that counts),
``{s}`` (one without quotes; ``{s2}`` with its slashes escaped, ``{e}`` with its
blanks escaped for git). Each stands for every line of `carriers.txt`,
`payloads.txt` or `simple.txt`. ``␤ ␍ ␉`` are line break, carriage return, tab.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

CORPUS = Path(__file__).resolve().parents[2] / "tests" / "policy" / "commands" / "corpus"

_NAMES = (
    "awk basename cat cd cmp comm cp cut date df diff dirname du echo egrep env expr false fgrep file find fmt fold git "
    "grep head id join ln ls make md5sum mkdir mv nice nl node nohup od paste perl printf pwd python3 readlink "
    "realpath rev rg rm sed seq sh sha256sum sort stat stdbuf strings tac tail tar tee timeout touch tr tree true "
    "uniq wc which xargs"
)
LISTED = tuple(_NAMES.split())
"""The operator's list that the lines are judged under: generous on purpose, so that only the rules hold."""


def lines_of(name: str) -> list[str]:
    """Read one file of the corpus without its comments."""
    text = (CORPUS / f"{name}.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("# ")]


def families() -> dict[str, list[str]]:
    """Return every bypass line, by family."""
    names = sorted(path.stem for path in (CORPUS / "bypass").glob("*.txt"))
    return {
        name: list(dict.fromkeys(line for template in lines_of(f"bypass/{name}") for line in expanded(template)))
        for name in names
    }


def expanded(template: str) -> Iterator[str]:
    """Yield the lines of one template."""
    carriers = lines_of("carriers") if "{c}" in template else [""]
    payloads = lines_of("payloads") if "{p}" in template else [""]
    simple = lines_of("simple") if any(sign in template for sign in ("{s}", "{s2}", "{e}")) else [""]
    for carrier in carriers:
        for payload in payloads:
            for plain in simple:
                filled = template.replace("{c}", carrier).replace("{p}", payload).replace("{s}", plain)
                filled = filled.replace("{s2}", plain.replace("/", "\\/")).replace("{e}", plain.replace(" ", "% "))
                yield filled.replace("␤", "\n").replace("␍", "\r").replace("␉", "\t")


def honest(name: str) -> list[str]:
    """Return the lines of `honest_allowed` or `honest_asked`."""
    found: list[str] = []
    for template in lines_of(name):
        for file in lines_of("files") if "{f}" in template else [""]:
            for folder in lines_of("folders") if "{d}" in template else [""]:
                found.append(template.replace("{f}", file).replace("{d}", folder).replace("␤", "\n"))
    return found
