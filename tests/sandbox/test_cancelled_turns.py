"""A turn that is cancelled at any moment leaves no process and a valid history."""

from __future__ import annotations

import json
import subprocess
import sys


def test_twenty_turns_that_are_cancelled_at_random_moments_leave_nothing() -> None:
    command = [sys.executable, "-m", "benches.soak.cancel", "--seeds", "0:20"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=55, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert (json.loads(done.stdout)["cancels"], json.loads(done.stdout)["wrong"]) == (20, 0)
