"""The first config of a home: which model answers, tested before anything is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import urlsplit

import orjson
import tomlkit

from ..config.edit import Editor
from ..config.layout import Layout
from ..ports.dialer import Dialer, HttpRequest
from ..sandbox.dialer import HttpDialer
from ..types.errors import ConnectionFailed, ProviderError, UsageError
from .first_provider import DEFAULT_MODEL, OPENAI, first_provider, shown
from .local_servers import Found, found
from .secrets import ADAPTERS, keep_secret

TEST_S = 20.0
"""Seconds that a server has to list its models."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One way to a model.

    Attributes:
        label: What people are shown.
        adapter: Name of the provider adapter; ``local`` is the demo model.
        base_url: Where it is; "" for the demo model.
        variable: The variable of the environment that holds its key; "" without one.
        models: What it has, as far as is known.
    """

    label: str
    adapter: str
    base_url: str = ""
    variable: str = ""
    models: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What a person decided.

    Attributes:
        key: A key that was typed; "" when there is none, or it stays in the environment.
        level: Risk profile of the default agent.
    """

    offer: Offer
    model: str = ""
    key: str = field(default="", repr=False)
    level: str = "supervised"


async def offers(environ: Mapping[str, str]) -> list[Offer]:
    """List what this machine offers, the environment first; the demo model is always last."""
    dialer = HttpDialer(environ)
    try:
        ways = [_offer(way, environ) for way in await found(environ, dialer)]
    finally:
        await dialer.close()
    return [*ways, Offer(label="the demo model: tiny, on this machine, not for work", adapter="local")]


def typed_offer(address: str) -> Offer:
    """Make the offer of a server whose address a person typed, or of OpenAI when they typed none.

    Raises:
        UsageError: it is no http or https address.
    """
    base = address.strip().rstrip("/") or OPENAI
    try:
        parts = urlsplit(base)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise UsageError("that is no http or https address", hint="write it like https://api.openai.com/v1")
    return Offer(label=shown(base), adapter="openai", base_url=base)


async def models_of(offer: Offer, key: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Ask the server for its models, which shows that address and key are right.

    Raises:
        ProviderError: it does not answer, refuses the key, or is no model server.
    """
    if offer.adapter == "local":
        return ()
    dialer = HttpDialer(environ)
    try:
        return await _listed(offer, key or environ.get(offer.variable, ""), dialer)
    finally:
        await dialer.close()


def write_first_config(place: Layout, environ: Mapping[str, str], choice: Choice) -> str:
    """Write the config, and the key into the vault; returns what to tell the person.

    Raises:
        UsageError: there is a config already.
        StoreError: it could not be written; nothing was left half-written.
    """
    refuse_a_second(place)
    place.prepare()
    if choice.key:
        keep_secret(place, environ, _alias(choice.offer), choice.key)
    Editor(path=place.config, adapters=ADAPTERS).begin(config_text(choice))
    return f"wrote {place.config}"


def refuse_a_second(place: Layout) -> None:
    """Refuse to replace a config.

    Raises:
        UsageError: there is one.
    """
    if place.config.exists():
        raise UsageError(
            f"there is a config already: {place.config}",
            hint="`ferrule config set` changes it; move it away to begin anew",
        )


def config_text(choice: Choice) -> str:
    """Return the config of a choice, with comments that say what can be changed."""
    offer, lines = choice.offer, [f"# Written by `ferrule init`, {datetime.now(UTC):%Y-%m-%d}. What counts, and why:"]
    lines += ["# `ferrule config list --origin`. Every key is explained in docs/config.md.", "schema_version = 1", ""]
    reference = f"{offer.adapter}.{_alias(offer)}"
    if offer.adapter == "local":
        lines += ["# The demo model: tiny, on this machine, not for work.", "[providers.local.demo]"]
    else:
        lines += [f"[providers.{reference}]", f"model = {_toml(choice.model)}", f"base_url = {_toml(offer.base_url)}"]
        if choice.key:
            lines.append(f'api_key = {{ secret = "{_alias(offer)}" }} # in the vault: `ferrule secret list`')
        elif offer.variable:
            lines.append(f'api_key = {{ env = "{offer.variable}" }}')
    lines += ["", "[agents.default]", f"provider = {_toml(reference)}"]
    lines += [
        f"risk_profile = {_toml(choice.level)} # read_only: looks only; supervised: asks; full: asks when dangerous"
    ]
    return "\n".join(lines) + "\n"


def _alias(offer: Offer) -> str:
    return "demo" if offer.adapter == "local" else "main"


def _toml(text: str) -> str:
    return tomlkit.string(text).as_string()


def _offer(way: Found, environ: Mapping[str, str]) -> Offer:
    if way.source.startswith("OPENAI_"):
        variable = "OPENAI_API_KEY" if "api_key" in first_provider(environ).settings else ""
        return Offer(
            label=f"{shown(way.base_url)}, found in {way.source}",
            adapter=way.adapter,
            base_url=way.base_url,
            variable=variable,
            models=way.models,
        )
    count = "no model yet" if not way.models else f"{len(way.models)} model{'s' * (len(way.models) != 1)}"
    label = f"{way.source} on this machine ({count})"
    return Offer(label=label, adapter=way.adapter, base_url=way.base_url, models=way.models)


async def _listed(offer: Offer, key: str, dialer: Dialer) -> tuple[str, ...]:
    native = offer.adapter == "ollama"
    url = f"{offer.base_url}/api/tags" if native else f"{offer.base_url}/models"
    headers = {"authorization": f"Bearer {key}"} if key else {}
    place = shown(offer.base_url)
    try:
        async with dialer.open(HttpRequest(method="GET", url=url, headers=headers, total_s=TEST_S)) as response:
            status, body = response.status, await response.read()
    except ConnectionFailed as error:
        raise ProviderError(str(error), hint="check the address, and that the server runs", code=error.code) from None
    if status in (401, 403):
        raise ProviderError(f"{place} refuses the key ({status})", hint="copy the key again, whole")
    if status != 200:
        raise ProviderError(f"{place} answered {status}", hint="check the address; most end in /v1")
    try:
        entries = orjson.loads(body)["models" if native else "data"]
        return tuple(str(entry["name" if native else "id"]) for entry in entries)
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise ProviderError(f"{place} is no model server", hint="check the address; most end in /v1") from None


def preferred(offer: Offer, models: Sequence[str]) -> str:
    """Return the model to suggest: the one that was named, OpenAI's default, else the first."""
    if len(offer.models) == 1:
        return offer.models[0]
    if offer.base_url == OPENAI and (not models or DEFAULT_MODEL in models):
        return DEFAULT_MODEL
    return models[0] if models else ""
