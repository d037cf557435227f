"""Files are written whole, links and modes stay, locks exclude."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ferrule.storage.atomic import remove_leftovers, write_atomic
from ferrule.storage.locks import FileLock, LockHeld
from ferrule.types.errors import StoreError


def test_a_new_file_is_private_and_an_old_one_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_atomic(path, b"one")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"one", 0o600)
    path.chmod(0o640)
    write_atomic(path, b"two")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"two", 0o640)
    write_atomic(path, b"three", mode=0o600)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["a"]


def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"one")
    link.symlink_to("real")
    write_atomic(link, b"two")
    assert link.is_symlink()
    assert real.read_bytes() == b"two"


def test_a_failed_write_leaves_the_old_content_and_no_rest(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="could not be written") as caught:
        write_atomic(tmp_path / "missing" / "a", b"x")
    assert caught.value.hint
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError):
        write_atomic(tmp_path / "folder", b"x")
    assert os.listdir(tmp_path) == ["folder"]


def test_rests_of_dead_writers_are_removed_and_those_of_living_ones_stay(tmp_path: Path) -> None:
    (tmp_path / ".ferrule-999999999-ab.tmp").touch()
    (tmp_path / ".ferrule-x-ab.tmp").touch()
    (tmp_path / f".ferrule-{os.getpid()}-ab.tmp").touch()
    (tmp_path / ".ferrule-1-ab.tmp").touch()
    assert remove_leftovers(tmp_path) == 2
    assert sorted(os.listdir(tmp_path)) == sorted([".ferrule-1-ab.tmp", f".ferrule-{os.getpid()}-ab.tmp"])


def test_a_held_lock_names_its_holder(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with FileLock(path):
        with pytest.raises(LockHeld, match=str(os.getpid())):
            FileLock(path, timeout_s=0.02).acquire()
    lock = FileLock(path)
    lock.acquire()
    lock.release()
    lock.release()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_lock_that_cannot_be_made_is_an_error_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="missing"):
        FileLock(tmp_path / "missing" / "lock").acquire()
