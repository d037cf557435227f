"""Programs of the tests that open one store from several processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HEAD = """
import asyncio, sys
from pathlib import Path
from ferrule.core.system_clock import RandomIds, SystemClock
from ferrule.ports.session import SessionKey
from ferrule.storage.sessions import open_sessions
from ferrule.types.errors import SessionBusy, StoreError
from ferrule.types.messages import Message

PATH = Path(sys.argv[1])
sys.stdin.readline()
"""


def start(code: str, path: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start a program that waits for `go`; its code runs after `HEAD`."""
    return subprocess.Popen(
        [sys.executable, "-c", HEAD + code, str(path), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )


def outcomes(processes: list[subprocess.Popen[str]]) -> list[str]:
    """Let all go at once, and return what each printed; one that failed shows its error."""
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    out = []
    for process in processes:
        printed, complaint = process.communicate(timeout=60)
        assert process.returncode == 0, complaint
        out.append(printed)
    return out
