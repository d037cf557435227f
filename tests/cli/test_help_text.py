"""The help that is stored, and when it is not used."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ferrule.cli.front import COMMANDS
from ferrule.cli.help_text import stored_help


def program(*arguments: str, columns: int) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "ferrule", *arguments],
        env={**os.environ, "COLUMNS": str(columns)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_every_command_has_its_help_stored() -> None:
    assert all(stored_help([name, "--help"]) for name in COMMANDS)
    assert stored_help(["tools", "show", "--help"])


@pytest.mark.parametrize("words", [["run"], ["config", "set"]])
def test_a_narrow_terminal_gets_lines_that_fit(words: list[str]) -> None:
    assert program(*words, "--help", columns=100) == stored_help([*words, "--help"])
    narrow = program(*words, "--help", columns=60)
    described, _, _ = narrow.partition("Examples:")  # those must stay as they are typed
    assert max(map(len, described.splitlines())) <= 60
    assert narrow.split() == program(*words, "--help", columns=100).split()


def test_describing_a_command_does_not_load_it() -> None:
    code = (
        "import sys; from ferrule.cli.front import front\n"
        "front(['run', '--help'])\n"
        "print(sorted({'click', 'asyncio', 'pydantic', 'typing', 'ferrule.cli.run_command'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{code}"],
        env={**os.environ, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_words_that_are_no_question_for_help_have_none() -> None:
    for words in ([], ["run"], ["run", "x", "--help"], ["nothing", "--help"]):
        assert stored_help(words) is None
