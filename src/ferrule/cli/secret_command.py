"""``ferrule secret``: keep secrets encrypted. A value comes from a prompt or standard input, never from an argument."""

from __future__ import annotations

import dataclasses
import os
import sys
from typing import get_args

import click
import orjson

from ..app.secrets import SecretFacts, forget_secret, is_rotating, keep_secret, list_secrets, rotate_secrets
from ..config.layout import layout
from ..core.guard import SHORTEST
from ..storage.vault import Keeper
from ..types.errors import UsageError
from .offered_words import agents_here
from .printable import printable

EPILOG = """\b
Examples:
  ferrule secret set providers.openai.main.api_key
  pass show openai | ferrule secret set openai
  ferrule config set providers.openai.main.api_key '{ secret = "openai" }'
  ferrule secret rotate

Exit codes: 0 done, 1 the vault cannot be used, 2 the config or the command is wrong.
"""

MOST_BYTES = 70_000
"""More than any secret may have; the vault says how many."""


@click.group(epilog=EPILOG)
def secret() -> None:
    """Keep secrets encrypted, in the config or by name in the vault; nothing here prints one."""


@secret.command(name="set", context_settings={"allow_extra_args": True})
@click.argument("name")
@click.option(
    "--agent",
    shell_complete=agents_here,
    default="",
    metavar="ALIAS",
    help="Whose secret it is; without, the installation's.",
)
@click.pass_context
def set_(context: click.Context, name: str, agent: str) -> None:
    """Keep a secret: at a key of the config when NAME has a dot, else in the vault.

    The value is asked for, or read from standard input.
    """
    if context.args:
        raise UsageError(
            "the secret is no argument: other programs and the shell's history can see those",
            hint="type it when asked, or pipe it in; what stood on the command line should be replaced by a new one",
        )
    text = _asked(name) if sys.stdin.isatty() else _piped()
    print(keep_secret(layout(os.environ), os.environ, name, text, agent=agent))
    if len(text) < SHORTEST:
        print(
            f"note: shorter than {SHORTEST} characters, so it is not masked where it appears in texts", file=sys.stderr
        )


@secret.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(as_json: bool) -> None:
    """Print names, where each secret is kept and used, and whether it opens."""
    place = layout(os.environ)
    found = list_secrets(place, os.environ)
    if is_rotating(place, os.environ):
        print("note: the old key is still there; `ferrule secret rotate` finishes the change", file=sys.stderr)
    if as_json:
        rows = [{**dataclasses.asdict(facts), "opens": not facts.fault} for facts in found]
        print(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode())
        return
    for facts in found:
        print(printable(_line(facts)))


@secret.command()
@click.argument("name")
@click.option(
    "--agent",
    shell_complete=agents_here,
    default="",
    metavar="ALIAS",
    help="Whose secret it is; without, the installation's.",
)
def remove(name: str, agent: str) -> None:
    """Forget a secret that nothing uses."""
    forget_secret(layout(os.environ), os.environ, name, agent=agent)


@secret.command()
@click.option("--to", type=click.Choice(get_args(Keeper)), help="Where the new key is kept; as before, if not given.")
def rotate(to: Keeper | None) -> int:
    """Encrypt everything with a new key; goes on where an interrupted rotation stopped."""
    done = rotate_secrets(layout(os.environ), os.environ, to=to)
    how = "the rotation that was interrupted is finished" if done.resumed else "new key"
    print(f"{how}: {done.moved} {'value' if done.moved == 1 else 'values'} encrypted anew")
    for place in done.left:
        print(f"left as it is, it does not open: {printable(place)}", file=sys.stderr)
    return int(bool(done.left))


def _line(facts: SecretFacts) -> str:
    owner = "" if facts.owner == "install" else f" ({facts.owner})"
    state = f"DOES NOT OPEN: {facts.fault}" if facts.fault else "opens"
    used = f", used by {', '.join(facts.used_by)}" if facts.used_by else ""
    return f"{facts.name}{owner}: {f'in {facts.kept}, ' if facts.kept else ''}{state}{used}"


def _asked(name: str) -> str:
    text: str = click.prompt(f"{name}", hide_input=True, err=True, default="", show_default=False)
    return text


def _piped() -> str:
    raw = sys.stdin.buffer.read(MOST_BYTES)
    try:
        return raw.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise UsageError("the secret is not UTF-8 text", hint="keep bytes as base64") from None
