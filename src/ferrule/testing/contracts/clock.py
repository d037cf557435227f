"""The laws of `Clock`. Subclass, and supply the `stand` fixture.

class TestMine(ClockContract):
    @pytest.fixture
    def stand(self) -> ClockStand:
        return ClockStand(MyClock(), asyncio.sleep)
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from ...ports.clock import Clock

STEP_S = 0.02
"""A short time: long enough to be told from none, short enough for a real clock in a test."""

SECONDS = 20.0
"""How long a law may take; a sleep that never ends breaks it."""

YEAR_2001_MS, YEAR_2100_MS = 978_307_200_000, 4_102_444_800_000


@dataclass(frozen=True, slots=True)
class ClockStand:
    """A clock, and how its time passes.

    Attributes:
        clock: Under test.
        pass_time: Lets so many seconds go by: `asyncio.sleep` for a real clock, `advance` for a fake one.
    """

    clock: Clock
    pass_time: Callable[[float], Awaitable[object]]


@pytest.mark.contract
class ClockContract:
    """What every clock promises."""

    async def test_monotonic_never_goes_back(self, stand: ClockStand) -> None:
        """Not between reads, not over a sleep, not over a sleep of less than nothing."""
        seen = [stand.clock.monotonic() for _ in range(1_000)]
        for seconds in (0.0, -1.0, STEP_S):
            await _slept(stand, seconds)
            seen.append(stand.clock.monotonic())
        assert seen == sorted(seen)

    async def test_wall_time_is_whole_milliseconds_since_1970(self, stand: ClockStand) -> None:
        """Neither seconds nor nanoseconds, and no fraction."""
        now = stand.clock.now_ms()
        assert type(now) is int
        assert YEAR_2001_MS < now < YEAR_2100_MS

    async def test_both_times_pass_alike(self, stand: ClockStand) -> None:
        """What passes on one passes on the other, one in seconds, one in milliseconds."""
        wall, steady = stand.clock.now_ms(), stand.clock.monotonic()
        await stand.pass_time(3 * STEP_S)
        steady = stand.clock.monotonic() - steady
        assert steady > 2 * STEP_S
        assert abs((stand.clock.now_ms() - wall) / 1000 - steady) < STEP_S

    async def test_a_sleep_lasts_as_long_as_it_was_told(self, stand: ClockStand) -> None:
        """It may last longer, never shorter."""
        before = stand.clock.monotonic()
        await _slept(stand, STEP_S)
        assert stand.clock.monotonic() - before >= STEP_S * 0.95

    async def test_a_sleep_of_nothing_lets_others_run_and_ends(self, stand: ClockStand) -> None:
        """No time need pass for it."""
        ran: list[str] = []

        async def other() -> None:
            ran.append("other")

        task = asyncio.create_task(other())
        for seconds in (0.0, -1.0):
            try:
                async with asyncio.timeout(1.0):
                    await stand.clock.sleep(seconds)
            except TimeoutError:
                raise AssertionError(f"a sleep of {seconds} s waits for time to pass") from None
        assert ran == ["other"], "nobody else could run"
        await task

    async def test_sleepers_wake_in_the_order_of_their_time(self, stand: ClockStand) -> None:
        """Whoever is due first is first, whoever began first."""
        woke: list[int] = []

        async def sleeper(number: int) -> None:
            await stand.clock.sleep(number * STEP_S)
            woke.append(number)

        tasks = [asyncio.create_task(sleeper(number)) for number in (3, 1, 2)]
        await _started()
        for _ in range(4):
            await stand.pass_time(STEP_S)
            await _started()
        await _all_done(tasks)
        assert woke == [1, 2, 3]

    async def test_a_cancelled_sleep_ends_at_once_and_disturbs_nobody(self, stand: ClockStand) -> None:
        """The cancellation is not swallowed, and the sleeper beside it wakes as it would have."""
        long = asyncio.create_task(stand.clock.sleep(3_600))
        short = asyncio.create_task(stand.clock.sleep(STEP_S))
        await _started()
        long.cancel()
        await _all_done([long])
        assert long.cancelled()
        await stand.pass_time(2 * STEP_S)
        await _all_done([short])
        assert not short.cancelled()


async def _slept(stand: ClockStand, seconds: float) -> None:
    task = asyncio.create_task(stand.clock.sleep(seconds))
    await _started()
    await stand.pass_time(max(seconds, 0.0))
    await _all_done([task])


async def _started() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def _all_done(tasks: list[asyncio.Task[None]]) -> None:
    _, waiting = await asyncio.wait(tasks, timeout=SECONDS)
    for task in waiting:
        task.cancel()
    assert not waiting, "a sleep did not end when its time had come"
