"""Where the key comes from: ``FERRULE_KEY``, else a file of the vault, which may point into the keyring.

The files, each written whole or not at all:

    key       the key, or ``keyring:<account>``
    key.next  the key of a rotation that has begun; it is there until every value is moved
    key.old   the former key, between the end of a rotation and its removal
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from ...types.errors import UsageError
from ..atomic import sync_folder, write_atomic
from ..private import readable_by_others
from . import os_keyring
from .cipher import Key, new_key, read_key
from .errors import KeyMissing, KeyRefused, VaultError

VARIABLE = "FERRULE_KEY"
Keeper = Literal["file", "keyring"]
"""Where a new key is kept."""

_POINTER = "keyring:"


class Keys(Protocol):
    """The keys of one home, and how they change.

    A rotation is `begin`, moving the values, `end`; each can be repeated, and
    `load` opens every value at any moment between.
    """

    def load(self) -> tuple[Key, ...]:
        """Return the keys, the one that new values are written with first; () when there is none yet.

        Raises:
            KeyRefused: a key must not or cannot be used.
        """
        ...

    def make(self) -> None:
        """Make the first key, where there is none.

        Raises:
            VaultError: it could not be kept.
        """
        ...

    def begin(self, to: Keeper | None) -> bool:
        """Have a new key beside the old one; tells whether a rotation was under way already.

        Raises:
            UsageError: this cannot be done here.
        """
        ...

    def end(self) -> None:
        """Let go of the old key."""
        ...

    def settle(self) -> None:
        """Remove an old key whose removal was interrupted."""
        ...

    def is_rotating(self) -> bool:
        """Tell whether a rotation has begun and not ended."""
        ...


def keys_of(folder: Path, environ: Mapping[str, str]) -> Keys:
    """Choose where the keys of a vault come from."""
    text = environ.get(VARIABLE, "")
    return EnvironmentKeys(text) if text else FileKeys(folder)


@dataclass(frozen=True, slots=True)
class EnvironmentKeys:
    """``FERRULE_KEY``: one key, or the new one, a comma and the old one."""

    text: str

    def __repr__(self) -> str:
        """Hide the text."""
        return f"EnvironmentKeys({VARIABLE})"

    def load(self) -> tuple[Key, ...]:
        """Read the variable."""
        return tuple(read_key(part, VARIABLE) for part in self.text.split(","))

    def make(self) -> None:
        """There is a key: the variable is set."""

    def begin(self, to: Keeper | None) -> bool:
        """Need two keys: the program cannot change the variable."""
        if to is not None:
            raise UsageError(
                f"{VARIABLE} is set, so no key is kept elsewhere",
                hint=f"--to goes without {VARIABLE} in the environment",
            )
        if len(self.load()) < 2:
            raise UsageError(
                f"the key comes from {VARIABLE}, which this program cannot change",
                hint=f"put a new key before the old one: {VARIABLE}=$(openssl rand -hex 32),${VARIABLE}",
            )
        return False

    def end(self) -> None:
        """Whoever set the variable takes the old key out of it."""

    def settle(self) -> None:
        """Nothing of ours is left behind."""

    def is_rotating(self) -> bool:
        """Tell whether there is an old key, too."""
        return "," in self.text


@dataclass(frozen=True, slots=True)
class FileKeys:
    """The files of the vault's folder; whoever writes holds the vault's lock."""

    folder: Path

    @property
    def path(self) -> Path:
        """The file of the key."""
        return self.folder / "key"

    @property
    def _next(self) -> Path:
        return self.folder / "key.next"

    @property
    def _old(self) -> Path:
        return self.folder / "key.old"

    def load(self) -> tuple[Key, ...]:
        """Read both files; a new key that did not reach the keyring yet is none."""
        found = [_key_of(self._next), _key_of(self.path)]
        keys = tuple(key for key in found if key is not None)
        if not keys and _is_there(self.path):
            raise KeyMissing(f"the keyring has no entry for {self.path}", hint="restore it, or set the secrets again")
        return keys

    def make(self) -> None:
        """Make the key file, or the entry of the keyring that it points to."""
        _fill(self._next if _is_there(self._next) else self.path, "file")

    def begin(self, to: Keeper | None) -> bool:
        """Make ``key.next``; a rotation that was under way keeps the place that it chose."""
        under_way = _is_there(self._next)
        if not under_way:
            self._refuse_mounted()
        here: Keeper = "keyring" if (_read(self.path) or "").startswith(_POINTER) else "file"
        _fill(self._next, to or here)
        return under_way

    def end(self) -> None:
        """Put the new key in the old one's place, then remove the old one."""
        former = _read(self.path)
        if former is not None:
            write_atomic(self._old, former.encode(), mode=0o600)
        try:
            os.replace(self._next, self.path)
            sync_folder(self.folder)
        except OSError as error:
            raise VaultError(f"{self.path} cannot be replaced: {error.strerror}", hint="repeat the rotation") from error
        self.settle()

    def settle(self) -> None:
        """Remove ``key.old``, unless it is still in use."""
        if _is_there(self._next):
            return
        former = _read(self._old)
        if former is None:
            return
        if former.startswith(_POINTER):
            os_keyring.remove(former.removeprefix(_POINTER))
        self._old.unlink()
        sync_folder(self.folder)

    def is_rotating(self) -> bool:
        """Tell whether ``key.next`` is there."""
        return _is_there(self._next)

    def _refuse_mounted(self) -> None:
        """A key that comes from outside would come back at the next start, and open nothing."""
        found = self.path.stat() if self.path.exists() else None
        if self.path.is_symlink() or (found is not None and found.st_uid != os.geteuid()):
            raise UsageError(
                f"the key {self.path} comes from outside",
                hint=f"change it there: {VARIABLE}=<new key>,<old key> ferrule secret rotate",
            )


