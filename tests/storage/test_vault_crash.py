"""A sample of what benches/soak/crash_vault.py does at length."""

from __future__ import annotations

import subprocess
import sys

from tests.gates._tree import ROOT


def test_a_killed_writer_of_the_vault_loses_nothing_and_leaves_nothing() -> None:
    command = [sys.executable, "-m", "benches.soak.crash_vault", "--seeds", "0:12"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"kills": 12' in done.stdout
