"""Which model answers when the operator has configured none.

A key or an address in the environment wins; else the demo model of this
process. Nothing is sent anywhere before the person agreed once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

import orjson

from ..config.layout import Layout
from ..ports.dialer import Dialer, HttpRequest
from ..storage.atomic import write_atomic
from ..types.errors import ConfigError, ProviderError

DEFAULT_MODEL = "gpt-5.4-mini"
"""Used with the vendor's own address when OPENAI_MODEL does not say otherwise."""

OPENAI = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstProvider:
    """A provider that nobody configured.

    Attributes:
        kind: ``environment`` (a key or address was found) or ``demo``.
        adapter: The adapter's name.
        settings: Its table; the model may be missing and is then asked for at the address.
        source: The variable that was found.
        explanation: What to tell the person.
    """

    kind: Literal["environment", "demo"]
    adapter: str
    settings: Mapping[str, object] = field(default_factory=dict)
    source: str = ""
    explanation: str = ""


def first_provider(environ: Mapping[str, str]) -> FirstProvider:
    """Choose from the environment alone."""
    key, base, model = (environ.get(name, "") for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"))
    if not key and not base:
        return FirstProvider(kind="demo", adapter="local", explanation="demo model: tiny, not for work")
    settings: dict[str, object] = {"base_url": base or OPENAI}
    if key:
        settings["api_key"] = key
    if model or not base:
        settings["model"] = model or DEFAULT_MODEL
    source = "OPENAI_API_KEY" if key else "OPENAI_BASE_URL"
    named = f"model {settings['model']}" if "model" in settings else "the first model offered there"
    return FirstProvider(
        kind="environment",
        adapter="openai",
        settings=settings,
        source=source,
        explanation=f"found {source}: messages would go to {shown(base or OPENAI)} ({named}), which may cost money",
    )


def shown(base_url: str) -> str:
    """Return an address as people may see it: without user part, path and query, which may hold a key."""
    parts = urlsplit(base_url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


async def first_model(found: FirstProvider, dialer: Dialer) -> str:
    """Ask the address which models it has and take the first.

    Raises:
        ConfigError: it offers none, or its answer cannot be read.
        ProviderError: there is no answer.
    """
    base = str(found.settings["base_url"])
    parts = urlsplit(base)
    address = urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/models"))
    headers = {"authorization": f"Bearer {found.settings['api_key']}"} if "api_key" in found.settings else {}
    async with dialer.open(HttpRequest(method="GET", url=address, headers=headers, total_s=20)) as response:
        body = await response.read()
        if response.status != 200:
            raise ProviderError(
                f"{shown(base)} answered {response.status} when asked for its models",
                hint="check the key, or name the model in OPENAI_MODEL",
            )
    try:
        return str(orjson.loads(body)["data"][0]["id"])
    except (orjson.JSONDecodeError, KeyError, IndexError, TypeError) as error:
        raise ConfigError(f"{shown(base)} names no model", hint="name it in OPENAI_MODEL") from error


def was_agreed(place: Layout, found: FirstProvider) -> bool:
    """Tell whether the person agreed before to exactly this address."""
    path = place.home / "state" / "agreed"
    try:
        return str(found.settings["base_url"]) in path.read_text().splitlines()
    except FileNotFoundError:
        return False


def remember_consent(place: Layout, found: FirstProvider) -> None:
    """Note that the person agreed to this address."""
    place.prepare()
    path = place.home / "state" / "agreed"
    lines = path.read_text().splitlines() if path.exists() else []
    write_atomic(path, ("\n".join([*lines, str(found.settings["base_url"])]) + "\n").encode(), mode=0o600)
