"""The secrets of a home, wherever they lie: encrypted at their key of ``config.toml``, or by name in the vault.

A name with a dot is a key of the config, any other a name in the vault, which
the config refers to as ``{ secret = "NAME" }``.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass

from ..config.document import follow, parse, read_bytes
from ..config.edit import Editor
from ..config.layout import Layout
from ..config.problems import Path, dotted
from ..config.rewrite import put, steps
from ..config.root import ADAPTER_ROOTS, DEFAULT
from ..config.secret import named_secrets, namespace_of, sealed_values, secret_at
from ..config.shape import Adapters, shape_of
from ..storage.vault import (
    INSTALL,
    PREFIX,
    Keeper,
    Rotated,
    Vault,
    VaultError,
    agent_namespace,
    check_name,
    check_text,
    vault_in,
)
from ..types.errors import UsageError
from . import discovery

ADAPTERS = Adapters(settings_for=discovery.settings_for, names=discovery.names)
CONFIG = "config.toml"
VAULT = "vault"


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretFacts:
    """One secret, without its value.

    Attributes:
        name: A key of the config, or a name in the vault.
        owner: ``install`` or ``agent/<alias>``.
        kept: ``config.toml``, ``vault``, or "" when it is used and is not there.
        fault: Why it does not open; "" when it does.
        used_by: Keys of the config that refer to it.
    """

    name: str
    owner: str
    kept: str
    fault: str
    used_by: tuple[str, ...] = ()


def keep_secret(place: Layout, environ: Mapping[str, str], name: str, text: str, *, agent: str = "") -> str:
    """Keep a secret, on disk when this returns; returns what to tell the person.

    Raises:
        UsageError: there is no such place for a secret.
        ConfigError: the config would have faults.
        StoreError: it was not kept.
    """
    check_text(text)
    place.prepare()
    vault = vault_in(place.vault, environ)
    if "." in name:
        if agent:
            raise UsageError("a key of the config needs no --agent", hint=f"ferrule secret set {name}")
        _keep_in_config(place, vault, name, text)
        return f"{name}: encrypted in {place.config}"
    owner = _owner(place, agent)
    check_name(name)
    with vault.writing(new_key=not _is_sealed(place)) as writing:
        writing.put(owner, name, text)
    return f'{name}: kept in the vault; the config refers to it as {{ secret = "{name}" }}'


def list_secrets(place: Layout, environ: Mapping[str, str]) -> list[SecretFacts]:
    """List what is kept and what is used; values that do not open are listed with the reason.

    Raises:
        ConfigError: the config is no TOML.
        StoreError: the vault cannot be read.
    """
    place.check()
    vault, data = vault_in(place.vault, environ), _data(place)
    uses: dict[tuple[str, str], list[str]] = {}
    for path, name in named_secrets(data):
        uses.setdefault((namespace_of(path), name), []).append(dotted(path))
    found = [_facts(vault, value, namespace_of(path), dotted(path), CONFIG) for path, value in sealed_values(data)]
    for owner, table in vault.entries().items():
        for name, value in table.items():
            found.append(_facts(vault, value, owner, name, VAULT, tuple(uses.pop((owner, name), ()))))
    for (owner, name), keys in uses.items():
        fault = f"it is not there: ferrule secret set {name}"
        found.append(SecretFacts(name=name, owner=owner, kept="", fault=fault, used_by=tuple(keys)))
    return sorted(found, key=lambda facts: (facts.owner != INSTALL, facts.owner, facts.name))


def is_rotating(place: Layout, environ: Mapping[str, str]) -> bool:
    """Tell whether a rotation has begun and not ended."""
    return vault_in(place.vault, environ).is_rotating


def forget_secret(place: Layout, environ: Mapping[str, str], name: str, *, agent: str = "") -> None:
    """Remove a secret.

    Raises:
        UsageError: there is none, or the config refers to it.
        ConfigError: the config would have faults.
        StoreError: it was not removed.
    """
    place.prepare()
    owner = _owner(place, agent)
    kept = [f for f in list_secrets(place, environ) if f.kept and f.owner == owner]
    found = next((facts for facts in kept if facts.name == name), None)
    if found is None:
        close = difflib.get_close_matches(name, [facts.name for facts in kept], 1)
        hint = f"did you mean {close[0]!r}?" if close else "`ferrule secret list` names them"
        raise UsageError(f"there is no secret {name!r} of {owner}", hint=hint)
    if found.used_by:
        raise UsageError(
            f"{name} is used by {', '.join(found.used_by)}", hint=f"ferrule config unset {found.used_by[0]}"
        )
    if found.kept == CONFIG:
        Editor(path=place.config, adapters=ADAPTERS).unset(name)
        return
    with vault_in(place.vault, environ).writing() as writing:
        writing.remove(owner, name)


def rotate_secrets(place: Layout, environ: Mapping[str, str], *, to: Keeper | None = None) -> Rotated:
    """Encrypt everything with a new key, in the vault, the config and its former versions; resumes what was begun.

    Raises:
        UsageError: the key cannot be changed from here.
        StoreError: something could not be written; repeat.
    """
    place.prepare()
    editor = Editor(path=place.config, adapters=ADAPTERS)
    return vault_in(place.vault, environ).rotate(editor.rewrite, to=to, new_key=not _is_sealed(place))


def _keep_in_config(place: Layout, vault: Vault, key: str, text: str) -> None:
    path = steps(key)
    wanted = {kind: [str(path[1])] for kind in ADAPTER_ROOTS if kind == path[0]}
    if not secret_at(path, shape_of(ADAPTERS, wanted)):
        raise UsageError(f"{key} is no secret", hint=f"ferrule config set {key}")
    editor = Editor(path=place.config, adapters=ADAPTERS)
    with vault.writing(new_key=not _is_sealed(place)) as writing:
        value = writing.seal(text, namespace=namespace_of(path), place=dotted(path))
        editor.set(key, value)
        editor.rewrite(lambda content: _without_plain(content, path, value))


def _without_plain(content: bytes, path: Path, value: str) -> bytes:
    """Former versions of the config do not keep in plain text what was just encrypted."""
    try:
        text = content.decode()
        reached, found = follow(tomllib.loads(text), path)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):
        return content
    plain = reached == path and isinstance(found, str) and not found.startswith(PREFIX)
    return put(text, path, value).encode() if plain else content


def _facts(vault: Vault, value: str, owner: str, name: str, kept: str, used_by: tuple[str, ...] = ()) -> SecretFacts:
    fault = ""
    try:
        vault.open(value, namespace=owner, place=name)
    except VaultError as error:
        fault = str(error)
    return SecretFacts(name=name, owner=owner, kept=kept, fault=fault, used_by=used_by)


def _data(place: Layout) -> Mapping[str, object]:
    return parse(read_bytes(place.config) or b"", str(place.config)).data


def _is_sealed(place: Layout) -> bool:
    """Tell whether the config holds encrypted values: then a key that is missing is not made anew."""
    return PREFIX.encode() in (read_bytes(place.config) or b"")


def _owner(place: Layout, agent: str) -> str:
    if not agent:
        return INSTALL
    agents = _data(place).get("agents")
    known = [DEFAULT, *(agents if isinstance(agents, Mapping) else ())]
    if agent not in known:
        raise UsageError(f"there is no agent {agent!r}", hint=f"known agents: {', '.join(known)}")
    return agent_namespace(agent)
