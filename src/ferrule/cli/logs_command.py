"""``ferrule logs``: what happened, filtered by turn."""

from __future__ import annotations

import os
import sys
import time
from datetime import datetime

import click
import orjson

from ..config.layout import layout
from ..telemetry.read_log import Entry, Follower, last
from .printable import one_line, printable

PAUSE_S = 0.2

EPILOG = """\b
Examples:
  ferrule logs -n 20
  ferrule logs -f
  ferrule logs --turn trn_0123 --json
"""


@click.command(epilog=EPILOG)
@click.option("-f", "--follow", "following", is_flag=True, help="Go on printing what is written.")
@click.option("--turn", default="", metavar="ID", help="Only lines of this turn.")
@click.option("--json", "as_json", is_flag=True, help="Print the lines as they are stored.")
@click.option("-n", "count", type=click.IntRange(0), default=50, show_default=True, help="How many lines.")
def logs(following: bool, turn: str, as_json: bool, count: int) -> None:
    """Print the last lines of the log."""
    path = layout(os.environ).log

    def wanted(entry: Entry) -> bool:
        return not turn or entry.get("turn") == turn

    follower = Follower(path)
    try:
        for entry in last(path, count, wanted, end=follower.start if following else None):
            _print(entry, as_json)
        if following:
            for entry in follower.entries(wanted, _pause):
                _print(entry, as_json)
    finally:
        follower.close()


def _pause() -> bool:
    time.sleep(PAUSE_S)
    return True


def _print(entry: Entry, as_json: bool) -> None:
    sys.stdout.write((orjson.dumps(entry).decode() if as_json else _line(entry)) + "\n")
    sys.stdout.flush()


def _line(entry: Entry) -> str:
    at = entry.get("at_ms")
    when = datetime.fromtimestamp(at / 1000).isoformat(sep=" ", timespec="milliseconds") if isinstance(at, int) else "?"
    ids = " ".join(f"{key}={entry[key]}" for key in ("agent", "session", "turn", "tool", "request") if key in entry)
    head = one_line(f"{when} {entry.get('level', '?')!s:<7}", 60)
    line = f"{head} {printable(str(entry.get('message', '')))}" + (f"  [{printable(ids)}]" if ids else "")
    return f"{line}\n{printable(str(entry['error']))}" if "error" in entry else line
