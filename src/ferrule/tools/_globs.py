"""Patterns over relative paths: ``*`` within a name, ``**`` over folders, ``?``, ``[...]``."""

from __future__ import annotations

import fnmatch
import re


def compile_glob(pattern: str) -> re.Pattern[str]:
    """Return a regular expression that matches whole relative paths.

    >>> bool(compile_glob("**/*.py").match("a/b.py")), bool(compile_glob("*.py").match("a/b.py"))
    (True, False)
    """
    parts = pattern.removeprefix("./").split("/")
    out = ""
    for i, part in enumerate(parts):
        last = i == len(parts) - 1
        if part == "**":
            out += "(?:.*)" if last else "(?:[^/]+/)*"
        else:
            translated = fnmatch.translate(part).removeprefix("(?s:").removesuffix(")\\Z")
            out += translated.replace(".*", "[^/]*") + ("" if last else "/")
    return re.compile(f"(?s:{out})\\Z")
