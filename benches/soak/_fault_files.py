"""What the product does with whole files, piece by piece, for disks that fail in the middle of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from ferrule.app.secrets import forget_secret, keep_secret, rotate_secrets
from ferrule.config.layout import Layout
from ferrule.core.agent import Agent
from ferrule.policy.agent_policy import policy_of
from ferrule.ports.handles import Handles
from ferrule.sandbox.commands import NativeCommands
from ferrule.sandbox.files import WorkspaceFiles
from ferrule.storage.atomic import write_atomic
from ferrule.storage.locks import FileLock
from ferrule.storage.vault import INSTALL, vault_in
from ferrule.testing.gates import TableGate
from ferrule.testing.scripted import ScriptedProvider, ask, call, say
from ferrule.tools.file_write import TOOL as FILE_WRITE
from ferrule.types.access import Allow
from ferrule.types.errors import FerruleError, StoreError

from ._fault_sessions import Acknowledge, Operation
from ._faults import Faults
from ._file_work import change_once, faults_of_config
from ._vault_work import KEY, begin, faults_of_vault

NEW = b"new" * 1_000
Check = Callable[[Path, Sequence[str]], list[str]]


def _config(root: Path, faults: Faults, acknowledge: Acknowledge) -> None:
    for number in range(3):
        change_once(root / "config.toml", number)
        acknowledge(f"config {number}")
    faults.arm()
    change_once(root / "config.toml", 3)
    acknowledge("config 3")


def _write(root: Path, faults: Faults, acknowledge: Acknowledge) -> None:
    write_atomic(root / "plain", b"old")
    faults.arm()
    write_atomic(root / "plain", NEW)
    acknowledge("plain")


def _file_tool(root: Path, faults: Faults, acknowledge: Acknowledge) -> None:
    """A model asks for the file; its tool must say that it failed, and the turn go on."""
    policy = policy_of(level="full", workspace=str(root))
    files = WorkspaceFiles(policy)
    asked = ask(call("file_write", {"path": "plain", "content": NEW.decode()}, id="call_1"))
    gate = TableGate({}, default=Allow(rule="soak"), handles=Handles(files=files, commands=NativeCommands(policy)))
    agent = Agent(ScriptedProvider(asked, say("done")), gate=gate, tools=[FILE_WRITE])

    async def write() -> None:
        await files.write("plain", b"old")
        faults.arm()
        result = await agent.send("go")
        faults.disarm()
        told = next(message for message in agent.session.messages if message.role == "tool")
        if result.status != "completed" or (told.is_error and not told.code):
            raise AssertionError(f"the turn ended as {result.status}, the tool said {told.text!r}")
        if told.is_error:
            raise StoreError(told.text, code=told.code)

    asyncio.run(write())
    acknowledge("plain")


def _lock(root: Path, faults: Faults, acknowledge: Acknowledge) -> None:
    faults.arm()
    with FileLock(root / "lock", timeout_s=0.1):
        acknowledge("lock")


def _plain_faults(root: Path, acknowledged: Sequence[str]) -> list[str]:
    kept = (root / "plain").read_bytes()
    whole = kept == NEW or (kept == b"old" and not acknowledged)
    return [] if whole else ["the file is neither the old nor the new one"]


def _lock_faults(root: Path, _: Sequence[str]) -> list[str]:
    FileLock(root / "lock", timeout_s=0.1).acquire()
    return []


class Secrets:
    """The operations of the vault, in a home that holds secrets already, or none yet."""

    def __init__(self, root: Path, faults: Faults, acknowledge: Acknowledge) -> None:
        self._place = Layout(root / "mine")
        self._faults = faults
        self._acknowledge = acknowledge

    def run(self, step: str) -> None:
        """Prepare, let the disk fail, work; what failed once must work the second time."""
        begin(self._place)
        if step != "first_secret":
            for name in ("one", "two", KEY):
                self._keep(name, f"sk-canary-{name}")
        self._faults.arm()
        try:
            self._step(step)
        except FerruleError:
            self._faults.disarm()
            if not self._faults.lasting and step != "secret_remove":  # which may have removed it
                self._step(step)
            raise
        finally:
            self._faults.disarm()

    def _step(self, step: str) -> None:
        if step == "secret_set":
            self._keep("one", "sk-canary-new")
        elif step == "first_secret":
            self._keep("one", "sk-canary-first")
        elif step == "config_secret":
            self._keep(KEY, "sk-canary-new")
        elif step == "secret_remove":
            self._acknowledge("will two ")
            forget_secret(self._place, {}, "two")
            self._acknowledge("did two ")
        elif step == "secret_rotate":
            self._acknowledge("will rotate")
            if rotate_secrets(self._place, {}).left:
                raise AssertionError("values were left under the old key")
            self._acknowledge("did rotate")
        elif vault_in(self._place.vault, {}).get(INSTALL, "two") != "sk-canary-two":
            raise AssertionError("another secret was read")

    def _keep(self, name: str, value: str) -> None:
        self._acknowledge(f"will {name} {value}")
        keep_secret(self._place, {}, name, value)
        self._acknowledge(f"did {name} {value}")


def _of_vault(step: str) -> Operation:
    def operation(root: Path, faults: Faults, acknowledge: Acknowledge) -> None:
        Secrets(root, faults, acknowledge).run(step)

    return operation


def _vault_faults(root: Path, acknowledged: Sequence[str]) -> list[str]:
    return faults_of_vault(Layout(root / "mine"), acknowledged)


VAULT = ("first_secret", "secret_set", "secret_remove", "secret_rotate", "config_secret", "secret_read")
OPERATIONS: dict[str, tuple[Operation, Check]] = {
    "config": (_config, faults_of_config),
    "write": (_write, _plain_faults),
    "file_tool": (_file_tool, _plain_faults),
    "lock": (_lock, _lock_faults),
    **{step: (_of_vault(step), _vault_faults) for step in VAULT},
}
