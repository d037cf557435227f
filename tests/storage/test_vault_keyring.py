"""The key of the vault in the desktop's keyring."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest

from ferrule.storage.vault import INSTALL, KeyMissing, KeyRefused, Move, Vault, vault_in
from tests.storage._keyring import Drawer


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return vault_in(tmp_path / "vault", {})


@pytest.fixture
def drawer() -> Iterator[Drawer]:
    before, drawer = keyring.get_keyring(), Drawer()
    keyring.set_keyring(drawer)
    yield drawer
    keyring.set_keyring(before)


def put(vault: Vault, name: str, text: str) -> None:
    with vault.writing() as writing:
        writing.put(INSTALL, name, text)


def nowhere(_: Move) -> None:
    """There is no other text with encrypted values."""


def key_of(vault: Vault) -> Path:
    return vault.folder / "key"


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


def test_a_keyring_that_takes_nothing_leaves_a_rotation_that_goes_on_later(vault: Vault, drawer: Drawer) -> None:
    put(vault, "a", "1")
    drawer.full = True
    with pytest.raises(KeyRefused, match="keyring cannot be written: it is full"):
        vault.rotate(nowhere, to="keyring")
    assert vault_in(vault.folder, {}).get(INSTALL, "a") == "1"
    put(vault, "b", "2")
    drawer.full = False
    assert vault.rotate(nowhere).resumed
    assert [vault_in(vault.folder, {}).get(INSTALL, name) for name in "ab"] == ["1", "2"]
    assert key_of(vault).read_text().startswith("keyring:")


def test_an_old_entry_is_removed_when_the_keyring_answers_again(vault: Vault, drawer: Drawer) -> None:
    put(vault, "a", "1")
    vault.rotate(nowhere, to="keyring")
    drawer.full = True
    with pytest.raises(KeyRefused, match="it is full"):
        vault.rotate(nowhere, to="file")
    assert vault_in(vault.folder, {}).get(INSTALL, "a") == "1"
    drawer.full = False
    put(vault, "b", "2")
    assert drawer.entries == {}
    old = vault.folder / "key.old"
    old.write_text("keyring:gone-already")
    old.chmod(0o600)
    put(vault, "c", "3")
    assert not old.exists()


def test_a_home_whose_key_is_in_the_keyring_says_when_the_package_is_missing(vault: Vault, drawer: Drawer) -> None:
    put(vault, "a", "1")
    vault.rotate(nowhere, to="keyring")
    code = (
        "import sys, pathlib; sys.modules['keyring'] = None;"
        "from ferrule.storage.vault import *;"
        f"v = vault_in(pathlib.Path({str(vault.folder)!r}), {{}});\n"
        "try: v.get(INSTALL, 'a')\n"
        "except KeyMissing as e: print(e, e.hint)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "the package keyring is not installed pip install 'ferrule[keyring]'" in done.stdout