def _is_there(path: Path) -> bool:
    try:
        path.stat()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise KeyRefused(f"{path} cannot be looked at: {error.strerror}", hint=f"ls -l {path}") from error
    return True


def _key_of(path: Path) -> Key | None:
    text = _read(path)
    if text is not None and text.startswith(_POINTER):
        text = os_keyring.look_up(text.removeprefix(_POINTER))
        return None if text is None else read_key(text, f"the keyring entry of {path}")
    return None if text is None else read_key(text, str(path))


def _read(path: Path) -> str | None:
    try:
        if readable_by_others(path):
            raise KeyRefused(f"{path} can be read by others", hint=f"chmod 600 {path}")
        return path.read_text("ascii").strip()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise KeyRefused(f"{path} holds no key", hint="restore it from a backup") from None
    except OSError as error:
        raise KeyRefused(f"{path} cannot be read: {error.strerror}", hint=f"ls -l {path}") from error


def _fill(path: Path, keeper: Keeper) -> None:
    """Have a key behind `path`: make the file if it is not there, and the entry that it points to."""
    text = _read(path)
    if text is None:
        account = secrets.token_hex(8)
        text = new_key().text if keeper == "file" else f"{_POINTER}{account}"
        if keeper == "keyring":
            os_keyring.look_up(account)  # one that does not answer is found out before anything points to it
        _create(path, text)
    account = text.removeprefix(_POINTER)
    if text.startswith(_POINTER) and os_keyring.look_up(account) is None:
        os_keyring.store(account, new_key().text)


def _create(path: Path, text: str) -> None:
    """Create a file, private, whole or not at all; an existing one is never replaced.

    Raises:
        VaultError: it was not created.
    """
    temporary = path.with_name(f".ferrule-{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(descriptor, "w") as file:
            os.fchmod(descriptor, 0o600)
            file.write(f"{text}\n")
            file.flush()
            os.fsync(descriptor)
        os.link(temporary, path)
        sync_folder(path.parent)
    except OSError as error:
        cause = f"the key {path} cannot be made: {error.strerror}"
        raise VaultError(cause, hint="free space or correct the permissions, then repeat") from error
    finally:
        with suppress(OSError):  # what kept us from writing may keep us from removing: the first cause is told
            temporary.unlink(missing_ok=True)
