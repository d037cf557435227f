"""``ferrule policy``: what an agent may do, and why."""

from __future__ import annotations

import os
from dataclasses import asdict
from datetime import datetime

import click
import orjson

from ..app.always import revoke_approvals, standing_approvals
from ..app.home import read_home
from ..app.rules import (
    difference,
    explain_effect,
    explain_tool,
    explained_facts,
    explained_lines,
    facts_of,
    lines_of,
    migrated,
)
from ..types.errors import UsageError
from .offered_words import agents_here
from .printable import printable

SHOW_EPILOG = """\b
Examples:
  ferrule policy show
  ferrule policy show --agent research --json"""

EXPLAIN_EPILOG = """\b
Examples:
  ferrule policy explain --tool shell
  ferrule policy explain --path notes.txt --write
  ferrule policy explain --agent research --command "git status | wc -l" """

DIFF_EPILOG = """\b
Examples:
  ferrule policy diff default research
  ferrule policy diff default research --json"""

MIGRATE_EPILOG = """\b
Examples:
  ferrule policy migrate
  ferrule policy migrate >> ~/.ferrule/config.toml"""

APPROVALS_EPILOG = """\b
Examples:
  ferrule policy approvals list
  ferrule policy approvals list --json"""

REVOKE_EPILOG = """\b
Examples:
  ferrule policy approvals revoke "command:git status"
  ferrule policy approvals revoke --all --agent research"""

_agent = click.option(
    "--agent", "alias", shell_complete=agents_here, default="default", show_default=True, help="Whose rules."
)
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def policy() -> None:
    """Show and explain what agents may do. Nothing is run and nothing is changed."""


@policy.command("show", epilog=SHOW_EPILOG)
@_agent
@_json
def show(alias: str, as_json: bool) -> None:
    """Show all rules of an agent, as they would hold if it were started in this folder."""
    rules = read_home(os.environ).policy_of(alias, os.getcwd())
    _print(facts_of(rules), lines_of(rules), as_json=as_json)


@policy.command("explain", epilog=EXPLAIN_EPILOG)
@click.option("--tool", help="May this tool be called at all?")
@click.option("--path", help="May this file be read?")
@click.option("--write", is_flag=True, help="With --path: may it be written?")
@click.option("--command", "line", help="May this command line run?")
@_agent
@_json
def explain(tool: str | None, path: str | None, write: bool, line: str | None, alias: str, as_json: bool) -> None:
    """Say what becomes of a call, and by which rules. Links are not looked at: the file tools judge where they lead."""
    if sum(one is not None for one in (tool, path, line)) != 1:
        raise UsageError("there is nothing to explain, or too much", hint="give one of --tool, --path and --command")
    if write and path is None:
        raise UsageError("--write says nothing without --path", hint="add --path FILE")
    rules = read_home(os.environ).policy_of(alias, os.getcwd())
    if tool is not None:
        found = explain_tool(rules, tool)
    elif path is not None:
        name = "file_write" if write else "file_read"
        found = explain_effect(rules, "files.write" if write else "files.read", path, tool=name)
    else:
        found = explain_effect(rules, "command.run", line or "", tool="shell")
    _print(explained_facts(found), explained_lines(found), as_json=as_json)


@policy.command("diff", epilog=DIFF_EPILOG)
@click.argument("first", metavar="A", shell_complete=agents_here)
@click.argument("second", metavar="B", shell_complete=agents_here)
@_json
def diff(first: str, second: str, as_json: bool) -> None:
    """Compare the rules of two agents: where they differ, and whether one has at most what the other has."""
    found = difference(read_home(os.environ), first, second, os.getcwd())
    lines = [
        f"{name}:\n  {first}: {_short(values[0])}\n  {second}: {_short(values[1])}"
        for name, values in found["fields"].items()
    ]
    for one, two in ((first, second), (second, first)):
        wider = ", ".join(found["wider"][one])
        lines.append(f"{one} has {f'more than {two}: {wider}' if wider else f'at most what {two} has'}")
    _print(found, lines, as_json=as_json)


@policy.command("migrate", epilog=MIGRATE_EPILOG)
def migrate() -> None:
    """Print the [[capabilities]] that the switches of [security.tools] stand for; the config is not changed."""
    text = migrated(read_home(os.environ))
    click.echo(text or "# [[capabilities]] already grant something, so there are no switches to migrate.")


@policy.group("approvals")
def approvals() -> None:
    """Show and take back what was allowed for always."""


@approvals.command("list", epilog=APPROVALS_EPILOG)
@_json
def list_(as_json: bool) -> None:
    """List what holds now: for which agent, in which folder, until when."""
    found = standing_approvals(read_home(os.environ))
    lines = [f"{one.agent}  {one.pattern}  in {one.folder}, until {_day(one.expires_ms)}" for one in found]
    _print([asdict(one) for one in found], lines or ["nothing is allowed for always"], as_json=as_json)


@approvals.command("revoke", epilog=REVOKE_EPILOG)
@click.argument("pattern", required=False, default="")
@click.option("--agent", "alias", shell_complete=agents_here, default="", help="Only this agent's.")
@click.option("--all", "everything", is_flag=True, help="Every pattern.")
@_json
def revoke(pattern: str, alias: str, everything: bool, as_json: bool) -> None:
    """Take back a pattern; from now on it is asked about again, in running chats too."""
    if bool(pattern) == everything:
        raise UsageError("it is not clear what to take back", hint="name one PATTERN of the list, or add --all")
    gone = revoke_approvals(read_home(os.environ), agent=alias, pattern=pattern)
    if not gone and pattern:
        raise UsageError(f"{pattern!r} is not allowed for always", hint="`ferrule policy approvals list` shows what is")
    lines = [f"taken back: {one.agent}  {one.pattern}" for one in gone]
    _print([asdict(one) for one in gone], lines or ["nothing was allowed for always"], as_json=as_json)


def _day(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000).strftime("%Y-%m-%d %H:%M")


def _print(facts: object, lines: list[str], *, as_json: bool) -> None:
    if as_json:
        click.echo(orjson.dumps(facts).decode())
        return
    for line in lines:
        click.echo("\n".join(map(printable, line.split("\n"))))


def _short(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
