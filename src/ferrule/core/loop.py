"""The loop: ask, act, repeat."""

from __future__ import annotations

from .turn import Turn


async def run_turn(turn: Turn) -> None:
    """Ask, act, repeat, until the model answers without a tool call.

    Raises:
        Stopped: a hook, a limit, the model's own circles or an answer in another form than wanted ended the turn.
        FerruleError: the provider or the store failed.
    """
    await turn.begin()
    while True:
        await turn.begin_round()
        await turn.request()  # streams, guards, books usage
        await turn.run_tools()  # gate, execute, results in call order
        await turn.commit()
        await turn.end_round()  # when a step above failed, `Turn.settle` does this
        if turn.is_answered and not turn.repair():
            return
        turn.check_progress()
