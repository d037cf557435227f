"""Changes to ``config.toml`` by program: comments stay, the whole is judged first, nothing is lost on the way.

One change is: lock, read, change the text, judge the result, check that
nothing but the wanted key differs, keep the former file as
``config.toml.bak``, write durably. Two writers wait for each other; an editor
that read an older version gets a conflict.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath

from ..ports.adapter import Kind
from ..storage.atomic import make_folder, remove_leftovers, write_atomic
from ..storage.locks import FileLock
from ..types.errors import ConfigError, StoreError
from .document import digest_of, parse, read_bytes
from .layout import PRIVATE_FILE, PRIVATE_FOLDER
from .load import Surroundings, judge
from .migrate import MIGRATIONS, Migration, migrated, version_of
from .overrides import read_value
from .problems import InvalidConfig, Path, Problem, dotted
from .rewrite import lead, put, remove, steps
from .root import ADAPTER_ROOTS
from .shape import Adapters, Shape, shape_of

LOCK_TIMEOUT_S = 30.0


class Conflict(ConfigError):
    """The file changed since it was read; nothing was written."""

    code = "config.conflict"


@dataclass(frozen=True, slots=True, kw_only=True)
class Editor:
    """Changes one file.

    Attributes:
        path: The file; a link stays a link.
        adapters: Which adapters there are, to judge their tables.
    """

    path: FilePath
    adapters: Adapters

    def begin(self, text: str) -> None:
        """Write the first config of a home.

        Raises:
            InvalidConfig: it has faults; nothing was written.
            Conflict: there is one already.
        """

        def whole(before: str) -> str:
            if before:
                raise Conflict(f"there is a config already: {self.path}", hint="`ferrule config set` changes it")
            self._judge(text)
            return text

        self._rewrite(whole, None)

    def set(self, key: str, text: str, *, expected: str | None = None) -> None:
        """Set a key; `text` is TOML, or plain text where it cannot be read as TOML.

        Args:
            key: The dotted key.
            text: The value.
            expected: The digest of the version that the caller has seen; None takes any.

        Raises:
            InvalidConfig: the result would have faults; nothing was written.
            UsageError: the key is none.
            Conflict: the file is not the one that was seen.
        """
        path = steps(key)
        value = read_value(text, path, self._shape(path))
        self.change(path, lambda before: put(before, path, value), expected)

    def unset(self, key: str, *, expected: str | None = None) -> None:
        """Remove a key or a table.

        Raises:
            InvalidConfig: the result would have faults; nothing was written.
            UsageError: the key is none, or not in the file.
            Conflict: the file is not the one that was seen.
        """
        path = steps(key)
        self.change(path, lambda before: remove(before, path), expected)

    def migrate(self, *, steps: tuple[Migration, ...] = MIGRATIONS) -> tuple[int, int]:
        """Bring the file to the newest version; returns the versions before and after.

        Raises:
            InvalidConfig: the file is newer than this program, or the result would have faults.
        """
        newest = len(steps) + 1
        before = version_of(parse(read_bytes(self.path) or b"", str(self.path)), newest=newest)
        if before < newest:
            self._rewrite(lambda text: lead(text, migrated(tomllib.loads(text), before, steps=steps)), None)
        return before, newest

    def change(self, path: Path, change: Callable[[str], str], expected: str | None = None) -> None:
        """Rewrite the text, provided that nothing but the value at `path` differs and the result has no fault."""

        def checked(before: str) -> str:
            after = change(before)
            if _without(tomllib.loads(before), path) != _without(tomllib.loads(after), path):
                raise self._refusal(path, "the change would touch other keys, too", "edit the file by hand")
            self._judge(after)
            return after

        self._rewrite(checked, expected)

    def rewrite(self, change: Callable[[bytes], bytes]) -> None:
        """Rewrite values of the file, and of its two former versions, that keep their meaning: no version is kept.

        The texts are not judged: a fault elsewhere in them keeps no secret from being encrypted anew.

        Raises:
            StoreError: one of them could not be written; repeat.
        """
        target = FilePath(os.path.realpath(self.path))
        try:
            if not target.parent.is_dir():
                return
            with FileLock(target.with_name(f"{target.name}.lock"), LOCK_TIMEOUT_S):
                for folder in {target.parent, self.path.parent}:
                    remove_leftovers(folder)
                for path in (self.path, self._backup(), self._backup(".1")):
                    content = read_bytes(path)
                    after = change(content) if content is not None else None
                    if after is not None and after != content:
                        write_atomic(path, after)
        except OSError as error:
            raise self._failed(error) from error

    def _backup(self, older: str = "") -> FilePath:
        return self.path.with_name(f"{self.path.name}.bak{older}")

    def _rewrite(self, change: Callable[[str], str], expected: str | None) -> None:
        target = FilePath(os.path.realpath(self.path))
        try:
            make_folder(target.parent, PRIVATE_FOLDER)
            with FileLock(target.with_name(f"{target.name}.lock"), LOCK_TIMEOUT_S):
                for folder in {target.parent, self.path.parent}:
                    remove_leftovers(folder)
                self._exchange(change, expected)
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> StoreError:
        return StoreError(
            f"{self.path} could not be changed: {error.strerror}",
            hint="free space, check the disk or correct the permissions, then repeat",
        )

    def _exchange(self, change: Callable[[str], str], expected: str | None) -> None:
        content = read_bytes(self.path)
        if expected is not None and digest_of(content) != expected:
            raise Conflict(f"{self.path} changed since it was read", hint="read it again, then repeat the change")
        before = content or b""
        parse(before, str(self.path))
        after = change(before.decode()).encode()
        if content is None:
            write_atomic(self.path, after, mode=PRIVATE_FILE)
        elif after != content:
            self._keep(content)
            write_atomic(self.path, after)

    def _keep(self, content: bytes) -> None:
        """Keep the former file beside the config, and the one before that; both may hold secrets."""
        if self._backup().exists():
            os.replace(self._backup(), self._backup(".1"))
        write_atomic(self._backup(), content, mode=PRIVATE_FILE)

    def _judge(self, text: str) -> None:
        """Judge the file alone: no override hides a fault, no variable needs to be set."""
        judge(text.encode(), str(self.path), Surroundings(adapters=self.adapters, environ={}, flags={}, agents=()))

    def _shape(self, path: Path) -> Shape:
        adapter = [str(path[1])] if len(path) > 1 else []
        wanted: dict[Kind, list[str]] = {kind: adapter for kind in ADAPTER_ROOTS if kind == path[0]}
        return shape_of(self.adapters, wanted)

    def _refusal(self, path: Path, cause: str, hint: str) -> InvalidConfig:
        return InvalidConfig([Problem(where=str(self.path), key=dotted(path), cause=cause, hint=hint)])


def _without(data: Mapping[str, object], path: Path) -> dict[str, object]:
    """Return the data without one key, and without the tables that hold nothing else."""
    rest = dict(data)
    inner = rest.pop(str(path[0]), None)
    if len(path) > 1 and isinstance(inner, Mapping):
        kept = _without(inner, path[1:])
        if kept:
            rest[str(path[0])] = kept
    return rest
