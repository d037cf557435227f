"""A tool: it needs no settings, so the tool itself is its record."""

from __future__ import annotations

import random

from ferrule import tool


@tool
def roll_dice(sides: str = "6") -> str:
    """Roll one die and say what came up."""
    return f"rolled {random.randint(1, int(sides))} of {sides}"


TOOL = roll_dice
