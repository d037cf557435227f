"""The corpus: answers as servers send them, each with what it rightly means. Deterministic, and without a network."""

from __future__ import annotations

from . import broken, ends, framing, pieces, texts
from .shape import Right, Script, decoded, meaning, outcome

__all__ = ["CORPUS", "SAMPLE", "Right", "Script", "decoded", "meaning", "outcome"]

CORPUS: tuple[Script, ...] = (
    *framing.scripts(),
    *pieces.scripts(),
    *texts.scripts(),
    *ends.scripts(),
    *broken.scripts(),
)

_SHORT = [script for script in CORPUS if 40 < len(script.body) < 600]
SAMPLE: tuple[Script, ...] = tuple(_SHORT[:: len(_SHORT) // 30])[:30]
"""Thirty short ones from all over the corpus, for laws that are too slow to be tested on all."""
