"""A power failure after any write leaves everything that was acknowledged, and nothing half done."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from benches.soak._disk import Remains, Resize, Sync, SyncFolder, Tape, Write
from ferrule.storage.atomic import make_folder

SECTOR = 512


def lost(subject: str, seeds: str, weaken: str = "") -> tuple[int, dict[str, object], str]:
    """Run the program; returns its exit code, its count and what it said."""
    command = [sys.executable, "-m", "benches.soak.power_loss", "--subject", subject, "--seeds", seeds]
    done = subprocess.run([*command, "--weaken", weaken], capture_output=True, text=True, timeout=55, check=False)
    return done.returncode, json.loads(done.stdout or "{}"), done.stderr


@pytest.mark.parametrize(
    ("subject", "seeds"), [("sessions", "0:50"), ("config", "0:30"), ("home", "0:20"), ("vault", "50:70")]
)
def test_nothing_acknowledged_is_lost(subject: str, seeds: str) -> None:
    code, total, said = lost(subject, seeds)
    assert (code, total.get("lost"), said) == (0, 0, "")


@pytest.mark.parametrize(
    ("subject", "weaken"),
    [
        ("sessions", "synchronous=OFF"),
        ("sessions", "synchronous=NORMAL"),
        ("config", "file-sync"),
        ("home", "folder-sync"),
        ("vault", "file-sync"),
    ],
)
def test_without_its_protection_losses_are_found(subject: str, weaken: str) -> None:
    code, _, said = lost(subject, "0:6", weaken)
    assert code == 1
    assert f"{subject} seed " in said


def left(tape: Tape, folder: Path, seeds: int = 200) -> set[bytes | None]:
    """Return what may be left in the file `a`."""
    found: set[bytes | None] = set()
    for seed in range(seeds):
        place = folder / str(seed)
        place.mkdir()
        Remains(tape, len(tape.acts), random.Random(seed)).write(place)
        found.add((place / "a").read_bytes() if (place / "a").exists() else None)
    return found


def started(root: Path) -> tuple[Tape, int]:
    """Make a tape of a safe, empty file `a`; returns the number of the file, too."""
    tape = Tape(root)
    node = tape.make(f"{tape.root}/a")
    tape.note(SyncFolder(0))
    return tape, node


def test_each_sector_of_an_unsynced_write_is_there_or_not(tmp_path: Path) -> None:
    tape, node = started(tmp_path)
    tape.note(Write(node, 0, b"1" * SECTOR + b"2" * SECTOR))
    zeros = bytes(SECTOR)
    wanted = {b"", b"1" * SECTOR, zeros + b"2" * SECTOR, b"1" * SECTOR + b"2" * SECTOR}
    assert wanted <= left(tape, tmp_path)


def test_a_synced_write_is_there_and_a_failed_sync_promises_nothing(tmp_path: Path) -> None:
    tape, node = started(tmp_path)
    tape.note(Write(node, 0, b"old"))
    tape.note(Sync(node))
    assert left(tape, tmp_path) == {b"old"}
    tape.note(Write(node, 0, b"new"))
    tape.note(Sync(node, failed=True))
    tape.note(Sync(node))
    (tmp_path / "more").mkdir()
    assert left(tape, tmp_path / "more") == {b"old", b"new"}


def test_an_unsynced_cut_happened_or_not(tmp_path: Path) -> None:
    tape, node = started(tmp_path)
    tape.note(Write(node, 0, b"old"))
    tape.note(Sync(node))
    tape.note(Resize(node, 1))
    assert left(tape, tmp_path) == {b"old", b"o"}


def test_a_synced_file_is_lost_with_its_name_and_a_renaming_is_whole(tmp_path: Path) -> None:
    tape, node = started(tmp_path)
    tape.note(Write(node, 0, b"old"))
    tape.note(Sync(node))
    new = tape.make(f"{tape.root}/b")
    tape.note(Write(new, 0, b"new"))
    tape.note(Sync(new))
    tape.rename(f"{tape.root}/b", f"{tape.root}/a")
    assert left(tape, tmp_path) == {b"old", b"new"}
    tape.note(SyncFolder(0))
    (tmp_path / "more").mkdir()
    assert left(tape, tmp_path / "more") == {b"new"}


def test_a_folder_is_made_with_those_above_it_and_an_existing_one_is_fine(tmp_path: Path) -> None:
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        make_folder(tmp_path / "file")
    with pytest.raises(NotADirectoryError):
        make_folder(tmp_path / "file" / "c")
