"""Tokens and money, as integers so that sums are exact."""

from __future__ import annotations

from dataclasses import dataclass

MICRO = 1_000_000
"""Micro-dollars in a dollar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one or more model requests, and their price.

    Attributes:
        input: Tokens sent, cached ones included. None when the vendor did not say.
        cached: Tokens of `input` that the vendor took from its cache.
        output: Tokens received, reasoning ones included. None when unknown.
        reasoning: Tokens of `output` that were reasoning.
        cost_micro_usd: Price in micro-dollars; None when the model is unpriced.
    """

    input: int | None = None
    cached: int = 0
    output: int | None = None
    reasoning: int = 0
    cost_micro_usd: int | None = None

    @property
    def total(self) -> int:
        """Tokens known to have been used, in both directions."""
        return (self.input or 0) + (self.output or 0)

    def __add__(self, other: Usage) -> Usage:
        """Sum two usages; a side that is unknown adds nothing, two unknowns stay unknown."""
        return Usage(
            input=_plus(self.input, other.input),
            cached=self.cached + other.cached,
            output=_plus(self.output, other.output),
            reasoning=self.reasoning + other.reasoning,
            cost_micro_usd=_plus(self.cost_micro_usd, other.cost_micro_usd),
        )


def _plus(a: int | None, b: int | None) -> int | None:
    if a is None:
        return b
    return a if b is None else a + b
