from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from ferrule.telemetry.read_log import Entry, Follower, Wanted, last
from ferrule.telemetry.rotated import older


def line(number: int, turn: str = "t") -> bytes:
    """Make one line of a log."""
    return json.dumps({"message": number, "turn": turn}).encode() + b"\n"


def anything(entry: Entry) -> bool:
    """Want every entry."""
    return True


def numbers(entries: list[Entry]) -> list[object]:
    """Name entries by their message."""
    return [entry["message"] for entry in entries]


def test_the_last_lines_come_oldest_first_across_rotated_files(tmp_path: Path) -> None:
    path = tmp_path / "log"
    older(path, 2).write_bytes(line(1) + line(2))
    older(path, 1).write_bytes(line(3) + line(4))
    path.write_bytes(line(5))
    assert numbers(last(path, 2, anything)) == [4, 5]
    assert numbers(last(path, 4, anything)) == [2, 3, 4, 5]
    assert numbers(last(path, 99, anything)) == [1, 2, 3, 4, 5]
    assert last(path, 0, anything) == []


def test_only_wanted_lines_count(tmp_path: Path) -> None:
    path = tmp_path / "log"
    older(path, 1).write_bytes(line(1, "a"))
    path.write_bytes(line(2, "b") + line(3, "a") + line(4, "b"))
    assert numbers(last(path, 2, lambda entry: entry["turn"] == "a")) == [1, 3]


def test_a_torn_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(line(1) + b'{"message": 2\n[3]\n' + line(4))
    assert numbers(last(path, 9, anything)) == [1, 4]


def test_an_absent_log_is_an_empty_one(tmp_path: Path) -> None:
    assert last(tmp_path / "log", 5, anything) == []


def acts(*steps: Callable[[], object]) -> Callable[[], bool]:
    """Do one step at each pause; the reading ends after the last."""
    rest = list(steps)

    def pause() -> bool:
        if not rest:
            return False
        rest.pop(0)()
        return True

    return pause


def follow(path: Path, wanted: Wanted, pause: Callable[[], bool]) -> list[Entry]:
    """Follow until the pause says so."""
    follower = Follower(path)
    try:
        return list(follower.entries(wanted, pause))
    finally:
        follower.close()


def test_the_last_lines_and_those_that_follow_are_all_lines_once(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(line(1))
    follower = Follower(path)
    path.write_bytes(line(1) + line(2))
    assert numbers(last(path, 9, anything, end=follower.start)) == [1]
    assert numbers(list(follower.entries(anything, acts()))) == [2]
    follower.close()


def test_following_yields_what_is_written_from_now_on(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(line(1))

    def append(content: bytes) -> Callable[[], object]:
        def act() -> None:
            with path.open("ab") as file:
                file.write(content)

        return act

    pause = acts(append(line(2)[:5]), append(line(2)[5:]), append(line(3, "other")), append(line(4)))
    assert numbers(follow(path, lambda entry: entry["turn"] == "t", pause)) == [2, 4]


def test_following_goes_on_after_a_rotation(tmp_path: Path) -> None:
    path = tmp_path / "log"

    def rotate() -> None:
        path.rename(older(path, 1))

    pause = acts(
        lambda: path.write_bytes(line(1)),
        rotate,
        lambda: path.write_bytes(line(2)),
    )
    assert numbers(follow(path, anything, pause)) == [1, 2]


def test_following_a_log_that_never_comes_ends_when_told(tmp_path: Path) -> None:
    assert follow(tmp_path / "log", anything, acts(lambda: None)) == []
