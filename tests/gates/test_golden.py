"""Snapshots: what others build on changes only on purpose."""

from __future__ import annotations

from pathlib import Path

import ferrule
from ci import golden
from tests.gates._tree import clean, plant

MAX_NAMES = 40


def test_what_others_build_on_is_as_recorded() -> None:
    clean(golden.differences(golden.FOLDER, golden.GOLDENS))


def test_what_is_written_from_the_code_is_what_the_code_says() -> None:
    stale = [name for name, produce in golden.SHIPPED.items() if (golden.ROOT / name).read_text() != produce()]
    assert stale == [], "run `make golden`"


def test_the_public_face_stays_small() -> None:
    assert len(ferrule.__all__) <= MAX_NAMES


def test_every_public_name_can_be_loaded_and_says_what_it_is() -> None:
    loaded = {name: vars(ferrule).get(name) or ferrule.__getattr__(name) for name in ferrule.__all__}
    assert [name for name, value in loaded.items() if value is None] == []


def test_a_changed_missing_or_orphaned_snapshot_is_seen(tmp_path: Path) -> None:
    plant(tmp_path, {"same.txt": "a\n", "changed.txt": "a\n", "orphan.txt": "a\n"})
    goldens = {name: lambda: "a\n" for name in ("same.txt", "missing.txt")} | {"changed.txt": lambda: "b\n"}
    assert [fault.split(":")[0] for fault in golden.differences(tmp_path, goldens)] == [
        "orphan.txt",
        "changed.txt",
        "missing.txt",
    ]
