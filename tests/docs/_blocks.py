"""The fenced blocks of documents, and how each is tried."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)")
TIME_LIMIT_S = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced block; `info` is what stands behind the fence, for example ``toml config``."""

    path: Path
    line: int
    info: str
    body: str


def documents(root: Path) -> list[Path]:
    """List the Markdown files of a checkout that users read."""
    folders = ("docs", "changelog", "examples")
    return [*sorted(root.glob("*.md")), *(path for folder in folders for path in sorted((root / folder).rglob("*.md")))]


def blocks(root: Path, *first_words: str) -> list[Block]:
    """List the blocks whose info begins with one of `first_words`."""
    return [
        Block(path=path, line=text.count("\n", 0, match.start()) + 1, info=match["info"].strip(), body=body(match))
        for path in documents(root)
        for text in [path.read_text()]
        for match in FENCE.finditer(text)
        if match["info"].split()[:1] and match["info"].split()[0] in first_words
    ]


def body(match: re.Match[str]) -> str:
    """Return a block's text without the indentation of its fence."""
    indent = len(match["indent"])
    return "".join(line[indent:] for line in match["body"].splitlines(keepends=True))


def fails(block: Block, scratch: Path) -> str:
    """Run a Python block as a program of its own, warnings as errors; "" when it ends well.

    Its home and working directory are `scratch`; no variable of the caller that names a model reaches it.
    """
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("OPENAI", "FERRULE", "ANTHROPIC"))
    }
    environment = {**kept, "HOME": str(scratch), "FERRULE_HOME": str(scratch / "home")}
    program = scratch / "block.py"
    program.write_text(block.body)
    done = subprocess.run(
        [sys.executable, "-W", "error", str(program)],
        cwd=scratch,
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
        check=False,
    )
    return "" if done.returncode == 0 else f"{block.path.name}:{block.line} exits {done.returncode}\n{done.stderr}"


def dead_links(root: Path) -> list[str]:
    """List relative links of documents that lead nowhere."""
    return [
        f"{path.relative_to(root)}: {target}"
        for path in documents(root)
        for target in (match["target"].partition("#")[0] for match in LINK.finditer(path.read_text()))
        if target and "://" not in target and not target.startswith("mailto:") and not (path.parent / target).exists()
    ]


ROOM_OF = {"runtimes": "sandbox", "fences": "sandbox"}


def pages_missing(docs: Path, parts: Mapping[str, Mapping[str, str]]) -> list[str]:
    """List parts without a page and pages without a part; `parts` maps a kind to its names."""
    wanted: dict[str, set[str]] = {}
    for kind, names in parts.items():
        wanted.setdefault(ROOM_OF.get(kind, kind), set()).update(names)
    found: list[str] = []
    for room, parts_here in sorted(wanted.items(), reverse=True):
        present = {page.stem for page in (docs / room).glob("*.md")} - {"README"}
        found += [f"{room}/{name}.md: missing" for name in sorted(parts_here - present)]
        found += [f"{room}/{name}.md: there is no such part" for name in sorted(present - parts_here)]
    return found


def unlisted(page: Path, rows: dict[str, list[str]]) -> list[str]:
    """List rows that a page's tables lack, and words that a row lacks; a row begins with its key."""
    lines = {line.split("`")[1]: line for line in page.read_text().splitlines() if line.startswith("| `")}
    found = [f"{page.name}: {key} has no row" for key in rows if key not in lines]
    return found + [
        f"{page.name}: the row of {key} lacks {word}"
        for key, words in rows.items()
        for word in words
        if key in lines and f"`{word}`" not in lines[key]
    ]
