"""Slash commands: messages are never taken for one, mistakes name their fix."""

from __future__ import annotations

import pytest

from ferrule.cli.chat.slash import HELP, HandCall, Word, parse_slash
from ferrule.types.errors import UsageError


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("hello", None),
        (" /help", None),
        ("/help", Word(name="help")),
        ("/tools", Word(name="tools")),
        ("/quit", Word(name="quit")),
        ("/exit", Word(name="quit")),
        ("/ls", HandCall(tool="list_directory", arguments={"path": "."})),
        ("/ls  docs ", HandCall(tool="list_directory", arguments={"path": "docs"})),
        ("/read a b.txt", HandCall(tool="file_read", arguments={"path": "a b.txt"})),
        ("/run git status", HandCall(tool="shell", arguments={"command": "git status"})),
    ],
)
def test_a_line_is_read_as_what_it_says(line: str, wanted: HandCall | Word | None) -> None:
    assert parse_slash(line) == wanted


@pytest.mark.parametrize(
    ("line", "fix"), [("/dance", "/help"), ("/read", "PATH"), ("/run  ", "COMMAND"), ("/", "/help")]
)
def test_a_mistake_names_its_fix(line: str, fix: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_slash(line)
    assert fix in str(caught.value.hint)


def test_every_command_stands_in_the_help() -> None:
    for name in ("help", "tools", "ls", "read", "run", "quit"):
        assert f"/{name}" in HELP
