"""Conversations out to files, and back in."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ..app.home import Home
from ..app.kept import kept_sessions
from ..ports.session import SessionKey
from ..storage.atomic import write_atomic
from ..storage.sessions.document import document_of, from_document
from ..types.errors import StoreError, UsageError
from .sessions_text import markdown, safe_json

MAX_BYTES = 256 * 1024 * 1024


async def export(home: Home, session_id: str, kind: str, output: str) -> None:
    """Write a session to standard output or to a new file that only its owner can read.

    Raises:
        StoreError: no such session, or the file cannot be written.
        UsageError: the file is there already.
    """
    async with kept_sessions(home) as store:
        facts = await store.find(session_id)
        messages = await store.read(facts.id)
    text = safe_json(document_of(facts, messages)) + "\n" if kind == "json" else markdown(facts, messages)
    if not output:
        click.echo(text.encode(), nl=False)
        return
    path = Path(output)
    if path.exists():
        raise UsageError(f"{output!r} is there already", hint="name another file, or move this one away")
    write_atomic(path, text.encode(), mode=0o600)
    click.echo(f"wrote {output}", err=True)


async def take(home: Home, file: str, alias: str) -> None:
    """Read a session from a file or from standard input, and print how to go on in it.

    Raises:
        ConfigError: there is no such agent.
        StoreError: the file cannot be read, or holds no session.
    """
    facts, messages = from_document(_read(file), file)
    agent = alias or facts.agent
    home.config.agent(agent)
    async with kept_sessions(home) as store:
        made = await store.take(SessionKey(agent=agent, person=facts.person, audience=facts.audience), messages)
    more = "" if agent == "default" else f" --agent {agent}"
    click.echo(f"{made.id} holds {made.messages} messages; to go on: ferrule chat{more} --session {made.id}")


def _read(file: str) -> bytes:
    try:
        if file == "-":
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with Path(file).open("rb") as source:
                data = source.read(MAX_BYTES + 1)
    except OSError as error:
        raise StoreError(
            f"{file!r} cannot be read: {error.strerror}", hint="name a file of `ferrule sessions export`"
        ) from error
    if len(data) > MAX_BYTES:
        raise StoreError(
            f"{file!r} is larger than {MAX_BYTES:,} bytes", hint="split the conversation before you import it"
        )
    return data
