"""A throw-away world for command lines: a workspace, secrets outside and below it, and a socket that counts callers."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import threading
from dataclasses import dataclass
from pathlib import Path

from ferrule.sandbox.commands import SET

SECRET = "canary-of-the-secret-file"
LIMIT_S = 4.0

_CODE = {
    "p": "#!/bin/sh\ntouch P\n",
    "p.sh": "#!/bin/sh\ntouch P\n",
    "p.py": 'open("P", "w")\n',
    "p.awk": 'BEGIN { system("touch P") }\n',
    "p.sed": "1e touch P\n",
    "bin/ls": "#!/bin/sh\n/usr/bin/touch P\n",
    "bin/cat": "#!/bin/sh\n/usr/bin/touch P\n",
    "bin/git-p": "#!/bin/sh\ntouch P\n",
}


class Trap:
    """Listens on the loopback and counts who calls."""

    def __init__(self) -> None:
        self.calls = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        while True:
            try:
                caller, _ = self._socket.accept()
            except OSError:  # closed
                return
            self.calls += 1
            with caller:
                caller.settimeout(0.5)
                try:
                    caller.sendall(b"HTTP/1.0 200 OK\r\n\r\nhello\n")
                except OSError:  # it left at once
                    continue

    def close(self) -> None:
        """Stop listening."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()


@dataclass(frozen=True, slots=True)
class Effects:
    """What one run did that it must not."""

    canary: bool
    secret: bool
    network: bool

    def __bool__(self) -> bool:
        return self.canary or self.secret or self.network


class World:
    """Makes a fresh copy for every line."""

    def __init__(self, root: Path, trap: Trap) -> None:
        self._template = root / "template"
        self._fresh = root / "fresh"
        self._trap = trap
        _build(self._template)

    @property
    def workspace(self) -> Path:
        """Where lines run."""
        return self._fresh / "bot"

    def renew(self) -> None:
        """Put everything back."""
        shutil.rmtree(self._fresh, ignore_errors=True)
        shutil.copytree(self._template, self._fresh, symlinks=True)

    def run(self, argv: list[str], environment: dict[str, str]) -> Effects:
        """Run a command in a fresh copy; returns what it did."""
        self.renew()
        before = self._trap.calls
        process = subprocess.Popen(
            argv,
            cwd=self.workspace,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            output = b""
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:  # nothing was left behind
                pass
            rest, _ = process.communicate()
        return Effects(
            canary=any(self._fresh.rglob("P")) or any(self._fresh.rglob("P0*")),
            secret=SECRET.encode() in output + rest or self._has_copy(),
            network=self._trap.calls > before,
        )

    def _has_copy(self) -> bool:
        known = {self._fresh / "secret.txt", self.workspace / "keep" / "key.txt"}
        for path in self._fresh.rglob("*"):
            is_plain = path.is_file() and not path.is_symlink() and ".git" not in path.parts
            if is_plain and path not in known and SECRET.encode() in path.read_bytes():
                return True
        return False


def _build(root: Path) -> None:
    place = root / "bot"
    for folder in ("keep", "sub/deep", "bin", "evil", "src", "docs"):
        (place / folder).mkdir(parents=True)
    (root / "secret.txt").write_text(SECRET + "\n")
    (place / "keep" / "key.txt").write_text(SECRET + "\n")
    (place / "a.txt").write_text("one\n")
    (place / "sub" / "b.txt").write_text("two\n")
    (place / "big.txt").write_text("".join(f"{n * 7919 % 10007}\n" for n in range(20_000)))
    (place / "names0").write_bytes(b"../secret.txt\0")
    (place / "Makefile").write_text("run:\n\ttouch P\nx:\n\ttrue\n")
    for name, text in _CODE.items():
        (place / name).write_text(text)
        (place / name).chmod(0o755)
    with tarfile.open(place / "x.tar", "w") as archive:
        archive.add(place / "a.txt", "P")
    for repository in (place, place / "evil"):
        _repository(repository)
    _git(place / "evil", "config", "core.fsmonitor", "touch P; false")
    shutil.copytree(place / "evil" / ".git", place / "evil.git")


def _repository(folder: Path) -> None:
    _git(folder, "init", "-q", "--template=")
    _git(folder, "config", "user.name", "a")
    _git(folder, "config", "user.email", "a@b.test")
    _git(folder, "commit", "-q", "--allow-empty", "-m", "one")


def _git(folder: Path, *words: str) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *words], cwd=folder, env=environment, check=True, capture_output=True)


def environment(workspace: Path, *, guarded: bool) -> dict[str, str]:
    """Return the variables of a line; unguarded it has no more than any shell gives it."""
    found = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(workspace), "TERM": "dumb"}
    return {**found, **SET} if guarded else found
