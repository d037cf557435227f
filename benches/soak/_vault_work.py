"""Secrets that are kept, replaced, removed and encrypted anew, and whether what was acknowledged is there."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ferrule.app.secrets import forget_secret, keep_secret, list_secrets, rotate_secrets
from ferrule.config.layout import Layout
from ferrule.storage.atomic import write_atomic
from ferrule.storage.vault import INSTALL, vault_in

NAMES = ("one", "two", "three")
KEY = "providers.openai.main.api_key"
START = '# mine\n[providers.openai.main]\nmodel = "m"   # kept\n'
EXPECTED = {"config.toml", "config.toml.bak", "config.toml.bak.1", "config.toml.lock", "logs", "state", "vault"}
IN_VAULT = {"key", "lock", "secrets.json"}
Say = Callable[[str], object]


@dataclass(slots=True)
class Known:
    """What the product acknowledged, and what was on its way.

    Attributes:
        values: By name; "" for one that was removed.
        pending: Name and value of the change that had begun; name "" when none had.
        rotated: How many rotations were acknowledged.
        begun: Whether a rotation had begun when the process died.
    """

    values: dict[str, str] = field(default_factory=dict)
    pending: tuple[str, str] = ("", "")
    rotated: int = 0
    begun: bool = False
    acknowledged: int = 0

    def hear(self, line: str) -> None:
        """Take one line of the child."""
        what, _, rest = line.partition(" ")
        name, _, value = rest.partition(" ")
        if what == "will":
            self.pending, self.begun = (name, value), name == "rotate"
            return
        self.acknowledged += 1
        self.pending, self.begun = ("", ""), False
        if name == "rotate":
            self.rotated += 1
        else:
            self.values[name] = value


def begin(place: Layout) -> None:
    """Make the home and its config, without secrets."""
    place.prepare()
    write_atomic(place.config, START.encode(), mode=0o600)


def change(place: Layout, chance: random.Random, first: str, say: Say, numbers: Iterable[int]) -> None:
    """Change something for each number, and say so before and afterwards."""
    for number in numbers:
        what, value = chance.choice((*NAMES, KEY, "rotate")), f"sk-canary-{first}-{number}"
        if what == "rotate":
            say("will rotate")
            rotate_secrets(place, {})
            say("did rotate")
        elif what in NAMES and chance.random() < 0.2 and vault_in(place.vault, {}).get(INSTALL, what) is not None:
            say(f"will {what} ")
            forget_secret(place, {}, what)
            say(f"did {what} ")
        else:
            say(f"will {what} {value}")
            keep_secret(place, {}, what, value)
            say(f"did {what} {value}")


def compare(place: Layout, known: Known) -> list[str]:
    """Open everything; returns what differs from what was acknowledged, and takes what is there as known."""
    found = [f"{facts.name}: {facts.fault}" for facts in list_secrets(place, {}) if facts.fault]
    vault = vault_in(place.vault, {})
    kept = {name: vault.get(INSTALL, name) or "" for name in NAMES}
    text = place.config.read_text()
    value = text.partition('api_key = "')[2].partition('"')[0]
    kept[KEY] = vault.open(value, namespace=INSTALL, place=KEY) if value else ""
    if not text.startswith(START.rstrip("\n")):
        found.append("the rest of the config is not there")
    for name, there in kept.items():
        allowed = {known.values.get(name, "")}
        if known.pending[0] == name:
            allowed.add(known.pending[1])
        if there not in allowed:
            found.append(f"{name}: {sorted(allowed)} was acknowledged, {there!r} is there")
        known.values[name] = there
    return found


def left_behind(place: Layout, former: set[str]) -> list[str]:
    """Look, after a rotation, for files, former keys and readable secrets."""
    behind = {path.name for path in place.vault.iterdir()} - IN_VAULT
    behind |= {path.name for path in place.home.iterdir()} - EXPECTED
    readable = b"".join(path.read_bytes() for path in place.home.rglob("*") if path.is_file())
    behind |= {"a former key" for key in former - keys(place) if key.encode() in readable}
    behind |= {"a secret"} if b"canary" in readable else set()
    return [f"left behind: {name}" for name in sorted(behind)]


def keys(place: Layout) -> set[str]:
    """Return the keys that are there."""
    return set(vault_in(place.vault, {}).remember())


def faults_of_vault(place: Layout, acknowledged: Sequence[str]) -> list[str]:
    """Judge what is left of a home; then change its key, keep a secret, and judge again."""
    known = Known()
    for line in acknowledged:
        known.hear(line)
    if not place.config.exists() and not known.acknowledged:
        return []  # nothing was said yet
    found = compare(place, known)
    former = keys(place)
    found += [f"{name}: does not open after the rotation" for name in rotate_secrets(place, {}).left]
    known.pending = ("", "")
    found += compare(place, known) + left_behind(place, former)
    keep_secret(place, {}, NAMES[0], "sk-canary-later")
    known.values[NAMES[0]] = "sk-canary-later"
    return found + compare(place, known)
