"""Files are written whole, links and modes stay, locks exclude."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

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


@pytest.mark.parametrize("path", ["file/a", "n" * 300, "loop"])
def test_a_path_that_cannot_be_is_an_error_with_its_name(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(StoreError, match="could not be written"):
        write_atomic(tmp_path / path, b"x")
    assert sorted(os.listdir(tmp_path)) == ["file", "loop"]


@contextmanager
def folder_of_nobody() -> Iterator[Path]:
    """Give a folder, and run without the rights of root, who may do everything."""
    users = os.getresuid()
    with TemporaryDirectory() as name:
        if users[1] == 0:
            os.chown(name, 65534, -1)
            os.setresuid(65534, 65534, 0)
        try:
            yield Path(name)
        finally:
            os.setresuid(*users)


def test_a_file_that_was_replaced_but_perhaps_not_for_good_is_not_called_unwritten() -> None:
    with folder_of_nobody() as folder:
        folder.chmod(0o300)  # entries can be made, the folder itself cannot be opened
        with pytest.raises(StoreError, match="was written, but") as caught:
            write_atomic(folder / "a", b"new")
        folder.chmod(0o700)
        assert "power" in str(caught.value)
        assert caught.value.hint
        assert os.listdir(folder) == ["a"]
        assert (folder / "a").read_bytes() == b"new"


def test_a_folder_that_may_not_be_changed_is_an_error() -> None:
    with folder_of_nobody() as folder:
        write_atomic(folder / "a", b"old")
        folder.chmod(0o500)
        with pytest.raises(StoreError, match="could not be written"):
            write_atomic(folder / "a", b"new")
        assert (folder / "a").read_bytes() == b"old"
        folder.chmod(0o700)


def test_a_file_keeps_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.touch()
    if os.geteuid() == 0:  # only root may give files away
        os.chown(path, 65534, 65534)
    before = path.stat()
    write_atomic(path, b"x")
    assert (path.stat().st_uid, path.stat().st_gid) == (before.st_uid, before.st_gid)


def test_rests_of_dead_writers_are_removed_and_those_of_living_ones_stay() -> None:
    with folder_of_nobody() as folder:
        mine, of_root = f".ferrule-{os.getpid()}-ab.tmp", ".ferrule-1-ab.tmp"
        for name in (".ferrule-999999999-ab.tmp", ".ferrule-x-ab.tmp", mine, of_root):
            (folder / name).touch()
        assert remove_leftovers(folder) == 2
        assert sorted(os.listdir(folder)) == sorted([of_root, mine])


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


def test_a_lock_on_what_is_no_file_is_an_error_and_leaves_nothing_open(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "lock", 0o600)
    before = len(os.listdir("/proc/self/fd"))
    lock = FileLock(tmp_path / "lock")
    with pytest.raises(StoreError, match="lock"):
        lock.acquire()
    assert len(os.listdir("/proc/self/fd")) == before
    lock.release()
