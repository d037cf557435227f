"""The commands themselves: what is pinned, what is counted, what a machine that is not fit is told."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from ci import check, coverage_floors, kinds, lock, nightly
from tests.gates._tree import ROOT, clean, plant

CONSTRAINTS = ROOT / "ci" / "constraints.txt"
PIN = re.compile(r"[a-z0-9-]+==\S+ \\")
HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}(?: \\)?")


def unpinned(text: str, wanted: set[str]) -> list[str]:
    """List lines that are no pin, hash or comment, pins without a hash, and wanted names without a pin."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    odd = [line for line in lines if not PIN.fullmatch(line) and not HASH.fullmatch(line)]
    pinned = lock.blocks(text)
    bare = [name for name, block in pinned.items() if "sha256:" not in block]
    return [*odd, *bare, *sorted(wanted - pinned.keys())]


def direct_dependencies() -> set[str]:
    """Name what pyproject.toml asks for, as an index writes it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [*project["dependencies"], *(line for lines in project["optional-dependencies"].values() for line in lines)]
    return {re.split(r"[\s\[<>=~!;]", line)[0].lower().replace("_", "-") for line in lines}


def test_everything_that_is_installed_is_pinned_by_hash() -> None:
    clean(unpinned(CONSTRAINTS.read_text(), direct_dependencies()))


def test_every_part_that_setup_installs_is_in_the_lock() -> None:
    parts = re.findall(r"^# part: (\w+)$", CONSTRAINTS.read_text(), re.MULTILINE)
    assert parts == ["build", "run", "test", "model"]


@pytest.mark.parametrize(
    "line", ["--index-url https://x/simple", "./vendor/a.whl", "a>=1 \\", "a==1 @ file:///a", "    --hash=md5:00"]
)
def test_a_planted_line_of_another_sort_is_seen(line: str) -> None:
    assert line in unpinned(f"{line}\n", set())
    assert unpinned("a==1 \\\n", {"b"}) == ["a", "b"]


def room(lines: int, covered: int, branches: int = 0, taken: int = 0) -> dict[str, object]:
    """One file of coverage's JSON report."""
    summary = {"num_statements": lines, "covered_lines": covered, "num_branches": branches, "covered_branches": taken}
    missing = [1] if covered < lines else []
    return {"summary": summary, "missing_lines": missing, "missing_branches": [[2, 3]] if taken < branches else []}


def test_core_needs_every_branch_and_the_others_nine_of_ten() -> None:
    files = {
        "src/ferrule/core/loop.py": room(10, 10, 2, 1),
        "src/ferrule/types/ids.py": room(10, 10, 2, 2),
        "src/ferrule/cli/front.py": room(10, 9),
        "src/ferrule/tools/shell.py": room(10, 8),
        "src/ferrule/__main__.py": room(0, 0),
        "elsewhere/src/ferrule/core/loop.py": room(10, 0),
    }
    faults = coverage_floors.below({"files": files})
    assert [fault.split(":")[0].strip() for fault in faults] == [
        "core",
        "src/ferrule/core/loop.py",
        "tools",
        "src/ferrule/tools/shell.py",
    ]


def test_gaps_are_written_as_ranges() -> None:
    assert coverage_floors.ranges([1, 2, 3, 7, 9, 10]) == "1-3, 7, 9-10"


def test_a_kind_that_lost_tests_is_named(tmp_path: Path) -> None:
    plant(tmp_path, {"before.json": '{"unit": 9, "gate": 2}', "now.json": '{"unit": 8, "gate": 3}'})
    assert check.fewer({"unit": 8, "gate": 3}, {"unit": 9, "gate": 2}) == ["unit: 8 tests, ci/kinds.json records 9"]
    assert kinds.main(str(tmp_path / "before.json"), str(tmp_path / "now.json")) == 1
    assert kinds.main(str(tmp_path / "now.json"), str(tmp_path / "now.json")) == 0


def setup(root: Path, purpose: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run ci/setup.sh of a checkout."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI") and name != "MODEL"}
    command = ["/bin/sh", str(root / "ci" / "setup.sh"), purpose]
    return subprocess.run(command, env={**kept, **variables}, capture_output=True, text=True, check=False)


def test_a_machine_without_a_fit_python_is_told_one_line_that_fixes_it() -> None:
    done = setup(ROOT, "check", PYTHON="/bin/false")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "needs Python 3.11 or newer" in done.stderr
    assert "apt-get install -y python3.11" in done.stderr


