"""Words that a shell may complete: agents and sessions of this home; none when the home is broken."""

from __future__ import annotations

import asyncio
import os

import click
from click.shell_completion import CompletionItem

from ..app.home import read_home
from ..app.kept import has_sessions, kept_sessions
from ..types.errors import FerruleError
from .printable import one_line

MOST = 200
"""Sessions that are offered: who looks for an older one searches for it."""


def agents_here(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem[str]]:
    """Offer the agents of the config; none when it cannot be read."""
    try:
        found = sorted(read_home(os.environ).config.root.agents)
    except (FerruleError, OSError, UnicodeError):
        return []
    return [CompletionItem(alias) for alias in found if alias.startswith(begun)]


def sessions_here(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem[str]]:
    """Offer the sessions, the last changed first; none when they cannot be read."""
    try:
        found = asyncio.run(_sessions())
    except (FerruleError, OSError, UnicodeError):
        return []
    return [CompletionItem(one, help=title) for one, title in found if one.startswith(begun)]


async def _sessions() -> list[tuple[str, str]]:
    home = read_home(os.environ)
    if not has_sessions(home):
        return []
    async with kept_sessions(home) as store:
        return [(facts.id, one_line(facts.title, 60)) for facts in await store.list(limit=MOST)]
