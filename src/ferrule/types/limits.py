"""What one turn may use up. None stands for "unlimited", which the operator spells out; zero is no magic word."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of a runtime profile.

    Attributes:
        rounds: Model requests in a turn.
        tool_calls: Tool calls in a turn.
        tokens: Tokens in a turn, both directions.
        cost_micro_usd: Money in a turn, micro-dollars.
        wall_time_s: Seconds a turn may take, waiting for people not counted.
        parallel_tools: Calls of one round that run at the same time.
        result_chars: Characters of one result that reach the model.
        queue: Messages that wait while the agent is busy.
    """

    rounds: int | None = 25
    tool_calls: int | None = 200
    tokens: int | None = 2_000_000
    cost_micro_usd: int | None = 1_000_000
    wall_time_s: float | None = 600.0
    parallel_tools: int = 4
    result_chars: int = 60_000
    queue: int = 8
