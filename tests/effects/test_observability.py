"""``[observability]``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.effects._program import Place, config, say
from tests.providers._vendor import vendor


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


async def test_log_level_is_the_least_important_line_that_is_kept(place: Place) -> None:
    async with vendor(say("ok")) as server:
        place.write(config(server, more='[observability]\nlog_level = "error"'))
        assert (await place.run("run", "hi")).code == 0
    lines = (place.home / "logs" / "ferrule.jsonl").read_text().splitlines()
    assert {json.loads(line)["level"] for line in lines} <= {"error", "critical"}


async def test_log_max_bytes_is_where_a_new_file_begins(place: Place) -> None:
    async with vendor(say("ok")) as server:
        place.write(config(server, more='[observability]\nlog_level = "debug"\nlog_max_bytes = 5000'))
        folder = place.home / "logs"
        folder.mkdir(mode=0o700)
        (folder / "ferrule.jsonl").write_text("{}\n" * 1_650)
        assert (await place.run("run", "hi")).code == 0
        assert (folder / "ferrule.jsonl.1").read_text().startswith("{}\n")
        assert (folder / "ferrule.jsonl").stat().st_size <= 5_000
