"""No turn of a test run ends in silence: the log of every agent in this process is listened to.

Each turn says in the log that it began and how it ended. A turn that began
and never ended, or that did not complete and gave no reason, fails the test
in which it ran.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from ferrule.types.log_context import current

LOGGER = "ferrule.core.turn"
STARTED, FINISHED = "turn started", "turn finished: %s%s"


class Ear(logging.Handler):
    """Hears turns begin and end."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.heard = 0
        self._running: set[str] = set()
        self._silent: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Note one line of the log."""
        turn = str(current().get("turn", ""))
        if record.msg == STARTED:
            self._running.add(turn)
        elif record.msg == FINISHED and isinstance(record.args, tuple):
            status, reason = record.args
            self.heard += 1
            self._running.discard(turn)
            if status != "completed" and not str(reason).strip(" ():"):
                self._silent.append(f"turn {turn} ended {status} and gave no reason")

    def take(self) -> list[str]:
        """Return what was wrong since the last time."""
        never = [f"turn {turn} began and never ended" for turn in sorted(self._running)]
        found, self._silent = self._silent + never, []
        self._running.clear()
        return found


@contextmanager
def listening() -> Iterator[Ear]:
    """Listen to all turns of this process; nobody else sees more of the log than before."""
    logger, ear = logging.getLogger(LOGGER), Ear()
    before = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(ear)
    try:
        yield ear
    finally:
        logger.removeHandler(ear)
        logger.setLevel(before)
