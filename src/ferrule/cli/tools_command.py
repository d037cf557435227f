"""``ferrule tools``: what an agent can call."""

from __future__ import annotations

import os
from dataclasses import asdict

import click
import orjson

from ..app.home import read_home
from ..app.overview import tool_facts
from ..app.runtime import summaries, tools_of
from .offered_words import agents_here

SHOW_EPILOG = """\b
Examples:
  ferrule tools show shell
  ferrule tools show file_edit --json"""

EPILOG = """\b
Examples:
  ferrule tools list
  ferrule tools list --agent research --json"""


@click.group()
def tools() -> None:
    """Show what agents can call."""


@tools.command("list", epilog=EPILOG)
@click.option("--agent", "alias", shell_complete=agents_here, default="default", show_default=True, help="Whose tools.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(alias: str, as_json: bool) -> None:
    """List the tools that an agent is shown."""
    found = summaries(tools_of(read_home(os.environ), alias))
    if as_json:
        click.echo(orjson.dumps([{"name": name, "summary": summary} for name, summary in found]).decode())
        return
    for name, summary in found:
        click.echo(f"{name:<16}  {summary}")


@tools.command("show", epilog=SHOW_EPILOG)
@click.argument("name")
@click.option("--agent", "alias", shell_complete=agents_here, default="default", show_default=True, help="Whose tool.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(name: str, alias: str, as_json: bool) -> None:
    """Show a tool as the model sees it, and what it may touch."""
    facts = tool_facts(read_home(os.environ), alias, name)
    if as_json:
        click.echo(orjson.dumps(asdict(facts)).decode())
        return
    click.echo(f"{facts.name}: {facts.description}\n\nArguments:")
    required = facts.schema.get("required", ())
    for field, about in facts.schema.get("properties", {}).items():
        kind = about.get("type", "any")
        wanted = "required" if field in required else "optional"
        click.echo(f"  {field:<14}  {kind}, {wanted}. {about.get('description', '')}")
    effects = "anything: it does not say" if facts.needs is None else ", ".join(facts.needs) or "nothing"
    click.echo(f"\nMay touch: {effects}")
