"""The vault of one home: opens and seals values, keeps named secrets, changes its key.

The secrets lie in one JSON file of encrypted values, ``{namespace: {name:
value}}``, which is replaced whole. Reading takes no lock; everything that
writes takes the vault's lock first, then perhaps the config's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from ..atomic import make_folder, remove_leftovers, write_atomic
from ..locks import FileLock
from ..private import readable_by_others
from .cipher import Key, opened, seal, unseal
from .codec import PREFIX, TOKENS, read_sealed
from .errors import KeyMissing, KeyRefused, VaultError, WrongKey
from .keys import Keeper, Keys, keys_of

LOCK_TIMEOUT_S = 30.0
Entries = dict[str, dict[str, str]]
Move = Callable[[bytes], bytes]
"""Takes a text and returns it with every encrypted value under the new key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotated:
    """What a rotation did.

    Attributes:
        resumed: Whether it went on with one that was interrupted.
        moved: How many values are under the new key now.
        left: Places of values that could not be opened and were left as they are.
    """

    resumed: bool
    moved: int
    left: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Vault:
    """The secrets of one home.

    Attributes:
        folder: The vault's folder; it need not be there.
        keys: Where the key comes from.
    """

    folder: Path
    keys: Keys
    _known: list[Key] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def path(self) -> Path:
        """The file of the named secrets."""
        return self.folder / "secrets.json"

    @property
    def is_rotating(self) -> bool:
        """Whether a rotation was interrupted: then both keys are there."""
        return self.keys.is_rotating()

    def open(self, value: str, *, namespace: str, place: str) -> str:
        """Decrypt a value where it stands.

        Raises:
            VaultError: it cannot be opened; each reason has a class of its own.
        """
        try:
            return unseal(value, self._known, namespace=namespace, place=place)
        except (KeyMissing, WrongKey):
            self._known[:] = self.keys.load()
            return unseal(value, self._known, namespace=namespace, place=place)

    def remember(self) -> tuple[str, ...]:
        """Read the keys before the values, so that a rotation meanwhile closes none; returns them, for the guard.

        Keys that cannot be read are the fault of the values that need them.
        """
        try:
            self._known[:] = self.keys.load()
        except VaultError:
            return ()
        return tuple(key.text for key in self._known)

    def entries(self) -> Entries:
        """Return the encrypted values of the named secrets.

        Raises:
            KeyRefused: others can read the file.
            VaultError: it cannot be read.
        """
        try:
            if readable_by_others(self.path):
                raise KeyRefused(f"{self.path} can be read by others", hint=f"chmod 600 {self.path}")
            return _entries(self.path.read_bytes())
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise VaultError(f"{self.path} cannot be read: {error.strerror}", hint=f"ls -l {self.path}") from error
        except ValueError:
            raise VaultError(f"{self.path} is damaged", hint="restore it from a backup") from None

    def get(self, namespace: str, name: str) -> str | None:
        """Return a named secret; None when there is none.

        Raises:
            VaultError: it cannot be opened.
        """
        value = self.entries().get(namespace, {}).get(name)
        return None if value is None else self.open(value, namespace=namespace, place=name)

    @contextmanager
    def writing(self, *, new_key: bool = True) -> Iterator[Writing]:
        """Hold the vault for changes.

        Args:
            new_key: Whether a key may be made where there is none: not when encrypted values exist elsewhere.

        Raises:
            VaultError: the vault cannot be read or made.
            LockHeld: somebody else holds it.
        """
        with self._locked():
            entries = self.entries()
            yield Writing(self, entries, new_key and not any(entries.values()))

    def rotate(self, elsewhere: Callable[[Move], None], *, to: Keeper | None = None, new_key: bool = True) -> Rotated:
        """Encrypt everything with a new key, then let go of the old one.

        A process that dies on the way leaves both keys, so that each value
        opens; the next rotation goes on from there.

        Args:
            elsewhere: Applies a `Move` to every text outside the vault that may hold encrypted values.
            to: Where the new key is kept; None means where the present one is.
            new_key: As for `writing`.

        Raises:
            KeyMissing: there is no key, and there are values that need one.
            UsageError: the key cannot be changed from here.
            VaultError: something could not be written; repeat.
        """
        with self._locked():
            filled = any(self.entries().values())
            if filled or not new_key:
                self.writing_key()
            resumed = self.keys.begin(to)
            moving = _Moving(self.keys.load())
            if filled:
                write_atomic(self.path, moving.move(self.path.read_bytes()), mode=0o600)
            elsewhere(moving.move)
            self.keys.end()
            return Rotated(resumed=resumed, moved=moving.moved, left=tuple(dict.fromkeys(moving.left)))

    def writing_key(self) -> Key:
        """Return the key that new values are encrypted with.

        Raises:
            KeyMissing: there is none.
        """
        keys = self.keys.load()
        if not keys:
            raise KeyMissing(
                "there is no key, and there are values that were encrypted with one",
                hint="restore the key from a backup, or remove those values; `ferrule secret list` names them",
            )
        return keys[0]

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            make_folder(self.folder)
        except OSError as error:
            raise VaultError(f"{self.folder} cannot be made: {error.strerror}", hint=f"ls -ld {self.folder}") from error
        with FileLock(self.folder / "lock", LOCK_TIMEOUT_S):
            try:
                remove_leftovers(self.folder)
                self.keys.settle()
                yield
            except OSError as error:  # of the disk, wherever it failed: the files are whole, old or new
                raise VaultError(
                    f"the vault {self.folder} could not be changed: {error.strerror}",
                    hint="free space, check the disk or correct the permissions, then repeat",
                ) from error


