"""Tests by kind only grow: compare the recorded counts of two commits."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ci.check import fewer


def main(before: str, now: str) -> int:
    """Print the kinds whose recorded number went down; returns the exit code."""
    faults = fewer(json.loads(Path(now).read_text()), json.loads(Path(before).read_text()))
    print("\n".join(faults) if faults else "tests by kind: none fewer than on the commit before")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
