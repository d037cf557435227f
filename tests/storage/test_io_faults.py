"""Whichever call to the disk fails: an error with a code, nothing lost, nothing that hangs."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("operation", "every"),
    [
        *(("lock", 1), ("write", 3), ("config", 7), ("file_tool", 2)),
        *(("append", 4), ("intend", 6), ("open", 5), ("undo", 2), ("delete", 6), ("search", 4), ("create", 140)),
        *(("secret_set", 12), ("secret_rotate", 24)),
    ],
)
def test_every_call_may_fail_and_nothing_acknowledged_is_lost(operation: str, every: int) -> None:
    command = [sys.executable, "-m", "benches.soak.io_faults", "--errors", "1", "--only", operation]
    done = subprocess.run([*command, "--every", str(every)], capture_output=True, text=True, timeout=55, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["refused"] > 0
