"""The clocks keep the laws of their port, and the laws turn red on clocks that break them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest

from ferrule.core.system_clock import SystemClock
from ferrule.testing.clock import FakeClock, InstantClock
from ferrule.testing.contracts.clock import STEP_S, ClockContract, ClockStand


async def advance(clock: FakeClock, seconds: float) -> None:
    clock.advance(seconds)


class TestSystemClock(ClockContract):
    @pytest.fixture
    def stand(self) -> ClockStand:
        return ClockStand(SystemClock(), asyncio.sleep)


class TestFakeClock(ClockContract):
    @pytest.fixture
    def stand(self) -> ClockStand:
        return fake(FakeClock())


def fake(clock: FakeClock) -> ClockStand:
    return ClockStand(clock, lambda seconds: advance(clock, seconds))


async def test_the_instant_clock_does_not_go_back_either() -> None:
    clock = InstantClock()
    await clock.sleep(-1)
    assert clock.monotonic() == 0
    await ClockContract().test_monotonic_never_goes_back(fake(clock))


class Seconds(FakeClock):
    def now_ms(self) -> int:
        return super().now_ms() // 1000


class Fraction(FakeClock):
    def now_ms(self) -> int:
        return super().now_ms() + 0.5  # type: ignore[return-value]  # the fault under test


class Backwards(FakeClock):
    def monotonic(self) -> float:
        return -super().monotonic()


class Stopped(FakeClock):
    def now_ms(self) -> int:
        return self._start_ms


class Hasty(SystemClock):
    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / 2)


class Lazy(FakeClock):
    async def sleep(self, seconds: float) -> None:
        await super().sleep(max(seconds, STEP_S))


class FirstComeFirst(FakeClock):
    async def sleep(self, seconds: float) -> None:
        await super().sleep(STEP_S)


class Deaf(FakeClock):
    async def sleep(self, seconds: float) -> None:
        try:
            await super().sleep(seconds)
        except asyncio.CancelledError:
            return


class Blocking(SystemClock):
    async def sleep(self, seconds: float) -> None:
        time.sleep(max(seconds, 0))  # noqa: ASYNC251 - the fault under test


Law = Callable[[ClockContract, ClockStand], Awaitable[None]]
BROKEN: dict[str, tuple[ClockStand, Law]] = {
    "goes back": (fake(Backwards()), ClockContract.test_monotonic_never_goes_back),
    "seconds": (fake(Seconds()), ClockContract.test_wall_time_is_whole_milliseconds_since_1970),
    "a fraction": (fake(Fraction()), ClockContract.test_wall_time_is_whole_milliseconds_since_1970),
    "wall time stands": (fake(Stopped()), ClockContract.test_both_times_pass_alike),
    "too short": (
        ClockStand(Hasty(), lambda _: asyncio.sleep(0)),
        ClockContract.test_a_sleep_lasts_as_long_as_it_was_told,
    ),
    "waits for nothing": (fake(Lazy()), ClockContract.test_a_sleep_of_nothing_lets_others_run_and_ends),
    "stops the world": (
        ClockStand(Blocking(), asyncio.sleep),
        ClockContract.test_a_sleep_of_nothing_lets_others_run_and_ends,
    ),
    "in the order of starting": (fake(FirstComeFirst()), ClockContract.test_sleepers_wake_in_the_order_of_their_time),
    "swallows a cancellation": (fake(Deaf()), ClockContract.test_a_cancelled_sleep_ends_at_once_and_disturbs_nobody),
}


@pytest.mark.parametrize("name", BROKEN)
async def test_a_clock_that_breaks_a_law_fails_it(name: str) -> None:
    stand, law = BROKEN[name]
    with pytest.raises(AssertionError):
        await law(ClockContract(), stand)
