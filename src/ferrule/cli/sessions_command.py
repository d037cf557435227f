"""``ferrule sessions``: conversations that are kept. What the commands do is in the files ``sessions_*.py``."""

from __future__ import annotations

import asyncio
import os

import click

from ..app.home import read_home
from . import sessions_change, sessions_look, sessions_transfer
from .offered_words import agents_here, sessions_here

EPILOG = """\b
Examples:
  ferrule sessions list
  ferrule sessions search budget plan
  ferrule sessions show ses_4k2
  ferrule chat --session ses_4k2

ID may be the beginning of an id, as long as only one session has it."""

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
AGENT = click.option("--agent", "alias", shell_complete=agents_here, default="", help="Only sessions of this agent.")
LIMIT = click.option(
    "-n", "--limit", default=20, show_default=True, type=click.IntRange(1, 10_000), help="How many at most."
)


@click.group(epilog=EPILOG, invoke_without_command=True)
@click.pass_context
def sessions(context: click.Context) -> None:
    """List, search, branch, undo, export and delete conversations.

    Without a command: list them.
    """
    if context.invoked_subcommand is None:
        context.invoke(list_)


@sessions.command("list")
@AGENT
@LIMIT
@AS_JSON
def list_(alias: str = "", limit: int = 20, as_json: bool = False) -> None:
    """List conversations, the last changed first."""
    asyncio.run(sessions_look.show_list(read_home(os.environ), alias, limit, as_json=as_json))


@sessions.command()
@click.argument("session_id", metavar="ID", shell_complete=sessions_here)
@AS_JSON
def show(session_id: str, as_json: bool) -> None:
    """Print the messages of a conversation."""
    asyncio.run(sessions_look.show_messages(read_home(os.environ), session_id, as_json=as_json))


@sessions.command()
@click.argument("words", nargs=-1, required=True)
@AGENT
@LIMIT
@AS_JSON
def search(words: tuple[str, ...], alias: str, limit: int, as_json: bool) -> None:
    """Find messages that hold all WORDS, in any case, also inside other words."""
    query = " ".join(words)
    asyncio.run(sessions_look.show_hits(read_home(os.environ), query, (alias, limit), as_json=as_json))


@sessions.command()
@click.argument("session_id", metavar="ID", shell_complete=sessions_here)
@click.option("--at", default="", metavar="MESSAGE", help="The last message to take along; its id, from `show`.")
@click.option(
    "--agent", "alias", shell_complete=agents_here, default="", help="Whose the copy is; else the same agent's."
)
def branch(session_id: str, at: str, alias: str) -> None:
    """Copy a conversation, whole or up to a message, into a new one.

    A message with calls and the results of these calls are copied together.
    """
    asyncio.run(sessions_change.branch(read_home(os.environ), session_id, at=at, alias=alias))


@sessions.command()
@click.argument("session_id", metavar="ID", shell_complete=sessions_here)
@click.argument("turns", default=1, type=click.IntRange(1))
def undo(session_id: str, turns: int) -> None:
    """Take back the last TURNS turns (1) of a conversation.

    Only the conversation changes: files, and whatever else tools did, stay
    as they are. `redo` brings the turns back until something new is said.
    """
    asyncio.run(sessions_change.undo(read_home(os.environ), session_id, turns))


@sessions.command()
@click.argument("session_id", metavar="ID", shell_complete=sessions_here)
def redo(session_id: str) -> None:
    """Bring back what the last undo took."""
    asyncio.run(sessions_change.redo(read_home(os.environ), session_id))


@sessions.command()
@click.argument("session_id", metavar="ID", shell_complete=sessions_here)
@click.option("--format", "kind", type=click.Choice(["json", "markdown"]), required=True, help="In which form.")
@click.option("--output", default="", metavar="FILE", help="A new file to write; else standard output.")
def export(session_id: str, kind: str, output: str) -> None:
    """Write a conversation as JSON, which can be imported, or as Markdown."""
    asyncio.run(sessions_transfer.export(read_home(os.environ), session_id, kind, output))


@sessions.command("import")
@click.argument("file")
@click.option(
    "--agent",
    "alias",
    shell_complete=agents_here,
    default="",
    help="Whose it is from now on; else the agent that the file names.",
)
def import_(file: str, alias: str) -> None:
    """Read a conversation that was exported as JSON; "-" is standard input.

    It gets a new id. What it holds is put before the model as if it had been
    said here: import what you trust.
    """
    asyncio.run(sessions_transfer.take(read_home(os.environ), file, alias))


@sessions.command()
@click.argument("session_id", metavar="ID", shell_complete=sessions_here)
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(session_id: str, yes: bool) -> None:
    """Remove a conversation for good."""
    asyncio.run(sessions_change.delete(read_home(os.environ), session_id, yes=yes))
