"""The file handle: what the policy refuses is not opened, whatever path leads there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ferrule.policy.agent_policy import Root, policy_of
from ferrule.sandbox._capture import Capture
from ferrule.sandbox.files import WorkspaceFiles
from ferrule.types.errors import PolicyDenied


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A workspace with a neighbour that holds a secret."""
    (tmp_path / "bot" / "sub").mkdir(parents=True)
    (tmp_path / "bot2").mkdir()
    (tmp_path / "bot2" / "secret.txt").write_text("canary")
    (tmp_path / "bot" / "a.txt").write_text("hello")
    return tmp_path / "bot"


def handle(place: Path, **more: object) -> WorkspaceFiles:
    return WorkspaceFiles(policy_of(level="full", workspace=str(place), **more))  # type: ignore[arg-type]  # tests name real fields


async def test_files_are_read_in_parts(place: Path) -> None:
    found = await handle(place).read("a.txt", max_bytes=3, offset=1)
    assert (found.data, found.size, found.facts.kind) == (b"ell", 5, "file")
    big = place / "big"
    big.write_bytes(b"x" * 2_500_000)
    assert len((await handle(place).read("big", max_bytes=10_000_000)).data) == 2_500_000
    assert (await handle(place).read(str(place / "a.txt"), max_bytes=9, offset=99)).data == b""


@pytest.mark.parametrize("target", ["../bot2/secret.txt", "../bot2", "{root}/bot2"])
async def test_a_link_that_leaves_is_refused_where_plain_opening_leaks(place: Path, target: str) -> None:
    to = target.replace("{root}", str(place.parent))
    (place / "way").symlink_to(to)
    path = "way" if to.endswith("txt") else "way/secret.txt"
    assert (place / path).read_text() == "canary"
    with pytest.raises(PolicyDenied):
        await handle(place).read(path, max_bytes=100)
    with pytest.raises(PolicyDenied):
        await handle(place).write(path, b"spoiled")
    assert (place.parent / "bot2" / "secret.txt").read_text() == "canary"


async def test_a_link_that_stays_inside_works_and_a_loop_ends(place: Path) -> None:
    (place / "inner").symlink_to("sub")
    (place / "again").symlink_to("inner/b.txt")
    await handle(place).write("inner/b.txt", b"b")
    assert (await handle(place).read("again", max_bytes=9)).data == b"b"
    (place / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="loop"):
        await handle(place).read("loop", max_bytes=9)


@pytest.mark.parametrize("path", ["../bot2/secret.txt", "/etc/passwd", "sub/../../bot2/secret.txt", "", "a\0b"])
async def test_paths_outside_are_refused_and_nothing_is_made(place: Path, path: str) -> None:
    before = sorted(place.parent.rglob("*"))
    with pytest.raises(PolicyDenied):
        await handle(place).read(path, max_bytes=9)
    with pytest.raises(PolicyDenied):
        await handle(place).write(f"{path}/x/y" if path and "\0" not in path else path, b"x")
    assert sorted(place.parent.rglob("*")) == before


async def test_a_pipe_does_not_hang_and_a_device_is_capped(place: Path) -> None:
    os.mkfifo(place / "pipe")
    with pytest.raises(PolicyDenied, match="regular"):
        await handle(place).read("pipe", max_bytes=9)
    with pytest.raises(PolicyDenied, match="regular"):
        await handle(place).write("pipe", b"x")
    assert len((await handle(place).read("/dev/zero", max_bytes=10**9)).data) <= 65_536
    with pytest.raises(PolicyDenied):
        await handle(place, unrestricted=True).read("/dev/full", max_bytes=9)


async def test_folders_and_missing_files_are_what_the_system_says(place: Path) -> None:
    files = handle(place)
    with pytest.raises(IsADirectoryError):
        await files.read("sub", max_bytes=9)
    with pytest.raises(IsADirectoryError):
        await files.write("sub", b"x")
    with pytest.raises(FileNotFoundError):
        await files.read("none", max_bytes=9)
    with pytest.raises(FileNotFoundError):
        await files.read("none/none", max_bytes=9)
    with pytest.raises(FileNotFoundError):
        await files.write("none", b"x", create=False)
    with pytest.raises(NotADirectoryError):
        await files.read("a.txt/b", max_bytes=9)