def test_a_python_that_cannot_make_environments_is_told_so(tmp_path: Path) -> None:
    script = f'#!/bin/sh\ncase "$2" in *ensurepip*) exit 1 ;; *) exec {sys.executable} "$@" ;; esac\n'
    python = plant(tmp_path, {"python": script}) / "python"
    python.chmod(0o755)
    done = setup(ROOT, "check", PYTHON=str(python))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "cannot make virtual environments" in done.stderr
    assert f"python{sys.version_info[0]}.{sys.version_info[1]}-venv" in done.stderr


def installed(root: Path, *parts: str) -> Path:
    """A checkout whose environment already holds `parts`."""
    for name in ("ci/setup.sh", "ci/constraints.txt", "pyproject.toml"):
        plant(root, {name: (ROOT / name).read_text()})
    joined = (root / "ci/constraints.txt").read_bytes() + (root / "pyproject.toml").read_bytes()
    stamp = subprocess.run(["cksum"], input=joined, capture_output=True, check=True).stdout.decode()
    plant(root / ".venv", {f".ferrule-{part}": stamp for part in (*parts, "package")})
    plant(root / ".venv", {"bin/ferrule": "#!/bin/sh\n", ".ferrule-home": f"{root}\n"})
    (root / ".venv" / "bin" / "ferrule").chmod(0o755)
    return root


def test_a_second_start_looks_at_nothing_but_its_stamps(tmp_path: Path) -> None:
    root = installed(tmp_path, "build", "run", "model")
    done = setup(root, "run", PYTHON="/bin/false")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    "variable", [("OPENAI_API_KEY", "x"), ("OPENAI_BASE_URL", "http://127.0.0.1"), ("MODEL", "none")]
)
def test_whoever_has_a_model_does_not_download_the_small_one(variable: tuple[str, str], tmp_path: Path) -> None:
    root = installed(tmp_path, "build", "run")
    assert setup(root, "run", PYTHON="/bin/false").returncode == 1
    assert setup(root, "run", PYTHON="/bin/false", **dict([variable])).returncode == 0


def test_a_changed_lock_is_installed_anew(tmp_path: Path) -> None:
    root = installed(tmp_path, "build", "run", "model")
    plant(root, {"pyproject.toml": "[project]\n"})
    assert setup(root, "run", PYTHON="/bin/false").returncode == 1


def test_a_failed_step_makes_the_command_fail_and_the_others_still_run(capfd: pytest.CaptureFixture[str]) -> None:
    steps: dict[str, check.Step] = {"bad": lambda scratch: False, "good": lambda scratch: scratch.exists()}
    assert check.run(steps) == 1
    lines = capfd.readouterr().out.splitlines()
    assert [line.split(" (")[0] for line in lines[:2]] == ["-- bad: FAILED", "-- good: ok"]
    assert lines[2:] == ["failed: bad", "tests by kind: none"]
    assert check.run({"good": steps["good"]}) == 0


TARGETS = "test:\n\t@echo '{first}'; exit {code}\ntest-system:\n\t@echo '1 deselected in 0.10s'\n"


@pytest.mark.parametrize(
    ("first", "code", "words"),
    [
        ("== 3 passed in 0.50s ==", 0, "3 passed in 0.50s"),
        ("== 1 failed, 2 passed in 0.50s ==", 1, "make test failed with exit code 2"),
        ("nothing", 0, "no test ran"),
    ],
)
def test_the_whole_run_ends_with_pytests_words_and_fails_with_any_step(
    first: str, code: int, words: str, tmp_path: Path
) -> None:
    plant(tmp_path, {"Makefile": TARGETS.format(first=first, code=code), ".ci/run": (ROOT / ".ci" / "run").read_text()})
    done = subprocess.run(
        ["/bin/bash", ".ci/run"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert words in done.stdout
    assert (done.returncode == 0) == (words == "3 passed in 0.50s"), done.stdout + done.stderr


def test_every_program_that_counts_runs_nightly() -> None:
    programs = {path.stem for path in (ROOT / "benches" / "soak").glob("*.py") if not path.stem.startswith("_")}
    assert nightly.COUNTS.keys() == programs
    assert list(nightly.commands("power_loss", 0.01))[1][3:] == ["--subject", "config", "--seeds", "0:20"]
