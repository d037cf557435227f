"""Says which model answers when nothing is configured, and asks once before a key from the environment is used."""

from __future__ import annotations

import os
import sys

from rich.console import Console

from ..app.first_provider import FirstProvider, first_provider, remember_consent, was_agreed
from ..app.home import Home
from ..types.errors import UsageError
from .approve import read_terminal_line


async def agree_to_key(notes: Console, home: Home, alias: str, *, yes: bool) -> None:
    """Tell about a key found in the environment; on a terminal, ask once.

    Raises:
        UsageError: the person said no.
    """
    found = first_provider(os.environ)
    if home.provider_of(alias) is not None or found.kind != "environment" or was_agreed(home.layout, found):
        return
    notes.print(found.explanation, markup=False, highlight=False)
    if not yes and sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty():
        await _ask(notes, found)
    remember_consent(home.layout, found)


async def _ask(notes: Console, found: FirstProvider) -> None:
    try:
        word = await read_terminal_line("Use it? [Y]es, [n]o: ")
    except EOFError:
        word = "n"
    if word.strip().lower() not in ("", "y", "yes"):
        raise UsageError(
            f"not using {found.source}",
            hint=f"unset {found.source} to use the demo model, or configure a provider",
        )
