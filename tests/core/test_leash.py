"""What stops a turn, taken alone."""

from __future__ import annotations

import asyncio

import pytest

from ferrule.core.conversation import undisturbed
from ferrule.core.foreign import Broke, called, ran
from ferrule.core.leash import Leash
from ferrule.types.errors import StoreError
from ferrule.types.unstoppable import Unstoppable


async def test_a_turn_that_has_not_begun_or_is_ending_cannot_be_cancelled() -> None:
    leash = Leash(None)
    assert leash.cancel("early") is False
    leash.start()
    leash.release()
    assert leash.cancel("late") is False
    leash.check()
    leash.forget()


async def test_a_turn_without_a_limit_can_be_cancelled_once_and_its_task_goes_on() -> None:
    leash = Leash(None)
    leash.start()
    assert leash.cancel(" ") is True
    assert leash.cancel("again") is False
    with pytest.raises(asyncio.CancelledError):
        await asyncio.Event().wait()
    with pytest.raises(Exception, match="cancelled"):
        leash.check()
    leash.release()
    leash.forget()
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_time_does_not_run_while_a_question_is_open_and_a_stop_is_not_undone_by_an_answer() -> None:
    leash = Leash(0.03)
    leash.start()
    leash.pause()
    leash.pause()
    await asyncio.sleep(0.05)
    leash.resume()
    leash.check()
    leash.cancel("enough")
    leash.resume()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.sleep(0.05)
    leash.release()
    leash.forget()
    with pytest.raises(Exception, match="enough"):
        leash.check()


async def test_code_of_others_gives_a_value_or_what_broke_it() -> None:
    def plain(n: int) -> int:
        return 10 // n

    async def waits(n: int) -> int:
        return 10 // n

    assert (called(plain, 5), await ran(plain, 5), await ran(waits, 5)) == (2, 2, 2)
    for broke in (called(plain, 0), await ran(plain, 0), await ran(waits, 0)):
        assert isinstance(broke, Broke)
        assert broke.told.startswith("ZeroDivisionError: ")
    assert Broke(KeyError()).told == "KeyError"


@pytest.mark.parametrize("ends", [SystemExit, KeyboardInterrupt])
def test_what_ends_the_process_is_no_fault_of_a_part(ends: type[BaseException]) -> None:
    def leaves() -> None:
        raise ends

    with pytest.raises(ends):
        called(leaves)


@pytest.mark.parametrize("kind", [Unstoppable, asyncio.Future])
@pytest.mark.parametrize("fails", [False, True])
async def test_a_write_is_waited_for_when_cancelled_and_its_failure_comes_before_the_cancellation(
    kind: type[asyncio.Future[int]], fails: bool
) -> None:
    write = kind()
    waiting = asyncio.ensure_future(undisturbed(write))
    await asyncio.sleep(0)
    waiting.cancel()
    waiting.cancel()
    await asyncio.sleep(0)
    assert not waiting.done()
    if fails:
        write.set_exception(StoreError("disk full"))
    else:
        write.set_result(1)
    with pytest.raises(StoreError if fails else asyncio.CancelledError):
        await waiting
    assert waiting.cancelled() is not fails


async def test_a_write_that_is_left_alone_gives_its_result() -> None:
    write: Unstoppable[int] = Unstoppable()
    write.set_result(1)
    assert await undisturbed(write) == 1
