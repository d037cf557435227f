"""An error as a person at the command line reads it: what is wrong, and what to do about it."""

from __future__ import annotations

import errno
import os

from ..types.errors import FerruleError, UsageError

FIXES: dict[str, str] = {
    "config.home": "name a folder of your own in FERRULE_HOME",
    "config.invalid": "`ferrule doctor` says where the config lies; docs/config.md explains each key",
    "provider.connection": "check the address (base_url of the provider, or OPENAI_BASE_URL), and that a server answers",
    "provider.overloaded": "wait a little, then ask again; or use another provider",
    "provider.rate_limited": "wait a little, then ask again; or use another provider",
    "provider.stream_broken": "ask again; when it happens again, look at the server's own log",
    "provider.empty_answer": "ask again, or use another model",
    "provider.bad_request": "check the model and base_url of the provider; `ferrule doctor` names it",
    "provider.failed": "`ferrule logs -n 20` says more; `ferrule doctor` checks the installation",
    "session.busy": "wait until it ends, or continue in a copy with --fork",
    "limit.reached": "raise the limit in [runtime_profiles.default], or ask for less",
}
"""What to do about an error that does not say it itself, by its code."""

SYSTEM_FIXES: dict[int, str] = {
    errno.ENOSPC: "free space on the disk",
    errno.EDQUOT: "free space: your quota is used up",
    errno.EFBIG: "raise the limit of file sizes (ulimit -f)",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.ENFILE: "this machine has too many files open; end something",
    errno.EAGAIN: "raise the limit of processes (ulimit -u), or end something",
    errno.ENOMEM: "free memory, then repeat",
    errno.EROFS: "the disk is read-only: name another folder in FERRULE_HOME",
    errno.EACCES: "correct the permissions, or name another folder in FERRULE_HOME",
    errno.EPERM: "correct the permissions, or name another folder in FERRULE_HOME",
    errno.ENOENT: "create it, or name another one",
    errno.ENOTDIR: "a part of this path is a file: name another folder",
    errno.EISDIR: "it is a folder where a file belongs: move it away",
    errno.ENAMETOOLONG: "use a shorter path",
    errno.ELOOP: "its symbolic links lead round in a circle: correct them",
}
"""What to do when the system refuses, by the number of its error."""


def fix_of(code: str, hint: str | None) -> str:
    """Return what to do about an error: its own hint, else what helps with its kind, else nothing.

    >>> fix_of("session.busy", "wait")
    'wait'
    """
    return hint or FIXES.get(code, FIXES.get(code.partition(".")[0] + ".reached", ""))


def of_the_system(error: OSError) -> FerruleError:
    """Put a refusal of the system into words: the path, its reason, the fix."""
    reason = os.strerror(error.errno) if error.errno else str(error) or type(error).__name__
    place = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
    hint = SYSTEM_FIXES.get(error.errno or 0, "`ferrule doctor` checks the installation")
    return FerruleError(f"{place}{reason}", hint=hint, code="system")


def of_the_encoding(error: UnicodeError) -> UsageError:
    """Say that a name or a text is not UTF-8, quoting what surrounds the fault."""
    hint = "write names, variables and files in UTF-8; `iconv -f latin1 -t utf-8` converts"
    if not isinstance(error, UnicodeEncodeError | UnicodeDecodeError):
        return UsageError("a name or a text is not UTF-8", hint=hint)
    near = error.object[max(0, error.start - 20) : error.end + 20]
    raw = near if isinstance(near, bytes) else b"".join(map(_byte_or_letter, near))
    return UsageError(f'text that is not UTF-8, near "{raw.decode("utf-8", "backslashreplace")}"', hint=hint)


def _byte_or_letter(letter: str) -> bytes:
    """Return a letter's bytes; Python keeps a byte that is not UTF-8 as half a character."""
    return letter.encode("utf-8", "surrogateescape" if "\udc80" <= letter <= "\udcff" else "surrogatepass")
