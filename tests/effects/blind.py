"""Does a test that claims to see a key really look? Leaves the key out of every config and demands red.

python -m tests.effects.blind                 # all keys of tests/effects.toml
python -m tests.effects.blind agents.*.tools  # some
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from tests.effects._program import BLIND

ROOT = Path(__file__).resolve().parents[2]

NO_FILE = {
    "providers.openai.*.length_field": "needs a request with a limit, which no key sets: its test opens the adapter",
}
"""Keys whose test writes no config, and why."""


def listed() -> dict[str, str]:
    """Read the list of keys and tests."""
    return {key: str(test) for key, test in tomllib.loads((ROOT / "tests" / "effects.toml").read_text()).items()}


def sees(key: str, test: str) -> bool:
    """Tell whether a test fails when its key is left out."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", test],
        cwd=ROOT,
        env={**os.environ, BLIND: key},
        capture_output=True,
        check=False,
    )
    return done.returncode == 1


def main(wanted: Sequence[str]) -> int:
    """Try the keys; the exit code is 1 when a test did not notice."""
    tests = listed()
    keys = [key for key in wanted or sorted(tests) if key not in NO_FILE]
    blind = [key for key in keys if not sees(key, tests[key])]
    for key in blind:
        sys.stdout.write(f"{key}: {tests[key]} passes without it\n")
    sys.stdout.write(f"{len(keys) - len(blind)} of {len(keys)} keys are really seen\n")
    return 1 if blind else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
