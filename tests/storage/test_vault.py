"""The vault on disk: key, named secrets, rotation."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest

from ferrule.storage.vault import (
    INSTALL,
    ForeignNamespace,
    KeyMissing,
    KeyRefused,
    Move,
    Swapped,
    Vault,
    VaultError,
    WrongKey,
    agent_namespace,
    vault_in,
)
from ferrule.storage.vault.cipher import new_key
from ferrule.types.errors import StoreError, UsageError
from tests.storage._keyring import Drawer

ANNA = agent_namespace("anna")


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return vault_in(tmp_path / "vault", {})


@pytest.fixture
def drawer() -> Iterator[Drawer]:
    before, drawer = keyring.get_keyring(), Drawer()
    keyring.set_keyring(drawer)
    yield drawer
    keyring.set_keyring(before)


def put(vault: Vault, name: str, text: str, namespace: str = INSTALL) -> None:
    with vault.writing() as writing:
        writing.put(namespace, name, text)


def nowhere(_: Move) -> None:
    """There is no other text with encrypted values."""


def key_of(vault: Vault) -> Path:
    return vault.folder / "key"


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_was_put_is_there_for_the_next_process_and_nothing_is_readable_on_disk(vault: Vault) -> None:
    put(vault, "openai", "sk-canary-1")
    put(vault, "openai", "sk-canary-2", ANNA)
    again = vault_in(vault.folder, {})
    assert again.get(INSTALL, "openai") == "sk-canary-1"
    assert again.get(ANNA, "openai") == "sk-canary-2"
    assert again.get(INSTALL, "other") is None
    assert again.get("agent/ben", "openai") is None
    for path in vault.folder.iterdir():
        assert b"canary" not in path.read_bytes()


def test_a_home_without_secrets_is_read_without_making_anything(vault: Vault) -> None:
    assert vault.entries() == {}
    assert vault.get(INSTALL, "x") is None
    assert vault.remember() == ()
    assert not vault.folder.exists()


def test_removing_forgets_one_and_keeps_the_others(vault: Vault) -> None:
    put(vault, "a", "1")
    put(vault, "b", "2")
    with vault.writing() as writing:
        assert writing.remove(INSTALL, "a")
        assert not writing.remove(INSTALL, "a")
        assert not writing.remove(ANNA, "b")
    assert vault.entries().keys() == {INSTALL}
    assert (vault.get(INSTALL, "a"), vault.get(INSTALL, "b")) == (None, "2")
    with vault.writing() as writing:
        writing.remove(INSTALL, "b")
    assert vault.entries() == {}


def test_folder_key_and_secrets_are_the_owners_whatever_the_umask(vault: Vault) -> None:
    before = os.umask(0)
    try:
        put(vault, "a", "1")
        vault.rotate(nowhere)
    finally:
        os.umask(before)
    assert mode_of(vault.folder) == 0o700
    assert {path.name: mode_of(path) for path in vault.folder.iterdir()} == {
        "key": 0o600,
        "lock": 0o600,
        "secrets.json": 0o600,
    }


def test_a_key_is_never_made_over_another(vault: Vault) -> None:
    vault.folder.mkdir()
    present = new_key().text
    key_of(vault).write_text(present)
    key_of(vault).chmod(0o600)
    put(vault, "a", "1")
    assert key_of(vault).read_text() == present


def test_two_at_once_make_one_key_and_lose_nothing(vault: Vault) -> None:
    writers = [threading.Thread(target=put, args=(vault_in(vault.folder, {}), f"n{i}", str(i))) for i in range(6)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [vault.get(INSTALL, f"n{i}") for i in range(6)] == ["0", "1", "2", "3", "4", "5"]


@pytest.mark.parametrize("name", ["key", "secrets.json"])
def test_files_that_others_can_read_are_refused_with_the_fix(vault: Vault, name: str) -> None:
    put(vault, "a", "sk-canary")
    path = vault.folder / name
    path.chmod(0o644)
    with pytest.raises(KeyRefused, match="can be read by others") as raised:
        vault_in(vault.folder, {}).get(INSTALL, "a")
    assert raised.value.hint == f"chmod 600 {path}"
    with pytest.raises(KeyRefused):
        put(vault, "b", "2")
    with pytest.raises(KeyRefused):
        vault.rotate(nowhere)
    path.chmod(0o600)
    assert vault.get(INSTALL, "a") == "sk-canary"


def test_another_key_in_the_file_is_named_and_nothing_is_overwritten(vault: Vault) -> None:
    put(vault, "a", "1")
    kept = vault.path.read_bytes()
    key_of(vault).write_text(new_key().text)
    other = vault_in(vault.folder, {})
    with pytest.raises(WrongKey):
        other.get(INSTALL, "a")
    assert other.rotate(nowhere).left == ("a",)
    put(other, "b", "2")
    assert other.get(INSTALL, "b") == "2"
    assert other.entries()[INSTALL]["a"].encode() in kept


def test_without_the_key_nothing_is_made_and_the_values_stay(vault: Vault) -> None:
    put(vault, "a", "1")
    kept = vault.path.read_bytes()
    key_of(vault).unlink()
    lost = vault_in(vault.folder, {})
    for attempt in (lambda: lost.get(INSTALL, "a"), lambda: put(lost, "b", "2"), lambda: lost.rotate(nowhere)):
        with pytest.raises(KeyMissing) as raised:
            attempt()
        assert "backup" in str(raised.value.hint)
    assert not key_of(vault).exists()
    assert vault.path.read_bytes() == kept
    with lost.writing() as writing:
        assert writing.remove(INSTALL, "a"), "who has lost the key can begin anew"
    put(lost, "b", "2")
    assert lost.get(INSTALL, "b") == "2"


def test_a_key_is_not_made_when_values_lie_elsewhere(vault: Vault) -> None:
    with vault.writing(new_key=False) as writing, pytest.raises(KeyMissing):
        writing.put(INSTALL, "a", "1")
    with pytest.raises(KeyMissing):
        vault.rotate(nowhere, new_key=False)
    assert not key_of(vault).exists()


@pytest.mark.parametrize("content", [b"", b"no key", b"\xff\xfe", b"0" * 63, b"z" * 64])
def test_a_damaged_key_is_refused_without_showing_it(vault: Vault, content: bytes) -> None:
    put(vault, "a", "1")
    key_of(vault).write_bytes(content)
    with pytest.raises(KeyRefused, match="holds no key") as raised:
        vault_in(vault.folder, {}).get(INSTALL, "a")
    assert str(key_of(vault)) in str(raised.value)
    assert not content or content.decode("latin-1") not in str(raised.value).replace("holds no key", "")


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"install": []}', b'{"install": {"a": "plain"}}', b"\xff"])
def test_a_damaged_file_of_secrets_is_refused_and_left_alone(vault: Vault, content: bytes) -> None:
    put(vault, "a", "1")
    vault.path.write_bytes(content)
    for attempt in (lambda: vault.get(INSTALL, "a"), lambda: put(vault, "b", "2"), lambda: vault.rotate(nowhere)):
        with pytest.raises(VaultError, match=r"secrets\.json is damaged"):
            attempt()
    assert vault.path.read_bytes() == content


def test_what_cannot_be_read_is_not_the_same_as_absent(vault: Vault) -> None:
    put(vault, "a", "1")
    for name in ("key", "secrets.json"):
        (vault.folder / name).unlink()
        (vault.folder / name).mkdir(mode=0o700)
        with pytest.raises(VaultError, match="cannot be read: Is a directory"):
            vault_in(vault.folder, {}).get(INSTALL, "a")


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(VaultError, match="cannot be made: Not a directory"):
        put(vault_in(tmp_path / "file" / "vault", {}), "a", "1")


def test_swapped_entries_are_refused_each_with_its_reason(vault: Vault) -> None:
    put(vault, "a", "1")
    put(vault, "b", "2")
    put(vault, "a", "3", ANNA)
    text = vault.path.read_text()
    entries = vault.entries()
    a, b, theirs = entries[INSTALL]["a"], entries[INSTALL]["b"], entries[ANNA]["a"]
    vault.path.write_text(text.replace(a, "X").replace(b, a).replace("X", b))
    with pytest.raises(Swapped, match="encrypted for b, and stands at a"):
        vault.get(INSTALL, "a")
    vault.path.write_text(text.replace(a, theirs))
    with pytest.raises(ForeignNamespace, match="belongs to agent/anna"):
        vault.get(INSTALL, "a")


def test_the_key_may_come_from_the_environment_and_no_file_is_made(tmp_path: Path) -> None:
    first, second = new_key().text, new_key().text
    vault = vault_in(tmp_path / "vault", {"FERRULE_KEY": first})
    put(vault, "a", "sk-1")
    assert not key_of(vault).exists()
    assert first not in repr(vault)
    assert vault.remember() == (first,)
    with pytest.raises(UsageError, match="FERRULE_KEY, which this program cannot change"):
        vault.rotate(nowhere)
    both = vault_in(vault.folder, {"FERRULE_KEY": f"{second},{first}"})
    with pytest.raises(UsageError, match="FERRULE_KEY is set"):
        both.rotate(nowhere, to="file")
    assert both.rotate(nowhere).moved == 1
    assert vault_in(vault.folder, {"FERRULE_KEY": second}).get(INSTALL, "a") == "sk-1"
    with pytest.raises(WrongKey):
        vault_in(vault.folder, {"FERRULE_KEY": first}).get(INSTALL, "a")
    with pytest.raises(KeyRefused, match="FERRULE_KEY holds no key"):
        vault_in(vault.folder, {"FERRULE_KEY": "canary"}).get(INSTALL, "a")


def test_a_rotation_moves_everything_and_the_old_key_is_gone(vault: Vault, tmp_path: Path) -> None:
    put(vault, "a", "1")
    put(vault, "b", "2", ANNA)
    with vault.writing() as writing:
        elsewhere = writing.seal("3", namespace=INSTALL, place="providers.x.y.key")
    text = tmp_path / "text"
    text.write_text(f"before # {elsewhere} after {elsewhere[:-3]}!")
    old = key_of(vault).read_text()

    def move(moved: Move) -> None:
        text.write_bytes(moved(text.read_bytes()))

    done = vault.rotate(move)
    assert (done.resumed, done.moved, done.left) == (False, 3, ("a value that is not whole",))
    fresh = vault_in(vault.folder, {})
    assert (fresh.get(INSTALL, "a"), fresh.get(ANNA, "b")) == ("1", "2")
    before, _, rest = text.read_text().partition("enc2:")
    value = "enc2:" + rest.partition(" ")[0]
    assert fresh.open(value, namespace=INSTALL, place="providers.x.y.key") == "3"
    assert (before, rest.partition(" ")[2]) == ("before # ", f"after {elsewhere[:-3]}!")
    assert old not in "".join(path.read_text() for path in vault.folder.iterdir())
    assert fresh.rotate(nowhere).moved == 2


class Killed(BaseException):
    """The process ends here."""


def test_a_rotation_that_stops_outside_leaves_both_keys_and_goes_on(vault: Vault) -> None:
    put(vault, "a", "1")
    with vault.writing() as writing:
        outside = writing.seal("2", namespace=INSTALL, place="p")

    def stop(_: Move) -> None:
        raise Killed

    with pytest.raises(Killed):
        vault.rotate(stop)
    for reader in (vault, vault_in(vault.folder, {})):
        assert reader.get(INSTALL, "a") == "1"
        assert reader.open(outside, namespace=INSTALL, place="p") == "2"
    put(vault, "b", "3")
    moved: list[bytes] = []
    done = vault_in(vault.folder, {}).rotate(lambda move: moved.append(move(outside.encode())))
    assert (done.resumed, done.moved) == (True, 1), "what was written meanwhile is under the new key already"
    fresh = vault_in(vault.folder, {})
    assert [fresh.get(INSTALL, name) for name in "ab"] == ["1", "3"]
    assert fresh.open(moved[0].decode(), namespace=INSTALL, place="p") == "2"
    assert sorted(path.name for path in vault.folder.iterdir()) == ["key", "lock", "secrets.json"]


def test_an_old_key_that_was_left_behind_is_removed_by_the_next_change(vault: Vault) -> None:
    put(vault, "a", "1")
    (vault.folder / "key.old").write_text(new_key().text)
    (vault.folder / "key.old").chmod(0o600)
    put(vault, "b", "2")
    assert not (vault.folder / "key.old").exists()


def test_a_reader_that_began_before_a_rotation_opens_what_it_read(vault: Vault) -> None:
    put(vault, "a", "1")
    reader = vault_in(vault.folder, {})
    reader.remember()
    value = reader.entries()[INSTALL]["a"]
    vault.rotate(nowhere)
    assert reader.open(value, namespace=INSTALL, place="a") == "1"
    assert reader.get(INSTALL, "a") == "1"


def test_a_key_that_comes_from_outside_is_not_replaced(vault: Vault, tmp_path: Path) -> None:
    mounted = tmp_path / "mounted"
    mounted.write_text(new_key().text)
    mounted.chmod(0o600)
    vault.folder.mkdir()
    key_of(vault).symlink_to(mounted)
    put(vault, "a", "1")
    with pytest.raises(UsageError, match="comes from outside") as raised:
        vault.rotate(nowhere)
    assert "FERRULE_KEY=" in str(raised.value.hint)
    assert key_of(vault).is_symlink()
    assert vault.get(INSTALL, "a") == "1"


def test_the_keyring_keeps_the_key_when_it_was_chosen(vault: Vault, drawer: Drawer) -> None:
    put(vault, "a", "1")
    assert drawer.entries == {}, "nobody chose it"
    old = key_of(vault).read_text().strip()
    assert vault.rotate(nowhere, to="keyring").moved == 1
    (entry,) = drawer.entries.values()
    files = "".join(path.read_text() for path in vault.folder.iterdir())
    assert entry not in files
    assert old not in files
    assert vault_in(vault.folder, {}).get(INSTALL, "a") == "1"
    put(vault, "b", "2")
    assert vault.rotate(nowhere).moved == 2
    assert list(drawer.entries.values()) != [entry], "a new key, and the old one is gone"
    assert len(drawer.entries) == 1
    assert vault.rotate(nowhere, to="file").moved == 2
    assert drawer.entries == {}
    assert vault_in(vault.folder, {}).get(INSTALL, "b") == "2"


def test_a_keyring_that_fails_is_named_and_loses_nothing(vault: Vault, drawer: Drawer) -> None:
    put(vault, "a", "1")
    drawer.locked = True
    with pytest.raises(KeyRefused, match="keyring cannot be read: it is locked"):
        vault.rotate(nowhere, to="keyring")
    assert vault_in(vault.folder, {}).get(INSTALL, "a") == "1", "nothing was begun"
    drawer.locked = False
    vault.rotate(nowhere, to="keyring")
    (account,) = drawer.entries
    text = drawer.entries.pop(account)
    with pytest.raises(KeyMissing, match="the keyring has no entry"):
        vault_in(vault.folder, {}).get(INSTALL, "a")
    drawer.entries[account] = text
    assert vault.get(INSTALL, "a") == "1"
    drawer.locked = True
    assert vault_in(vault.folder, {}).remember() == (), "the fault is told by the values that need it"
    with pytest.raises(KeyRefused, match="it is locked"):
        vault_in(vault.folder, {}).get(INSTALL, "a")


def test_the_first_key_of_a_home_may_go_to_the_keyring(vault: Vault, drawer: Drawer) -> None:
    assert vault.rotate(nowhere, to="keyring").moved == 0
    put(vault, "a", "1")
    assert len(drawer.entries) == 1
    assert key_of(vault).read_text().startswith("keyring:")


def test_a_key_that_cannot_be_kept_leaves_nothing_behind(vault: Vault) -> None:
    vault.folder.mkdir(mode=0o700)
    key_of(vault).symlink_to(vault.folder / "absent" / "key")
    with pytest.raises(StoreError, match="cannot be made: File exists"):
        put(vault, "a", "1")
    assert sorted(path.name for path in vault.folder.iterdir()) == ["key", "lock"]


def test_cryptography_and_keyring_are_imported_only_when_they_are_needed() -> None:
    code = (
        "import sys, ferrule.config.load, ferrule.storage.vault as v, pathlib;"
        "v.vault_in(pathlib.Path('/nowhere'), {}).remember();"
        "print([m for m in ('cryptography', 'keyring') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"
