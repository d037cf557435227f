from __future__ import annotations

import os
from pathlib import Path

import pytest

from ferrule.storage.private import readable_by_others


@pytest.mark.parametrize(("mode", "open_to"), [(0o600, False), (0o640, True), (0o604, True), (0o622, False)])
def test_a_file_of_ours_is_open_when_others_may_read_it(tmp_path: Path, mode: int, open_to: bool) -> None:
    path = tmp_path / "file"
    path.write_text("")
    path.chmod(mode)
    assert readable_by_others(path) is open_to


def test_a_mounted_file_may_be_readable_its_mode_is_somebody_elses_business() -> None:
    ours_to_change = os.geteuid() == 0 and not os.statvfs("/etc/passwd").f_flag & os.ST_RDONLY
    assert readable_by_others(Path("/etc/passwd")) is ours_to_change
