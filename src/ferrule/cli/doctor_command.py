"""``ferrule doctor``: checks this installation."""

from __future__ import annotations

import asyncio
import os

import click
import orjson

from ..app.checkup import check_up, place_of

EPILOG = """\b
Examples:
  ferrule doctor
  ferrule doctor --json | jq '.[] | select(.state == "error")'"""

SIGNS = {"ok": "✓", "warning": "!", "error": "✗"}


@click.command(epilog=EPILOG)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(as_json: bool) -> int:
    """Look at install, config, agents, store and platform; each finding comes with its fix.

    Exits with 1 when something is broken.
    """
    findings = asyncio.run(check_up(os.environ))
    if as_json:
        click.echo(orjson.dumps(findings).decode())
    else:
        click.echo(f"home: {place_of(os.environ)}")
        for finding in findings:
            click.echo(f"{SIGNS[finding.state]} {finding.topic}: {finding.text}")
            if finding.fix:
                click.echo(f"    fix: {finding.fix}")
    return int(any(finding.state == "error" for finding in findings))
