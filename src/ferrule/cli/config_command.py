"""``ferrule config``: read, check and change the configuration."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click
import orjson

from ..app import discovery
from ..config.edit import Editor
from ..config.layout import Layout, layout
from ..config.load import Loaded, load
from ..config.root import ADAPTER_ROOTS
from ..config.shape import Adapters, shape_of
from ..config.values import Value, lookup, values
from .offered_words import agents_here
from .printable import printable

ADAPTERS = Adapters(settings_for=discovery.settings_for, names=discovery.names)

EPILOG = """\b
Examples:
  ferrule config set providers.openai.main.model gpt-5.4-mini
  ferrule config set providers.openai.main.api_key '{ env = "OPENAI_API_KEY" }'
  ferrule config set agents.default.provider openai.main
  ferrule config get agents.default --origin

Exit codes: 0 done, 2 the config or the command is wrong.
"""


@click.group(epilog=EPILOG)
def config() -> None:
    """Read, check and change the configuration."""


@config.command()
@click.option(
    "--agent",
    "agents",
    shell_complete=agents_here,
    multiple=True,
    metavar="ALIAS",
    help="Only these agents' secrets must be set.",
)
def validate(agents: Sequence[str]) -> None:
    """Check the whole file and report everything that is wrong with it."""
    loaded = _load(_layout(), agents or None)
    for alias in agents:
        loaded.agent(alias)
    for warning in loaded.warnings:
        print(f"warning: {printable(warning)}", file=sys.stderr)
    print(f"{loaded.document.file}: no problems")


@config.command()
@click.argument("key")
@click.option("--origin", is_flag=True, help="Say where each value came from.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def get(key: str, origin: bool, as_json: bool) -> None:
    """Print a key, or all keys of a table. Secrets are masked."""
    place = _layout()
    found = lookup(_load(place, ()), place, key)
    if as_json:
        _print_json(found)
    elif len(found) == 1 and found[0].key == key:
        print(_shown(found[0].value) + (f"  # {found[0].origin}" if origin else ""))
    else:
        _print_lines(found, origin)


@config.command(name="list")
@click.option("--origin", is_flag=True, help="Say where each value came from.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with origins.")
def list_(origin: bool, as_json: bool) -> None:
    """Print every key that counts, defaults included. Secrets are masked."""
    place = _layout()
    found = values(_load(place, ()), place)
    if as_json:
        _print_json(found)
    else:
        _print_lines(found, origin)


@config.command(name="set")
@click.argument("key")
@click.argument("value")
@click.option("--expect", metavar="DIGEST", help="Refuse when the file is not the version with this digest.")
def set_(key: str, value: str, expect: str | None) -> None:
    """Set a key in the file. VALUE is TOML, or text where it cannot be read as TOML."""
    place = _prepared()
    Editor(path=place.config, adapters=ADAPTERS).set(key, value, expected=expect)
    _say_overridden(place, key)


@config.command()
@click.argument("key")
@click.option("--expect", metavar="DIGEST", help="Refuse when the file is not the version with this digest.")
def unset(key: str, expect: str | None) -> None:
    """Remove a key or a table from the file."""
    place = _prepared()
    Editor(path=place.config, adapters=ADAPTERS).unset(key, expected=expect)
    _say_overridden(place, key)


@config.command()
def schema() -> None:
    """Print the JSON schema of the whole file, with every adapter that is installed."""
    wanted = {kind: discovery.names(kind) for kind in ADAPTER_ROOTS}
    found = {"$schema": "https://json-schema.org/draft/2020-12/schema", **shape_of(ADAPTERS, wanted).schema}
    print(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode())


@config.command()
def path() -> None:
    """Print the path of the file, whether or not it is there."""
    print(_layout().config)


@config.command()
def migrate() -> None:
    """Bring the file to the newest schema_version; the former one is kept as config.toml.bak."""
    place = _prepared()
    before, after = Editor(path=place.config, adapters=ADAPTERS).migrate()
    moved = f"from version {before} to {after}" if before != after else f"already version {after}"
    print(f"{place.config}: {moved}")


def _layout() -> Layout:
    place = layout(os.environ)
    place.check()
    return place


def _prepared() -> Layout:
    place = layout(os.environ)
    place.prepare()
    return place


def _load(place: Layout, agents: Sequence[str] | None) -> Loaded:
    return load(
        place.config,
        settings_for=ADAPTERS.settings_for,
        names=ADAPTERS.names,
        environ=os.environ,
        agents=agents,
    )


def _say_overridden(place: Layout, key: str) -> None:
    """A change that has no effect because a variable wins is not made silently."""
    for origin_path, origin in _load(place, ()).document.given.items():
        if ".".join(str(step) for step in origin_path) == key:
            print(f"note: {origin.where} is set and wins over the file", file=sys.stderr)


def _print_lines(found: Sequence[Value], origin: bool) -> None:
    for row in found:
        print(f"{row.key} = {_shown(row.value, quoted=True)}" + (f"  # {row.origin}" if origin else ""))


def _print_json(found: Sequence[Value]) -> None:
    rows = {row.key: {"value": row.value, "origin": str(row.origin)} for row in found}
    print(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode())


def _shown(value: object, *, quoted: bool = False) -> str:
    if isinstance(value, str) and not quoted:
        return printable(value)
    return printable(_toml(value))


def _toml(value: object) -> str:
    """Write a value as TOML would; strings and lists look the same in JSON."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_toml(inner)}" for name, inner in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(inner) for inner in value) + "]"
    if isinstance(value, str | bool):
        return orjson.dumps(value).decode()
    return str(value)
