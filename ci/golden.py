"""Snapshots of what others build on: `make golden` writes tests/golden/*.txt from the code as it is.

A snapshot changes only together with a fragment in changelog/ that tells users.
"""

from __future__ import annotations

import dataclasses
import importlib
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

import click

import ferrule
from ferrule.cli.front import COMMANDS, help_text
from ferrule.config.root import Root
from ferrule.types import errors, events

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests" / "golden"


def public_names() -> str:
    """The names of the public face, one a line."""
    return "".join(f"{name}\n" for name in sorted(ferrule.__all__))


def error_codes() -> str:
    """Every error class with its code, as a tree."""

    def lines(kind: type[errors.FerruleError], depth: int) -> Iterator[str]:
        yield f"{'  ' * depth}{kind.__name__} {kind.code}\n"
        for child in sorted(kind.__subclasses__(), key=lambda c: c.__name__):
            if child.__module__ == errors.__name__:
                yield from lines(child, depth + 1)

    return "".join(lines(errors.FerruleError, 0))


def event_fields() -> str:
    """Every event with its own fields and their types; the head is common to all."""
    text = io.StringIO()
    for kind in get_args(events.AgentEvent):
        own = [f"{f.name}: {f.type}" for f in dataclasses.fields(kind) if f.name not in ("head", "seq", "at_ms")]
        text.write(f"{kind.type}({', '.join(own)})\n")
    return text.getvalue()


def help_texts() -> str:
    """`--help` of the front door, of every command and of every command below it, as on a terminal of 80 columns."""
    found = {"--help": help_text()}
    for name, target in sorted(COMMANDS.items()):
        module, _, attribute = target.partition(":")
        found.update(_help_below(getattr(importlib.import_module(module), attribute), name, None))
    return "\n".join(f"$ ferrule {words}\n{text}" for words, text in found.items())


def _help_below(command: click.Command, words: str, parent: click.Context | None) -> Iterator[tuple[str, str]]:
    name = words if parent else f"ferrule {words}"
    context = click.Context(command, info_name=name.rpartition(" ")[2] if parent else name, parent=parent)
    context.max_content_width = context.terminal_width = 78
    yield f"{words} --help", command.get_help(context) + "\n"
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            yield from _help_below(command.commands[inner], f"{words} {inner}", context)


def config_schema() -> str:
    """The JSON schema of the config's own tables."""
    return json.dumps(Root.model_json_schema(), indent=1, sort_keys=True) + "\n"


GOLDENS: dict[str, Callable[[], str]] = {
    "public_names.txt": public_names,
    "error_codes.txt": error_codes,
    "event_fields.txt": event_fields,
    "config_schema.txt": config_schema,
    "help.txt": help_texts,
}


def cli_reference() -> str:
    """The same as a page for people."""
    sections = help_texts().removeprefix("$ ferrule ").split("\n$ ferrule ")
    page = ["# Command line\n", "Written by `make golden` from the commands themselves.\n"]
    for section in sections:
        words, _, text = section.partition("\n")
        page.append(f"## `ferrule {words.removesuffix('--help').strip()}`\n".replace(" `\n", "`\n"))
        page.append(f"```text\n{text.strip()}\n```\n")
    return "\n".join(page)


SHIPPED: dict[str, Callable[[], str]] = {
    "src/ferrule/cli/help.txt": help_texts,
    "docs/cli.md": cli_reference,
}
"""Files outside the snapshots that are written from the code too, by their path in the checkout."""


def differences(folder: Path, goldens: dict[str, Callable[[], str]]) -> list[str]:
    """List snapshots that are missing, differ from the code, or have no source any more."""
    found = [f"{name}: nothing produces it" for name in _stored(folder) if name not in goldens]
    for name, produce in sorted(goldens.items()):
        path = folder / name
        if not path.exists():
            found.append(f"{name}: missing; run `make golden`")
        elif path.read_text() != produce():
            found.append(f"{name}: differs; if that is meant, run `make golden` and add a changelog fragment")
    return found


def _stored(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.txt"))


def main() -> None:
    """Write every snapshot."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, produce in GOLDENS.items():
        (FOLDER / name).write_text(produce())
        print(f"tests/golden/{name}")
    for name, produce in SHIPPED.items():
        (ROOT / name).write_text(produce())
        print(name)


if __name__ == "__main__":
    main()
