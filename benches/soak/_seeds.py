"""The ``--seeds A:B`` that the programs share."""

from __future__ import annotations


def parsed(text: str) -> range:
    """Read ``A:B``: from A up to, not with, B."""
    first, _, end = text.partition(":")
    return range(int(first), int(end))
