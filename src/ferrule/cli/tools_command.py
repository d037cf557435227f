"""``ferrule tools``: what an agent can call."""

from __future__ import annotations

import os

import click
import orjson

from ..app.home import read_home
from ..app.runtime import summaries, tools_of

EPILOG = """\b
Examples:
  ferrule tools list
  ferrule tools list --agent research --json"""


@click.group()
def tools() -> None:
    """Show what agents can call."""


@tools.command("list", epilog=EPILOG)
@click.option("--agent", "alias", default="default", show_default=True, help="Whose tools.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(alias: str, as_json: bool) -> None:
    """List the tools that an agent is shown."""
    found = summaries(tools_of(read_home(os.environ), alias))
    if as_json:
        click.echo(orjson.dumps([{"name": name, "summary": summary} for name, summary in found]).decode())
        return
    for name, summary in found:
        click.echo(f"{name:<16}  {summary}")
