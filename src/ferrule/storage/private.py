"""Who may read a file."""

from __future__ import annotations

import os
from pathlib import Path

OTHERS_READ = 0o044


def readable_by_others(path: Path) -> bool:
    """Tell whether people other than the owner can read a file whose mode is ours to change.

    A file that belongs to somebody else and that we cannot write to, or one
    on a read-only file system, is a mounted secret: its mode is somebody
    else's business.
    """
    found = path.stat()
    theirs = found.st_uid != os.geteuid() and not os.access(path, os.W_OK)
    mounted = theirs or bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    return bool(found.st_mode & OTHERS_READ) and not mounted