async def test_a_write_is_whole_keeps_the_mode_and_leaves_no_rest(place: Path) -> None:
    (place / "a.txt").chmod(0o640)
    os.link(place / "a.txt", place / "other")
    facts = await handle(place).write("a.txt", b"new" * 200_000)
    assert (facts.size, (place / "a.txt").stat().st_mode & 0o777) == (600_000, 0o640)
    assert (place / "other").read_text() == "hello"
    await handle(place).write("new/deep/b.txt", b"b")
    assert (place / "new/deep/b.txt").read_text() == "b"
    assert not [p for p in place.rglob("*") if "tmp" in p.name]


async def test_a_long_name_of_many_bytes_can_be_written(place: Path) -> None:
    name = "好" * 84
    await handle(place).write(name, b"x")
    assert (place / name).read_bytes() == b"x"


async def test_listing_and_walking_do_not_follow_links_and_leave_out_what_is_kept(place: Path) -> None:
    (place / "sub" / "b.py").write_text("")
    (place / "sub" / "way").symlink_to("../../bot2")
    (place / "keep").mkdir()
    (place / "keep" / "key").write_text("")
    files = handle(place, forbidden=(str(place / "keep"),))
    listed, more = await files.list(".", limit=2)
    assert ([f.path for f in listed], more) == (["a.txt", "keep"], True)
    assert [f.path async for f in files.walk(".")] == ["a.txt", "sub", "sub/b.py", "sub/way"]
    assert (await files.facts("sub")).kind == "directory"
    root = WorkspaceFiles(policy_of(level="full", workspace=str(place), roots=(Root("/", "read"),)))
    assert (await root.facts("/")).kind == "directory"
    many = place / "many"
    many.mkdir()
    for i in range(600):
        (many / f"{i:03}").touch()
    assert len([f async for f in files.walk("many")]) == 600


SWAP = """
import os, sys
place = sys.argv[1]
print("ready", flush=True)
while True:
    os.symlink("../bot2", place + "/new")
    os.rename(place + "/new", place + "/way")
    os.unlink(place + "/way")
    os.mkdir(place + "/way")
    open(place + "/way/secret.txt", "w").write("inside")
    os.unlink(place + "/way/secret.txt")
    os.rmdir(place + "/way")
"""


async def test_a_link_that_is_swapped_in_meanwhile_never_leads_outside(place: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", SWAP, str(place)], stdout=subprocess.PIPE) as swapper:
        assert swapper.stdout is not None
        swapper.stdout.readline()
        seen = set()
        for _ in range(1_500):
            try:
                seen.add((await handle(place).read("way/secret.txt", max_bytes=99)).data)
            except (PolicyDenied, OSError):
                continue
        swapper.kill()
    assert seen <= {b"inside", b""}


def test_what_is_captured_is_bounded_with_exact_counts() -> None:
    capture = Capture(30)
    assert capture.feed("好".encode()[:2]) == ""
    assert capture.feed("好".encode()[2:]) == "好"
    for _ in range(100):
        capture.feed(b"0123456789")
    text = capture.text()
    assert capture.total == 1003
    assert "973 of 1,003 bytes left out" in text
    assert text.startswith("好")
    assert text.endswith("0123456789")
    small = Capture(30)
    small.feed(b"short")
    assert small.text() == "short"


async def test_a_link_into_what_makes_git_run_programs_is_not_written_through(tmp_path: Path) -> None:
    place = tmp_path / "w"
    (place / ".git").mkdir(parents=True)
    (place / ".git" / "config").write_text("old")
    (place / "notes").symlink_to(".git/config")
    (place / "g").symlink_to(".git")
    own = WorkspaceFiles(policy_of(level="full", workspace=str(place)))
    for path in ("notes", "g/config"):
        with pytest.raises(PolicyDenied) as caught:
            await own.write(path, b"new")
        assert caught.value.code == "path.runs_code"
    assert (place / ".git" / "config").read_text() == "old"
    await own.write(".git/config", b"new")  # a person was asked for exactly this path
    assert (await own.read("notes", max_bytes=10)).data == b"new"
