"""Says which model answers when nothing is configured, and asks once before a key from the environment is used."""

from __future__ import annotations

import os

from rich.console import Console

from ..app.first_provider import FirstProvider, checked_address, first_provider, remember_consent, was_agreed
from ..app.home import Home
from ..types.errors import UsageError
from .approve import read_terminal_line
from .printable import printable
from .terminal import forget_typed_ahead, someone_is_there


async def agree_to_key(notes: Console, home: Home, alias: str, *, yes: bool) -> None:
    """Tell about a key found in the environment; on a terminal, ask once.

    Without a terminal the key is used, since whoever set the variable started
    this too; but that is no person's agreement, and is not remembered as one.

    Raises:
        ConfigError: the address or the key found there cannot be used.
        UsageError: the person said no.
    """
    found = first_provider(os.environ)
    if home.provider_of(alias) is not None or found.kind != "environment":
        return
    checked_address(found)
    if was_agreed(home.layout, found):
        return
    notes.print(printable(found.explanation), markup=False, highlight=False, soft_wrap=True)
    if not someone_is_there():
        return
    if not yes:
        await _ask(found)
    remember_consent(home.layout, found)


async def _ask(found: FirstProvider) -> None:
    forget_typed_ahead()
    try:
        word = await read_terminal_line("Use it? [Y]es, [n]o: ")
    except EOFError:
        word = "n"
    if word.strip().lower() not in ("", "y", "yes"):
        raise UsageError(
            f"not using {found.source}",
            hint=f"unset {found.source} to use the demo model, or configure a provider",
        )
