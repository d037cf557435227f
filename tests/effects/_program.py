"""Running the program with a config, against a model server of the test's own."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path

import tomlkit

from tests.providers._vendor import Step, Vendor, delta, sse, streamed

BLIND = "EFFECTS_WITHOUT"
"""Variable of these tests, never of the program: a key that is left out of every config, so that its default holds."""

HIGH = 60.0
"""Seconds after which a program that hangs is ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How the program ended."""

    code: int
    out: str
    err: str

    def events(self, kind: str) -> list[dict[str, object]]:
        """Return the events of one kind that ``--json`` printed."""
        found = [json.loads(line) for line in self.out.splitlines()]
        return [event for event in found if event["type"] == kind]


@dataclass(frozen=True, slots=True)
class Place:
    """A home and the folder the program is started in."""

    root: Path

    @property
    def home(self) -> Path:
        """The state folder."""
        return self.root / "home"

    @property
    def folder(self) -> Path:
        """Where the program is started."""
        return self.root / "here"

    def write(self, config: str) -> None:
        """Write the config, private."""
        self.home.mkdir(mode=0o700, exist_ok=True)
        self.folder.mkdir(exist_ok=True)
        path = self.home / "config.toml"
        path.write_text(without(config, os.environ.get(BLIND, "")))
        path.chmod(0o600)

    async def run(self, *arguments: str, environ: Mapping[str, str] | None = None) -> Ran:
        """Run ``ferrule`` with nobody there to ask."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI", "FERRULE"))}
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "ferrule",
            *arguments,
            cwd=self.folder,
            env={**kept, "FERRULE_HOME": str(self.home), **(environ or {})},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(HIGH):
                out, err = await child.communicate()
        finally:
            if child.returncode is None:
                child.kill()
        return Ran(code=child.returncode or 0, out=out.decode(), err=err.decode())


def without(text: str, key: str) -> str:
    """Take a key out of a config; ``*`` in the key stands for any name.

    >>> without("a.b.c = 1\\na.x.d = 2\\n", "a.*.c")
    'a.x.d = 2\\n'
    """
    document = tomlkit.parse(text)
    _remove(document, key.split("."))
    return tomlkit.dumps(document)


def _remove(table: MutableMapping[str, object], steps: list[str]) -> None:
    first, *rest = steps
    for name in list(table) if first == "*" else [first] if first in table else []:
        inner = table[name]
        if not rest:
            del table[name]
        elif isinstance(inner, MutableMapping):
            _remove(inner, rest)


def config(server: Vendor, *, provider: str = "", agent: str = "", more: str = "") -> str:
    """Write a config with one provider and one agent."""
    return f"""\
{more}
[providers.openai.main]
model = "m"
base_url = "{server.url}/v1"
{provider}
[agents.default]
provider = "openai.main"
{agent}
"""


def say(text: str, **usage: object) -> list[Step]:
    """Answer with text."""
    end = {"id": "c1", "model": "m", "choices": [], "usage": usage} if usage else None
    pieces = [delta(content=text), delta("stop"), *([end] if end else []), "[DONE]"]
    return streamed(sse(*pieces))


def call(*calls: tuple[str, Mapping[str, object]], **fields: object) -> list[Step]:
    """Answer with tool calls: names and arguments."""
    wanted = [
        {
            "index": number,
            "id": f"call_{number}_{name}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for number, (name, arguments) in enumerate(calls)
    ]
    return streamed(sse(delta(None, tool_calls=wanted, **fields), delta("tool_calls"), "[DONE]"))


def told(server: Vendor) -> str:
    """Return the last request as text: what the model was told in the end."""
    return json.dumps(server.asked[-1].json, ensure_ascii=False)
