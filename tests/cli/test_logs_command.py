from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ferrule.cli.logs_command import logs

ROWS = [
    {"at_ms": 1_700_000_000_123, "level": "info", "logger": "x", "message": "one", "turn": "trn_1", "agent": "a"},
    {"at_ms": 1_700_000_001_000, "level": "error", "logger": "x", "message": "two\x1b[2J", "error": "Trace\nback"},
    {"level": "info", "message": "three", "turn": "trn_1"},
]

Run = Callable[..., Result]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "logs" / "ferrule.jsonl"
    file.parent.mkdir()
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return file


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(logs, list(arguments), env={"FERRULE_HOME": str(tmp_path), "TZ": "UTC"})

    return invoke


@pytest.mark.usefixtures("path")
def test_lines_are_for_people_and_cannot_command_the_terminal(run: Run) -> None:
    result = run()
    assert result.exit_code == 0
    assert "\x1b" not in result.output
    lines = result.output.splitlines()
    assert lines[0].endswith(".123 info one  [agent=a turn=trn_1]")
    assert lines[1].endswith(".000 error two␛[2J")
    assert lines[2:] == ["Trace", "back", "? info three  [turn=trn_1]"]


@pytest.mark.usefixtures("path")
def test_only_the_last_lines_of_one_turn_are_printed(run: Run) -> None:
    shown = run("--turn", "trn_1", "--json").output.splitlines()
    assert [json.loads(line)["message"] for line in shown] == ["one", "three"]
    shown = run("--turn", "trn_1", "--json", "-n", "1").output.splitlines()
    assert [json.loads(line) for line in shown] == [ROWS[2]]
    assert run("--turn", "trn_2").output == ""


def test_an_absent_log_prints_nothing(run: Run) -> None:
    result = run()
    assert (result.exit_code, result.output) == (0, "")


def test_following_prints_what_is_written_later(path: Path, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "from ferrule.cli.logs_command import logs; logs(['-f', '--json', '-n', '1'])"],
        env={**os.environ, "FERRULE_HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert json.loads(child.stdout.readline()) == ROWS[2]
        with path.open("a") as file:
            file.write(json.dumps({"message": "later"}) + "\n")
        assert json.loads(child.stdout.readline()) == {"message": "later"}
        child.terminate()
