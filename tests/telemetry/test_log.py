from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextvars import copy_context
from pathlib import Path

import pytest

from ferrule.ports.guard import StreamGuard
from ferrule.telemetry.log import WAITING, start_logging
from ferrule.telemetry.rotated import KEPT, RotatedFile, older
from ferrule.types.log_context import bound

LOG = logging.getLogger("ferrule.tests")


class OneSecret:
    """A guard that knows one secret."""

    def __init__(self, secret: str) -> None:
        self.secret = secret

    def clean(self, text: str) -> str:
        """Mask it."""
        return text.replace(self.secret, "***")

    def stream(self) -> StreamGuard:
        """The log guards whole lines."""
        raise AssertionError("the log has no streams")


Start = Callable[..., Callable[[], None]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "logs" / "ferrule.jsonl"


@pytest.fixture
def start(path: Path) -> Iterator[Start]:
    """Start the log, and stop it also when the test fails."""
    stops: list[Callable[[], None]] = []

    def begin(level: str = "info", secret: str = "sk-1", max_bytes: int = 1_000_000) -> Callable[[], None]:
        stop = start_logging(path, level, OneSecret(secret), max_bytes=max_bytes)
        stops.append(stop)

        def once() -> None:
            stops.remove(stop)
            stop()

        return once

    yield begin
    for stop in stops:
        stop()


def entries(path: Path) -> list[dict[str, object]]:
    """Read a log file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_record_is_one_json_line_with_time_level_logger_and_message(path: Path, start: Start) -> None:
    stop = start()
    LOG.info("read %d\nlines", 3)
    stop()
    (entry,) = entries(path)
    assert (entry["level"], entry["logger"], entry["message"]) == ("info", "ferrule.tests", "read 3\nlines")
    assert isinstance(entry["at_ms"], int)
    assert entry["at_ms"] > 1_600_000_000_000


async def test_ids_are_those_of_the_task_that_logged(path: Path, start: Start) -> None:
    stop = start()

    async def turn(name: str) -> None:
        with bound({"turn": name, "agent": f"agent_{name}"}):
            await asyncio.sleep(0)
            LOG.info(name)

    await asyncio.gather(turn("one"), turn("two"))
    LOG.info("outside")
    stop()
    found = {entry["message"]: (entry.get("turn"), entry.get("agent")) for entry in entries(path)}
    assert found == {"one": ("one", "agent_one"), "two": ("two", "agent_two"), "outside": (None, None)}


def test_ids_are_carried_into_threads(path: Path, start: Start) -> None:
    stop = start()
    with bound({"session": "ses_1"}):
        thread = threading.Thread(target=copy_context().run, args=(LOG.info, "in a thread"))
        thread.start()
        thread.join()
    stop()
    assert entries(path)[0]["session"] == "ses_1"


def test_secrets_are_masked_in_messages_errors_ids_and_other_libraries_records(path: Path, start: Start) -> None:
    secret = 'sk-"quoted"'
    stop = start(secret=secret)
    logging.getLogger("some.library").warning("sent %s", [secret])
    with bound({"request": secret}):
        try:
            raise ValueError(f"refused {secret}")
        except ValueError:
            LOG.exception("failed")
    stop()
    assert "quoted" not in path.read_text()
    sent, failed = entries(path)
    assert sent["message"] == "sent ['***']"
    assert failed["request"] == "***"
    assert str(failed["error"]).endswith("ValueError: refused ***")


def test_the_level_decides_what_is_kept_and_is_put_back(path: Path, start: Start) -> None:
    before = logging.getLogger().level
    stop = start("error")
    LOG.warning("unimportant")
    LOG.error("important")
    stop()
    assert [entry["message"] for entry in entries(path)] == ["important"]
    assert logging.getLogger().level == before


def test_text_that_is_no_unicode_is_kept_as_far_as_it_goes(path: Path, start: Start) -> None:
    stop = start()
    LOG.info("half a sign: \ud83d")
    stop()
    assert entries(path)[0]["message"] == "half a sign: ?"


def test_an_argument_that_changes_later_is_logged_as_it_was(path: Path, start: Start) -> None:
    stop = start()
    items = [1]
    LOG.info("%s", items)
    items.append(2)
    stop()
    assert entries(path)[0]["message"] == "[1]"


def test_files_and_folder_are_private_also_with_a_generous_umask(path: Path, start: Start) -> None:
    before = os.umask(0)
    try:
        stop = start(max_bytes=300)
        for number in range(20):
            LOG.info("line %d", number)
        stop()
    finally:
        os.umask(before)
    modes = {file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    assert modes == {0o600}
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_files_are_bounded_and_the_oldest_goes(path: Path, start: Start) -> None:
    stop = start(max_bytes=400)
    for number in range(100):
        LOG.info("line %d", number)
    stop()
    files = sorted(path.parent.iterdir())
    assert files == [path, *(older(path, number) for number in range(1, KEPT + 1))]
    assert all(file.stat().st_size <= 400 for file in files)
    kept = [
        entry["message"] for file in (older(path, 3), older(path, 2), older(path, 1), path) for entry in entries(file)
    ]
    assert kept == [f"line {number}" for number in range(100 - len(kept), 100)]


def test_a_line_longer_than_a_file_is_cut(path: Path) -> None:
    file = RotatedFile(path, 50)
    file.write(b"x" * 200 + b"\n")
    file.close()
    assert path.read_bytes() == b"x" * 49 + b"\n"


def test_a_file_that_somebody_moved_or_removed_begins_anew(path: Path) -> None:
    file = RotatedFile(path, 1_000)
    file.write(b"one\n")
    path.rename(path.with_name("moved"))
    file.write(b"two\n")
    path.unlink()
    file.write(b"three\n")
    file.close()
    assert path.read_bytes() == b"three\n"


def test_a_rotation_by_another_writer_is_not_repeated(path: Path) -> None:
    first, second = RotatedFile(path, 12), RotatedFile(path, 12)
    first.write(b"12345678\n")
    second.write(b"abcdefgh\n")
    first.write(b"x\n")
    first.close()
    second.close()
    assert path.read_bytes() == b"abcdefgh\nx\n"
    assert older(path, 1).read_bytes() == b"12345678\n"


WRITER = """
import sys
from pathlib import Path
from ferrule.telemetry.rotated import RotatedFile
file = RotatedFile(Path(sys.argv[1]), 2_000)
for number in range(60):
    file.write(f"{sys.argv[2]} {number:04}\\n".encode())
"""


def test_lines_of_several_processes_do_not_mix(path: Path) -> None:
    children = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in ("a", "b")]
    assert [child.wait(30) for child in children] == [0, 0]
    lines = [line for file in path.parent.iterdir() for line in file.read_text().splitlines()]
    assert sorted(lines) == sorted(f"{name} {number:04}" for name in "ab" for number in range(60))


def test_a_log_that_cannot_be_written_does_not_stop_the_work_and_says_what_is_missing(
    path: Path, start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    stop = start()
    path.parent.rename(path.parent.with_name("gone"))
    LOG.info("lost 1")
    LOG.info("lost 2")
    while "cannot be written" not in capsys.readouterr().err:
        continue
    stop()
    assert not path.exists()


def test_what_was_lost_is_counted_in_the_next_line(path: Path, start: Start) -> None:
    class Gate:
        """A guard that waits, as a slow disk would."""

        def __init__(self) -> None:
            self.open = threading.Event()
            self.reached = threading.Event()

        def clean(self, text: str) -> str:
            """Wait."""
            self.reached.set()
            self.open.wait(30)
            return text

        def stream(self) -> StreamGuard:
            """The log guards whole lines."""
            raise AssertionError("the log has no streams")

    gate = Gate()
    stop = start_logging(path, "info", gate, max_bytes=100_000_000)
    try:
        LOG.info("first")
        gate.reached.wait(30)
        for number in range(WAITING + 5):
            LOG.info("line %d", number)
        gate.open.set()
    finally:
        stop()
    found = entries(path)
    assert found[1]["message"] == "5 log records could not be written"
    assert len(found) == WAITING + 2
