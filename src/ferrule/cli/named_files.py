"""Files that an option of a command names: read whole, or refused with the option's name."""

from __future__ import annotations

import os
import stat

from ..types.errors import UsageError

MOST_BYTES = 20 * 1024 * 1024
"""Of one file; providers send no more than this (docs/providers)."""


def bytes_of(option: str, name: str) -> bytes:
    """Read a file.

    Args:
        option: How the errors call it, for example ``--attach``.
        name: As it was typed.

    Raises:
        UsageError: it is missing, unreadable, too long, or no ordinary file.
    """
    try:  # without O_NONBLOCK a named pipe that nobody writes to would wait for ever
        descriptor = os.open(os.path.expanduser(name), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise UsageError(f"{option} {name}: there is no such file", hint="check its path") from error
    except OSError as error:
        raise UsageError(
            f"{option} {name}: {os.strerror(error.errno or 0)}", hint="check its path and its permissions"
        ) from error
    try:
        _refuse_no_file(option, name, os.fstat(descriptor).st_mode)
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(MOST_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(data) > MOST_BYTES:
        raise UsageError(f"{option} {name}: it is longer than {MOST_BYTES // 2**20} MiB", hint="shrink or split it")
    return data


def _refuse_no_file(option: str, name: str, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise UsageError(f"{option} {name}: it is a folder", hint=f"name the files in it, each with {option}")
    if not stat.S_ISREG(mode):
        raise UsageError(
            f"{option} {name}: it is no ordinary file", hint="copy what it gives into a file, or pipe it in"
        )
