"""``ferrule sessions``: conversations that are kept."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from datetime import UTC, datetime

import click
import orjson

from ..app.home import read_home
from ..app.kept import list_sessions, read_session
from ..ports.session import SessionFacts
from ..types.codec import message_to_dict
from ..types.messages import Message
from .printable import one_line, printable

EPILOG = """\b
Examples:
  ferrule sessions
  ferrule sessions --agent research --json
  ferrule sessions --show ses_4k2
  ferrule chat --session ses_4k2"""


@click.command(epilog=EPILOG)
@click.option("--agent", "alias", default="", help="Only sessions of this agent.")
@click.option("-n", "limit", default=20, show_default=True, type=click.IntRange(1, 10_000), help="How many.")
@click.option("--show", "session_id", default="", help="Print the messages of one session.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def sessions(alias: str, limit: int, session_id: str, as_json: bool) -> None:
    """List conversations, the last changed first, or show one."""
    home = read_home(os.environ)
    if session_id:
        _print_messages(asyncio.run(read_session(home, session_id)), as_json=as_json)
    else:
        _print_list(asyncio.run(list_sessions(home, agent=alias, limit=limit)), as_json=as_json)


def _print_list(found: Sequence[SessionFacts], *, as_json: bool) -> None:
    if as_json:
        click.echo(orjson.dumps(found).decode())
        return
    if not found:
        click.echo("no sessions yet; `ferrule chat` starts one")
    for facts in found:
        changed = datetime.fromtimestamp(facts.changed_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M")
        click.echo(f"{facts.id}  {changed}  {facts.messages:>4}  {facts.agent:<12}  {one_line(facts.title, 60)}")


def _print_messages(found: Sequence[Message], *, as_json: bool) -> None:
    if as_json:
        click.echo(orjson.dumps([message_to_dict(message) for message in found]).decode())
        return
    for message in found:
        calls = "".join(f"\n  calls {call.name} {orjson.dumps(call.arguments).decode()}" for call in message.calls)
        click.echo(printable(f"{message.role}: {message.text}{calls}\n"))
