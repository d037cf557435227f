"""Where things lie below ``$FERRULE_HOME``, and who may look. Imports what every start needs anyway."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..storage.atomic import make_folder
from ..types.errors import ConfigError

PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600
_ABSOLUTE = "write an absolute path"


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths below one home folder."""

    home: Path

    @property
    def config(self) -> Path:
        """What the operator writes."""
        return self.home / "config.toml"

    @property
    def sessions(self) -> Path:
        """Conversations, as SQLite."""
        return self.home / "state" / "sessions.db"

    @property
    def approvals(self) -> Path:
        """What people allowed for always."""
        return self.home / "state" / "approvals.json"

    @property
    def vault(self) -> Path:
        """Secrets, and the key that opens them."""
        return self.home / "vault"

    @property
    def log(self) -> Path:
        """The log that is being written; rotated ones lie beside it as ``.1``, ``.2``."""
        return self.home / "logs" / "ferrule.jsonl"

    def workspace(self, alias: str) -> Path:
        """The folder an agent works in unless its table names another."""
        return self.home / "workspaces" / alias

    def prepare(self) -> None:
        """Create the home, readable by its owner only.

        Raises:
            ConfigError: the home is open to others, is no folder, or cannot be made.
        """
        try:
            for folder in (self.home, self.sessions.parent, self.log.parent):
                make_folder(folder, PRIVATE_FOLDER)
        except OSError as error:
            raise ConfigError(
                f"the home {str(self.home)!r} cannot be made: {error.strerror}",
                hint="name a folder that you may write to in FERRULE_HOME",
                code="config.home",
            ) from error
        self.check()

    def check(self) -> None:
        """Refuse a home that others may enter; an absent one is fine.

        Raises:
            ConfigError: group or others may read, write or enter it.
        """
        try:
            found = self.home.stat()
        except FileNotFoundError:
            return
        except OSError as error:
            raise ConfigError(
                f"the home {str(self.home)!r} cannot be looked at: {error.strerror}",
                hint="name a folder of your own in FERRULE_HOME",
                code="config.home",
            ) from error
        mode = stat.S_IMODE(found.st_mode)
        if not stat.S_ISDIR(found.st_mode):
            raise ConfigError(
                f"the home {str(self.home)!r} is a file", hint="name a folder in FERRULE_HOME", code="config.home"
            )
        if mode & 0o077:
            raise ConfigError(
                f"the home {str(self.home)!r} is open to others (mode {mode:04o})",
                hint=f"chmod 700 {self.home}",
                code="config.home",
            )


def layout(environ: Mapping[str, str]) -> Layout:
    """Find the home: ``FERRULE_HOME``, else ``~/.ferrule``.

    Raises:
        ConfigError: the variable holds a relative path, which would name another
            folder after each ``cd``; names a user who is not there; or is not UTF-8.
    """
    name = "FERRULE_HOME" if environ.get("FERRULE_HOME") else "HOME"
    value = environ.get(name) or "~"
    try:
        home = Path(value).expanduser()
    except RuntimeError as error:  # expanduser knows no such user
        raise ConfigError(f"{name} is {value!r}: there is no such user", hint=_ABSOLUTE, code="config.home") from error
    if not home.is_absolute():
        raise ConfigError(f"{name} is the relative path {value!r}", hint=_ABSOLUTE, code="config.home")
    if not _is_utf8(value):
        raise ConfigError(f"{name} is {value!r}: that is not UTF-8", hint=_ABSOLUTE, code="config.home")
    return Layout(Path(os.path.normpath(home if name == "FERRULE_HOME" else home / ".ferrule")))


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
