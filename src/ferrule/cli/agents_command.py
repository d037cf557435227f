"""``ferrule agents``: who there is."""

from __future__ import annotations

import os
from dataclasses import asdict

import click
import orjson

from ..app.home import read_home
from ..app.overview import agents_of

EPILOG = """\b
Examples:
  ferrule agents list
  ferrule agents list --json"""


@click.group()
def agents() -> None:
    """Show the agents of the configuration."""


@agents.command("list", epilog=EPILOG)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(as_json: bool) -> None:
    """List the agents, with who answers, by which rules, and where they work."""
    found = agents_of(read_home(os.environ), os.getcwd())
    if as_json:
        click.echo(orjson.dumps([asdict(agent) for agent in found]).decode())
        return
    for agent in found:
        provider = agent.provider or "what the environment offers"
        click.echo(f"{agent.alias:<16}  {provider}, {agent.level}, {agent.tools} tools, in {agent.workspace}")
