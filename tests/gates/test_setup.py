"""ci/setup.sh after a stop: whatever it was stopped in, the next `make run` or `make test` completes it."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gates._tree import ROOT, plant

PYTHON = """\
#!/bin/sh
# A Python that makes an environment without a network: its pip writes down what it is asked for.
[ "$1" = -m ] || exec {python} "$@"
mkdir -p .venv/bin
ln -sf {python} .venv/bin/python
echo made >> log
[ "$STOP" != venv ] || {{ echo half > .venv/bin/pip; chmod +x .venv/bin/pip; kill -9 "$PPID"; exit 1; }}
cp pip .venv/bin/pip
"""
PIP = """\
#!/bin/sh
case "$*" in *--version*) exit 0 ;; esac
echo "$@" | sed 's| -r .*||; s|.*install ||' >> log
[ "$STOP" != pip ] || { kill -9 "$PPID"; exit 1; }
case "$*" in *--editable*) echo >.venv/bin/ferrule; chmod +x .venv/bin/ferrule ;; esac
"""
PART = "--no-deps --require-hashes"
PACKAGE = "--no-deps --no-build-isolation --editable ."


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout without .venv, and a Python and a pip that need no network."""
    for name in ("ci/setup.sh", "ci/constraints.txt", "pyproject.toml"):
        plant(tmp_path, {name: (ROOT / name).read_text()})
    plant(tmp_path, {"python": PYTHON.format(python=shlex.quote(sys.executable)), "pip": PIP})
    for name in ("python", "pip"):
        (tmp_path / name).chmod(0o755)
    return tmp_path


def setup(root: Path, stop: str = "") -> tuple[int, list[str]]:
    """Run it for `make run` with a model of one's own; returns the exit code, and what was made and installed."""
    (root / "log").unlink(missing_ok=True)
    environ = {"PATH": os.environ["PATH"], "MODEL": "none", "PYTHON": str(root / "python"), "STOP": stop}
    done = subprocess.run(
        ["/bin/sh", "ci/setup.sh", "run"], cwd=root, env=environ, capture_output=True, text=True, check=False
    )
    log = root / "log"
    return done.returncode, log.read_text().splitlines() if log.exists() else []


def test_a_stop_while_the_environment_is_made_is_made_good(checkout: Path) -> None:
    assert setup(checkout, stop="venv") == (-signal.SIGKILL, ["made"])
    assert setup(checkout) == (0, ["made", PART, PART, PACKAGE])
    assert setup(checkout) == (0, [])


def test_a_stop_in_pip_keeps_what_is_complete_and_drops_what_is_half_installed(checkout: Path) -> None:
    assert setup(checkout, stop="pip") == (-signal.SIGKILL, ["made", PART])
    site = checkout / ".venv" / "lib" / "python3.11" / "site-packages"
    plant(site, {"whole-1.dist-info/RECORD": "whole/a.py,,\nwhole-1.dist-info/INSTALLER,,\n"})
    plant(site, {"half-1.dist-info/RECORD": "half/a.py,,\n", "bare-1.dist-info/METADATA": "", "~ld/a.py": ""})
    assert setup(checkout) == (0, [PART, PART, PACKAGE])
    assert [path.name for path in site.iterdir()] == ["whole-1.dist-info"]
    assert setup(checkout) == (0, [])


def test_a_program_that_is_gone_is_installed_again_and_nothing_else(checkout: Path) -> None:
    setup(checkout)
    (checkout / ".venv" / "bin" / "ferrule").unlink()
    assert setup(checkout) == (0, [PACKAGE])


def test_a_pip_that_does_not_start_is_made_anew(checkout: Path) -> None:
    setup(checkout)
    plant(checkout, {".venv/bin/pip": "#!/gone/python\n", "pyproject.toml": "[project]\n"})
    assert setup(checkout) == (0, ["made", PART, PART, PACKAGE])
