"""Which model servers run on this machine, and which keys the environment holds.

An open port is no proof: each server is asked in its own words, and counts only
when it answers in them. All are asked at the same time, and the whole search
takes half a second at most.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import orjson

from ..ports.dialer import Dialer, HttpRequest
from ..types.errors import ConnectionFailed, PolicyDenied
from .first_provider import OPENAI, first_provider

WITHIN_S = 0.5
"""Seconds for the whole search."""

LONGEST_LIST = 4 * 1024 * 1024
"""Bytes of a list of models; whoever sends more is no model server."""

Server = Literal["ollama", "llama.cpp", "lmstudio", "vllm"]
Document = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """How one kind of server is recognised.

    Attributes:
        server: Its kind.
        port: Where it listens unless it was told otherwise.
        own: Path that says what kind of server it is.
        models: Path of its list of models.
    """

    server: Server
    port: int
    own: str
    models: str


PROBES = (
    Probe(server="ollama", port=11434, own="/api/version", models="/api/tags"),
    Probe(server="llama.cpp", port=8080, own="/props", models="/v1/models"),
    Probe(server="lmstudio", port=1234, own="/api/v0/models", models="/api/v0/models"),
    Probe(server="vllm", port=8000, own="/version", models="/v1/models"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A way to a model.

    Attributes:
        source: The kind of server, or the variable of the environment that was found.
        adapter: Name of the provider adapter that speaks to it.
        base_url: For the adapter's table. May hold a key in its user part or query; never show it as it is.
        models: What the server has, in its order; empty when it has none, or for a vendor that was not asked.
    """

    source: str
    adapter: Literal["ollama", "openai"]
    base_url: str
    models: tuple[str, ...] = ()


async def found(environ: Mapping[str, str], dialer: Dialer, *, probes: Sequence[Probe] = PROBES) -> list[Found]:
    """List what can be used without asking the person for anything: the environment first, then running servers.

    Nothing is sent beyond this machine, and no key is sent at all.

    Args:
        environ: Where ``OPENAI_API_KEY`` and ``OPENAI_BASE_URL`` are looked up.
        dialer: Makes the connections.
        probes: What to look for.
    """
    tasks = [asyncio.create_task(_server(probe, dialer)) for probe in probes]
    try:
        done = (await asyncio.wait(tasks, timeout=WITHIN_S))[0] if tasks else set()
        running = [server for task in tasks if task in done and (server := task.result()) is not None]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return [*_of_environment(environ), *running]


def _of_environment(environ: Mapping[str, str]) -> list[Found]:
    first = first_provider(environ)
    if first.kind != "environment":
        return []
    model = first.settings.get("model")
    models = (str(model),) if model is not None else ()
    base_url = str(first.settings.get("base_url", OPENAI))
    return [Found(source=first.source, adapter="openai", base_url=base_url, models=models)]


async def _server(probe: Probe, dialer: Dialer) -> Found | None:
    own = await _ask(probe, probe.own, dialer)
    if own is None:
        return None
    listed = own if probe.models == probe.own else await _ask(probe, probe.models, dialer)
    if listed is None or not _is(probe.server, own, listed):
        return None
    native = probe.server == "ollama"
    return Found(
        source=probe.server,
        adapter="ollama" if native else "openai",
        base_url=f"http://127.0.0.1:{probe.port}" + ("" if native else "/v1"),
        models=_names(listed),
    )


async def _ask(probe: Probe, path: str, dialer: Dialer) -> Document | None:
    """Return the object that a path answers with; None for anything else."""
    wanted = HttpRequest(
        method="GET",
        url=f"http://127.0.0.1:{probe.port}{path}",
        headers={"Accept": "application/json"},
        connect_s=WITHIN_S,
        idle_s=WITHIN_S,
        total_s=WITHIN_S,
        max_bytes=LONGEST_LIST,
    )
    try:
        async with dialer.open(wanted) as response:
            body = await response.read() if response.status == 200 else b""
        document = orjson.loads(body)
    except (ConnectionFailed, PolicyDenied, orjson.JSONDecodeError):
        return None
    return document if isinstance(document, dict) else None


def _is(server: Server, own: Document, listed: Document) -> bool:
    """Tell whether two answers are in the words of a kind of server."""
    data = _entries(listed)
    match server:
        case "ollama":
            return isinstance(own.get("version"), str) and isinstance(listed.get("models"), list)
        case "llama.cpp":
            return isinstance(own.get("default_generation_settings"), dict) and isinstance(listed.get("data"), list)
        case "lmstudio":
            return isinstance(own.get("data"), list) and all("state" in entry for entry in data)
        case "vllm":
            served = [entry for entry in data if entry.get("owned_by") == "vllm"]
            return isinstance(own.get("version"), str) and bool(served)


def _entries(listed: Document) -> list[Document]:
    """Return the entries of a list of models, in Ollama's form or in that of the others."""
    entries = listed.get("data") if "data" in listed else listed.get("models")
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def _names(listed: Document) -> tuple[str, ...]:
    """Name the models; those that only embed are left out."""
    names = [entry.get("id") or entry.get("name") for entry in _entries(listed) if entry.get("type") != "embeddings"]
    return tuple(name for name in names if isinstance(name, str) and name)