@dataclass(frozen=True, slots=True)
class Writing:
    """The vault, held for changes."""

    _vault: Vault
    _entries: Entries
    _new_key: bool

    def seal(self, text: str, *, namespace: str, place: str) -> str:
        """Encrypt a text for one place; the first of a home makes the key.

        Raises:
            KeyMissing: there is no key, and there are values that need one.
            VaultError: the text is too long, or the key cannot be used.
        """
        if self._new_key:
            self._vault.keys.make()
        return seal(text, self._vault.writing_key(), namespace=namespace, place=place)

    def put(self, namespace: str, name: str, text: str) -> None:
        """Keep a named secret; on disk when this returns.

        Raises:
            StoreError: it was not kept.
        """
        table = {**self._entries.get(namespace, {}), name: self.seal(text, namespace=namespace, place=name)}
        self._write({**self._entries, namespace: table})

    def remove(self, namespace: str, name: str) -> bool:
        """Forget a named secret; tells whether there was one.

        Raises:
            StoreError: it was not removed.
        """
        table = dict(self._entries.get(namespace, {}))
        if table.pop(name, None) is None:
            return False
        self._write({**self._entries, namespace: table})
        return True

    def _write(self, entries: Entries) -> None:
        kept = {namespace: table for namespace, table in entries.items() if table}
        write_atomic(
            self._vault.path, orjson.dumps(kept, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS), mode=0o600
        )
        self._entries.clear()
        self._entries.update(kept)


@dataclass(slots=True)
class _Moving:
    """Encrypts values anew, whatever text they stand in: each says itself where it belongs."""

    keys: tuple[Key, ...]
    moved: int = 0
    left: list[str] = field(default_factory=list)

    def move(self, text: bytes) -> bytes:
        return TOKENS.sub(lambda found: self._one(found[0].decode()).encode(), text)

    def _one(self, value: str) -> str:
        try:
            sealed = read_sealed(value)
        except VaultError:
            self.left.append("a value that is not whole")
            return value
        if sealed.key_id == self.keys[0].id:
            return value
        try:
            text = opened(sealed, self.keys)
        except VaultError:
            self.left.append(sealed.place)
            return value
        self.moved += 1
        return seal(text, self.keys[0], namespace=sealed.namespace, place=sealed.place)


def vault_in(folder: Path, environ: Mapping[str, str]) -> Vault:
    """Find the vault of a folder; nothing is read or made."""
    return Vault(folder, keys_of(folder, environ))


def _entries(content: bytes) -> Entries:
    found = orjson.loads(content)
    if not isinstance(found, dict) or not all(_is_table(table) for table in found.values()):
        raise ValueError("not a table of tables")
    return found


def _is_table(table: object) -> bool:
    return isinstance(table, dict) and all(isinstance(v, str) and v.startswith(PREFIX) for v in table.values())
