"""``ferrule chat``: a conversation in the terminal."""

from __future__ import annotations

import click

from ..types.errors import UsageError
from .chat.loop import ChatOptions, chat_loop
from .offered_words import agents_here, sessions_here
from .terminal import make_plain, run_to_the_end, working_folder

EPILOG = """\b
Examples:
  ferrule chat
  ferrule chat --agent research
  ferrule chat --plain
  ferrule chat --session ses_4k2 --fork

In the chat, /help lists what can be typed; Ctrl-C stops the answer, Ctrl-D ends the chat."""


@click.command(epilog=EPILOG)
@click.option(
    "--agent",
    "alias",
    shell_complete=agents_here,
    default="default",
    show_default=True,
    help="Which agent to talk with.",
)
@click.option(
    "--session",
    "session_id",
    shell_complete=sessions_here,
    default="",
    help="Go on in a session; `ferrule sessions` lists them.",
)
@click.option("--fork", is_flag=True, help="Go on in a copy of --session.")
@click.option("--yes", is_flag=True, help="Use a key found in the environment without asking.")
@click.option("--plain", is_flag=True, help="For screen readers: words instead of signs, and nothing is overwritten.")
def chat(alias: str, session_id: str, fork: bool, yes: bool, plain: bool) -> int:
    """Talk with an agent: streamed answers, approvals, and commands that begin with a slash."""
    if fork and not session_id:
        raise UsageError(
            "--fork copies a session, and none is named", hint="add --session ID; `ferrule sessions` lists them"
        )
    if plain:
        make_plain()
    options = ChatOptions(alias=alias, session_id=session_id, fork=fork, yes=yes, folder=working_folder())
    return run_to_the_end(chat_loop(options))
