"""Two processes on one file of sessions, killed in turn, lose nothing."""

from __future__ import annotations

import json
import subprocess
import sys


def test_two_writers_that_are_killed_lose_nothing_and_a_held_session_names_its_holder() -> None:
    command = [sys.executable, "-m", "benches.soak.crash_two_writers", "--seeds", "0:5"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=55, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["kills"] == 10
