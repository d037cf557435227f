"""``ferrule run``: one message, one answer."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any

import click
import orjson
from rich.console import Console

from ..app.home import read_home
from ..app.runtime import Choices, open_agent
from ..app.this_run import ThisRun, existing_folder
from ..types.errors import UsageError
from ..types.events import AgentEvent, ApprovalAnswered, TextDelta, ToolFinished, ToolStarted, TurnFinished, as_dict
from ..types.messages import Content
from .answer_form import form_in
from .approve import TerminalApprover, read_terminal_line
from .attachments import content_of
from .consent import agree_to_key
from .incoming import piped, refuse_nul
from .offered_words import agents_here, sessions_here
from .printable import printable
from .render import ChatView
from .terminal import console, run_to_the_end, someone_is_there, working_folder

EXIT_CODES = {"completed": 0, "failed": 1, "rejected": 1, "interrupted": 1, "limit": 4, "cancelled": 130}
STOPPED_BY_DENIAL = 3

EPILOG = """\b
Examples:
  ferrule run "What files are in this folder?"
  git diff | ferrule run "Explain this change"
  ferrule run --json "List the docs folder" | jq -r .type
  ferrule run --output-schema city.json "Which city is this about?" < a.txt
  ferrule run --attach plan.png --model gpt-5.4 "What does this show?"

\b
Exit codes: 0 completed, 1 failed, 2 usage or config, 3 stopped by a denial,
4 limit, 130 cancelled."""


@click.command(epilog=EPILOG)
@click.argument("message", required=False)
@click.option(
    "--agent", "alias", shell_complete=agents_here, default="default", show_default=True, help="Which agent answers."
)
@click.option(
    "--session",
    "session_id",
    shell_complete=sessions_here,
    default="",
    help="Go on in a session; `ferrule sessions` lists them.",
)
@click.option("--fork", is_flag=True, help="Go on in a copy of --session.")
@click.option("--model", default="", help="Ask this model of the agent's provider, this time.")
@click.option("--cwd", default="", help="Work in this folder; the agent's rules stay as they are.")
@click.option("--attach", multiple=True, help="Send this image, PDF or text file along; may be repeated.")
@click.option(
    "--max-rounds", type=click.IntRange(min=1), help="Stop after so many requests; the profile's limit holds too."
)
@click.option(
    "--max-tokens", type=click.IntRange(min=1), help="Stop above so many tokens; the profile's limit holds too."
)
@click.option(
    "--output-schema", default="", help="Answer in JSON that follows the JSON Schema in this file, and print only that."
)
@click.option("--json", "as_json", is_flag=True, help="Print events as JSON lines.")
@click.option("--yes", is_flag=True, help="Use a key found in the environment without asking.")
def run(
    message: str | None, as_json: bool, yes: bool, attach: tuple[str, ...], output_schema: str, **chosen: Any
) -> int:
    """Send MESSAGE to an agent and print its answer.

    Text from standard input is put behind MESSAGE, or is the message when
    there is none.
    """
    choices, form = _choices(**chosen), form_in(output_schema)
    content = content_of(compose(message), attach)
    return run_to_the_end(_run(content, choices, form, as_json=as_json, yes=yes))


def _choices(*, alias: str, session_id: str, fork: bool, model: str, cwd: str, **limits: int | None) -> Choices:
    if fork and not session_id:
        raise UsageError(
            "--fork copies a session, and none is named", hint="add --session ID; `ferrule sessions` lists them"
        )
    here = working_folder()
    this_run = ThisRun(model=model, folder=existing_folder(cwd) if cwd else "", **limits)
    return Choices(alias=alias, session_id=session_id, fork=fork, folder=here, run=this_run)


def compose(message: str | None) -> str:
    """Join the argument and standard input into one message.

    Raises:
        UsageError: there is neither, or one of them is no text.
    """
    refuse_nul(message or "", "the message")
    parts = [part for part in (message, piped(needed=message is None).strip("\r\n")) if part and part.strip()]
    if not parts:
        raise UsageError("there is no message", hint='write one: ferrule run "..."; or pipe text into it')
    return "\n\n".join(parts)


async def _run(
    content: Content, choices: Choices, form: Mapping[str, object] | None, *, as_json: bool, yes: bool
) -> int:
    notes = console(stderr=True)
    home = read_home(os.environ, agents=(choices.alias,))
    await agree_to_key(notes, home, choices.alias, yes=yes)
    can_ask = someone_is_there()
    approver = TerminalApprover(notes, read_terminal_line) if can_ask else None
    async with open_agent(home, choices, approver=approver) as opened:
        if not as_json:
            notes.print(opened.describe(), style="dim", markup=False, highlight=False)
        events = opened.agent.stream(content, output=form)
        if as_json:
            return await _print_json(events)
        return await (_print_text(events, notes) if form is None else _print_form(events, notes))


async def _print_json(events: AsyncIterator[AgentEvent]) -> int:
    outcome = _Outcome()
    async with aclosing(events) as stream:  # type: ignore[type-var]  # `stream` is an async generator
        async for event in stream:
            outcome.note(event)
            sys.stdout.buffer.write(orjson.dumps(as_dict(event), option=orjson.OPT_APPEND_NEWLINE))
            sys.stdout.buffer.flush()
    return outcome.code()


async def _print_text(events: AsyncIterator[AgentEvent], notes: Console) -> int:
    outcome = _Outcome()
    pretty = sys.stdout.isatty()
    view = ChatView(console() if pretty else notes)
    wrote = ""
    try:
        async with aclosing(events) as stream:  # type: ignore[type-var]  # `stream` is an async generator
            async for event in stream:
                outcome.note(event)
                if pretty or not isinstance(event, TextDelta):
                    view.show(event)
                else:
                    wrote = printable(event.text)
                    sys.stdout.write(wrote)
                    sys.stdout.flush()
    finally:
        view.close()
    if wrote and not wrote.endswith("\n"):
        sys.stdout.write("\n")
    return outcome.code()


async def _print_form(events: AsyncIterator[AgentEvent], notes: Console) -> int:
    """Print the answer once it has the form that was asked for; what is written on the way there is not it."""
    outcome, view = _Outcome(), ChatView(notes)
    try:
        async with aclosing(events) as stream:  # type: ignore[type-var]  # `stream` is an async generator
            async for event in stream:
                outcome.note(event)
                if not isinstance(event, TextDelta):
                    view.show(event)
                if isinstance(event, TurnFinished) and event.status == "completed":
                    _print_document(event.output)
    finally:
        view.close()
    return outcome.code()


def _print_document(document: object) -> None:
    """Print JSON: as it is for programs, in lines and without control signs for people."""
    if sys.stdout.isatty():
        sys.stdout.write(f"{printable(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode())}\n")
    else:
        sys.stdout.buffer.write(orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE))
    sys.stdout.flush()


class _Outcome:
    """Remembers what the exit code depends on."""

    def __init__(self) -> None:
        self._status = "failed"
        self._denied = False

    def note(self, event: AgentEvent) -> None:
        match event:
            case ToolStarted(decision="deny") | ApprovalAnswered(answer="deny"):
                self._denied = True
            case ToolFinished(is_error=False):
                self._denied = False
            case TurnFinished(status=status):
                self._status = status

    def code(self) -> int:
        """A turn that ended after a denial, with nothing done since, was stopped by it."""
        if self._status == "completed" and self._denied:
            return STOPPED_BY_DENIAL
        return EXIT_CODES[self._status]
