"""The list of conversations, one of them, and a search in all."""

from __future__ import annotations

from datetime import UTC, datetime

import click
import orjson

from ..app.home import Home
from ..app.kept import has_sessions, kept_sessions
from ..types.codec import message_to_dict
from .printable import one_line, printable
from .sessions_text import called, safe_json

NONE_YET = "no sessions yet; `ferrule chat` starts one"


async def show_list(home: Home, alias: str, limit: int, *, as_json: bool) -> None:
    """Print one line for each session, the last changed first."""
    found = []
    if has_sessions(home):
        async with kept_sessions(home) as store:
            found = list(await store.list(agent=alias, limit=limit))
    if as_json:
        click.echo(safe_json(orjson.dumps(found)))
        return
    if not found:
        click.echo(f"no sessions of the agent {alias!r}" if alias else NONE_YET)
    for facts in found:
        title = one_line(facts.title, 60)
        click.echo(
            f"{facts.id}  {when(facts.changed_ms)}  {facts.messages:>4}  {one_line(facts.agent, 63):<12}  {title}"
        )


async def show_messages(home: Home, session_id: str, *, as_json: bool) -> None:
    """Print the messages of one session, each with its id.

    Raises:
        StoreError: no session, or more than one, has this id; or it is damaged.
    """
    async with kept_sessions(home) as store:
        found = await store.read((await store.find(session_id)).id)
    if as_json:
        click.echo(safe_json(orjson.dumps([message_to_dict(message) for message in found])))
        return
    for message in found:
        calls = "".join(f"\n  calls {one_line(called(call), 200)}" for call in message.calls)
        state = "" if message.status == "completed" else f" ({message.status})"
        who = f"{message.role} {message.name}".strip()
        click.echo(printable(f"[{message.id}] {who}{state}: {message.text}{calls}\n"))


async def show_hits(home: Home, query: str, where: tuple[str, int], *, as_json: bool) -> None:
    """Print what a search found.

    Args:
        home: Where the sessions are.
        query: The words.
        where: The agent, or "" for all; and how many messages at most.
        as_json: Print JSON.
    """
    found = []
    if has_sessions(home):
        async with kept_sessions(home) as store:
            found = list(await store.search(query, agent=where[0], limit=where[1]))
    if as_json:
        click.echo(safe_json(orjson.dumps(found)))
        return
    if not found:
        click.echo("nothing was found")
    for hit in found:
        click.echo(
            f"{hit.session_id}  {hit.message_id}  {when(hit.at_ms)}  {hit.role:<9}  {one_line(hit.snippet, 160)}"
        )


def when(at_ms: int) -> str:
    """Return a time to the minute, UTC; a dash where nobody noted it or it is out of range."""
    try:
        return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M") if at_ms else f"{'-':<16}"
    except (ValueError, OverflowError, OSError):
        return f"{'-':<16}"
