"""The guard of the test run itself: nothing leaves this machine, warnings are errors, nothing is skipped."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests._network import is_local
from tests.gates._tree import ROOT, plant


def test_connecting_to_another_machine_is_refused() -> None:
    with socket.socket() as mine, pytest.raises(PermissionError, match="only loopback"):
        mine.connect(("192.0.2.1", 9))


def test_sending_to_another_machine_is_refused() -> None:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mine,
        pytest.raises(PermissionError, match="only loopback"),
    ):
        mine.sendto(b"x", ("192.0.2.1", 9))


def test_resolving_a_foreign_name_is_refused() -> None:
    with pytest.raises(PermissionError, match="only loopback"):
        socket.getaddrinfo("example.invalid", 80)


def test_loopback_is_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as mine:
        assert mine.getpeername() == server.getsockname()


@pytest.mark.parametrize(
    "address", [("127.0.0.1", 1), ("::1", 1, 0, 0), ("localhost", 1), "/run/x.sock", ("", 0), (7, 0)]
)
def test_local_addresses_are_known(address: object) -> None:
    assert is_local(address)


@pytest.mark.parametrize("address", [("8.8.8.8", 53), ("fe80::1%eth0", 1), ("example.org", 1), (b"example.org", 1)])
def test_foreign_addresses_are_known(address: object) -> None:
    assert not is_local(address)


def test_a_warning_is_an_error() -> None:
    with pytest.raises(DeprecationWarning, match="planted"):
        warnings.warn("planted", DeprecationWarning, stacklevel=1)


NESTED_INI = (
    "[pytest]\naddopts = --import-mode=importlib -p no:cacheprovider\n"
    "markers =\n    needs(*names): real parts\n    alone: itself\n"
)
IDLE = {
    "test_skip.py": "import pytest\n@pytest.mark.skip\ndef test_a(): assert 0\n",
    "test_expected.py": "import pytest\n@pytest.mark.xfail\ndef test_a(): assert 0\n",
    "test_whole.py": "import pytest\npytest.skip('no', allow_module_level=True)\n",
    "test_plain.py": "def test_a(): assert 1\n",
}
NEEDING = {
    "test_needs.py": "import pytest\n@pytest.mark.needs('no-such-program')\ndef test_a(): assert 1\n",
    "test_plain.py": "def test_b(): assert 1\n",
}


def run_nested(folder: Path, files: Mapping[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in a folder of its own with this project's conftest."""
    plant(folder, {"pytest.ini": NESTED_INI, **files})
    (folder / "conftest.py").write_text("from tests.conftest import *  # noqa: F403 - a conftest is its names\n")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", str(folder), *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_a_test_that_did_not_run_fails_the_run_and_is_named(tmp_path: Path) -> None:
    done = run_nested(tmp_path, IDLE)
    named = [line.split()[2].rstrip(":") for line in done.stdout.splitlines() if line.startswith("NOT RUN")]
    assert sorted(named) == ["test_expected.py::test_a", "test_skip.py::test_a", "test_whole.py"]
    assert done.returncode == 1


def test_a_suite_that_needs_a_program_is_selected_not_skipped(tmp_path: Path) -> None:
    done = run_nested(tmp_path, NEEDING)
    assert (done.returncode, "1 passed, 1 deselected" in done.stdout) == (0, True), done.stdout


def test_an_absent_program_fails_the_suite_that_needs_it(tmp_path: Path) -> None:
    done = run_nested(tmp_path, NEEDING, "-m", "needs")
    assert done.returncode == 1, done.stdout
    assert "this suite needs no-such-program" in done.stdout


def test_half_a_character_in_a_report_does_not_stop_the_workers(tmp_path: Path) -> None:
    planted = {
        "test_half.py": "def test_a(): raise ValueError('\\ud83d')\n",
        "test_whole.py": "def test_b(): assert 1\n",
    }
    done = run_nested(tmp_path, planted, "-p", "xdist", "-n1")
    assert done.returncode == 1, done.stdout
    assert "1 failed, 1 passed" in done.stdout
    assert "ValueError: \\ud83d" in done.stdout
