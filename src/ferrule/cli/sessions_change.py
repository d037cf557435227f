"""Changes to conversations that are kept: copy, take back, bring back, delete."""

from __future__ import annotations

import sys

import click

from ..app.home import Home
from ..app.kept import kept_sessions, old_copies
from ..ports.session import SessionChange, SessionFacts
from ..types.errors import UsageError
from .printable import one_line


async def branch(home: Home, session_id: str, *, at: str, alias: str) -> None:
    """Copy a session into a new one, and print how to go on in it.

    Raises:
        FerruleError: no such agent, session or message.
    """
    if alias:
        home.config.agent(alias)
    async with kept_sessions(home) as store:
        made = await store.branch((await store.find(session_id)).id, at=at, agent=alias)
    click.echo(f"{made.id} holds {_counted(made.messages, 'message')}; {_go_on(made)}")


async def undo(home: Home, session_id: str, turns: int) -> None:
    """Take back turns, and say what that does not do.

    Raises:
        StoreError: no such session, it is in use, or it has fewer turns.
    """
    async with kept_sessions(home) as store:
        found = await store.find(session_id)
        change = await store.undo(found.id, turns)
    click.echo(f"took back {_changed(change)} of {found.id}")
    click.echo("only the conversation changed: files, and whatever else tools did, are as they were")
    click.echo(f"to bring them back, before something new is said: ferrule sessions redo {found.id}")


async def redo(home: Home, session_id: str) -> None:
    """Bring back what the last undo took.

    Raises:
        StoreError: no such session, it is in use, or there is nothing to bring back.
    """
    async with kept_sessions(home) as store:
        found = await store.find(session_id)
        change = await store.redo(found.id)
    click.echo(f"brought back {_changed(change)} of {found.id}")


async def delete(home: Home, session_id: str, *, yes: bool) -> None:
    """Remove a session for good, after a person said so.

    Raises:
        UsageError: there is nobody to ask, and no ``--yes``.
        StoreError: no such session, or it is in use.
    """
    async with kept_sessions(home) as store:
        found = await store.find(session_id)
        if not yes and not _agrees(found):
            click.echo("nothing was deleted")
            return
        await store.delete(found.id)
    click.echo(f"deleted {found.id}")
    for path in old_copies(home):
        click.echo(f"a backup from before an update may still hold it: {path}")


def _agrees(found: SessionFacts) -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(f"{found.id} is deleted for good, and there is nobody to ask", hint="add --yes")
    title = one_line(found.title, 60)
    return click.confirm(f"delete {found.id} ({_counted(found.messages, 'message')}, {title!r}) for good?")


def _changed(change: SessionChange) -> str:
    return f"{_counted(change.turns, 'turn')} ({_counted(change.messages, 'message')})"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _go_on(made: SessionFacts) -> str:
    agent = "" if made.agent == "default" else f" --agent {made.agent}"
    return f"to go on: ferrule chat{agent} --session {made.id}"
