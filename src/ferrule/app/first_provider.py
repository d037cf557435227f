"""Which model answers when the operator has configured none.

A key or an address in the environment wins; else the demo model of this
process. Nothing is sent anywhere before the person agreed once.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import SplitResult, urlsplit, urlunsplit

import orjson

from ..config.layout import Layout
from ..ports.dialer import Dialer, HttpRequest
from ..storage.atomic import write_atomic
from ..types.errors import ConfigError, ProviderError

DEFAULT_MODEL = "gpt-5.4-mini"
"""Used with the vendor's own address when OPENAI_MODEL does not say otherwise."""

OPENAI = "https://api.openai.com/v1"

_ADDRESS = re.compile(r"[!-~]+|[^\s\x00-\x20\x7f-\xa0\ud800-\udfff]+")
_KEY = re.compile(r"[!-~]*")
_DIGEST = re.compile(rb"[0-9a-f]{64}")


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
    """Choose from the environment alone.

    Space around a value, and quotes that a file of variables left there, are
    no part of it. An address that cannot be used is found by
    `checked_address`, so that it harms nobody who configured another provider.
    """
    key, base, model = (_value(environ, name) for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"))
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


def _value(environ: Mapping[str, str], name: str) -> str:
    value = environ.get(name, "").strip()
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1].strip() if quoted else value


def shown(base_url: str) -> str:
    """Return an address as people may see it: without user part, path and query, which may hold a key."""
    try:
        parts = urlsplit(base_url)
    except ValueError:
        return "an address that cannot be read"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def checked_address(found: FirstProvider) -> SplitResult:
    """Return the parts of the address.

    Raises:
        ConfigError: it, or the key, cannot be used.
    """
    base, key = str(found.settings["base_url"]), str(found.settings.get("api_key", ""))
    hint = "write it as https://HOST/v1, or http://HOST:PORT/v1"
    try:
        parts = urlsplit(base)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError as error:
        raise ConfigError("OPENAI_BASE_URL is no address: its host or port cannot be read", hint=hint) from error
    if not usable or not _ADDRESS.fullmatch(base):
        raise ConfigError(f"OPENAI_BASE_URL is no http or https address: {shown(base)}", hint=hint)
    if not _KEY.fullmatch(key):
        raise ConfigError(
            "OPENAI_API_KEY holds a space, a line end or a letter that no key has", hint="copy the key again, alone"
        )
    return parts


async def first_model(found: FirstProvider, dialer: Dialer) -> str:
    """Ask the address which models it has and take the first.

    Raises:
        ConfigError: it offers none, or its answer cannot be read.
        ProviderError: there is no answer.
    """
    base, parts = str(found.settings["base_url"]), checked_address(found)
    address = urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/models"))
    headers = {"authorization": f"Bearer {found.settings['api_key']}"} if "api_key" in found.settings else {}
    async with dialer.open(HttpRequest(method="GET", url=address, headers=headers, total_s=20)) as response:
        body = await response.read()
        if response.status != 200:
            raise ProviderError(
                f"{shown(base)} answered {response.status} when asked for its models",
                hint="check OPENAI_BASE_URL and OPENAI_API_KEY, or name the model in OPENAI_MODEL",
            )
    try:
        return str(orjson.loads(body)["data"][0]["id"])
    except (orjson.JSONDecodeError, KeyError, IndexError, TypeError) as error:
        raise ConfigError(f"{shown(base)} names no model", hint="name it in OPENAI_MODEL") from error


def was_agreed(place: Layout, found: FirstProvider) -> bool:
    """Tell whether the person agreed before to exactly this address.

    Raises:
        OSError: the note of it cannot be read.
    """
    return _digest(found) in _agreed(place)


def remember_consent(place: Layout, found: FirstProvider) -> None:
    """Note that the person agreed to this address: its digest, since an address may hold a key.

    Raises:
        StoreError: the note cannot be written.
    """
    place.prepare()
    lines = _agreed(place)
    if _digest(found) not in lines:
        write_atomic(_note(place), b"".join(line + b"\n" for line in [*lines, _digest(found)]), mode=0o600)


def _note(place: Layout) -> Path:
    return place.home / "state" / "agreed"


def _agreed(place: Layout) -> list[bytes]:
    try:
        lines = _note(place).read_bytes().splitlines()
    except FileNotFoundError:
        return []
    return [line for line in lines if _DIGEST.fullmatch(line)]


def _digest(found: FirstProvider) -> bytes:
    address = str(found.settings["base_url"]).encode("utf-8", "surrogatepass")
    return hashlib.sha256(b"ferrule: messages may go to " + address).hexdigest().encode()
