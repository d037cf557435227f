"""The laws of `Tool`. Subclass, and supply the `case` fixture.

    class TestDice(ToolContract):
        @pytest.fixture
        def case(self) -> ToolCase:
            return ToolCase(tool=roll_dice, arguments={"sides": 6}, agent=one_tool_agent)

    def one_tool_agent(provider, gate, tool):
        return Agent(provider, gate=gate, tools=[tool])

The laws run the tool in a real agent over handles in memory: whatever else it
touches, files, processes, sockets, is seen by an audit hook and breaks a law.
"""

from __future__ import annotations

import asyncio
import json
import re
from copy import deepcopy

import jsonschema_rs
import pytest

from ...ports.tool import Declaring, Previewing, Tool
from ...types.access import Access
from ...types.errors import FerruleError
from ...types.tools import ToolResult
from ..handles import RamWorld
from ._probe import AgentLike, Bench, MakeAgent, ToolCase, hostile, misfits, watched

__all__ = ["AgentLike", "MakeAgent", "ToolCase", "ToolContract"]

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
CODE = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+\Z")
BROKEN = frozenset({"tool.failed", "tool.result"})
"""Codes that the runtime gives to the result of a tool whose own code broke."""

SECONDS = 20.0
HUGE = 12 * 1024 * 1024
MOST_OUTPUT = 8 * 1024 * 1024
"""Characters that a tool may give back before the runtime cuts them to what a model may see."""


@pytest.mark.contract
class ToolContract:
    """What every tool promises."""

    async def test_its_name_can_be_sent_to_every_vendor(self, case: ToolCase) -> None:
        """1 to 64 characters of A-Z, a-z, 0-9, _ and -, the same each time."""
        assert isinstance(case.tool, Tool)
        names = {case.tool.name for _ in range(3)}
        assert len(names) == 1
        assert NAME.match(names.pop())

    async def test_it_says_what_it_does(self, case: ToolCase) -> None:
        """A model chooses by the description."""
        described = (await Bench(case).spec()).description
        assert described.strip()
        assert described == described.strip()

    async def test_its_schema_is_valid_describes_an_object_and_does_not_change(self, case: ToolCase) -> None:
        """The same bytes in every request, so that vendors can keep what they have read."""
        bench, other = Bench(case), Bench(case)
        specs = [await bench.spec(), await bench.spec(), await other.spec()]
        assert len({spec.schema for spec in specs}) == 1
        schema = json.loads(specs[0].schema)
        assert schema.get("type") == "object"
        jsonschema_rs.validator_for(schema)
        assert jsonschema_rs.is_valid(schema, dict(case.arguments))
        assert set(schema.get("required", ())) <= set(schema.get("properties", {}))

    async def test_it_does_what_it_is_for(self, case: ToolCase) -> None:
        """The arguments that its author vouches for succeed, and are left as they were."""
        given = deepcopy(dict(case.arguments))
        bench = Bench(case)
        result = await bench.call(given)
        assert not result.is_error, result.content
        assert given == dict(case.arguments)
        assert isinstance(bench.probe.given, str | ToolResult)
        if isinstance(bench.probe.given, ToolResult):
            json.dumps(dict(bench.probe.given.details), allow_nan=False)

    async def test_arguments_that_do_not_fit_are_refused_by_code_before_it_runs(self, case: ToolCase) -> None:
        """The schema says what fits, closely enough that nothing else arrives."""
        bench = Bench(case)
        schema = await bench.schema()
        assert all(schema.get("properties", {}).values()), "a field without a type takes anything"
        for arguments in misfits(schema, case.arguments):
            bench.probe.taken = None
            result = await bench.call(arguments)
            assert (result.is_error, result.code) == (True, "tool.arguments"), f"{arguments}: {result}"
            assert bench.probe.taken is None

    async def test_bad_values_give_a_coded_error_and_no_traceback(self, case: ToolCase) -> None:
        """Whatever fits the schema is answered: with a result, or with an error that has a code and words."""
        for arguments in hostile(await Bench(case).schema(), case.arguments):
            bench = Bench(case)
            result = await bench.call(arguments)
            shown = {key: str(value)[:60] for key, value in arguments.items()}
            assert bench.probe.raised is None or isinstance(bench.probe.raised, FerruleError), (
                f"{shown}: {bench.probe.raised!r}"
            )
            assert result.code not in BROKEN, f"{shown}: {result}"
            assert "Traceback" not in result.content
            if result.is_error:
                assert CODE.match(result.code), f"{shown}: {result.code!r}"
                assert result.content.strip(), f"{shown}: an error without words"

    async def test_it_touches_the_world_through_its_handles_only(self, case: ToolCase) -> None:
        """No file, process or socket of its own: a handle carries the agent's rules, and nothing else does."""
        bench = Bench(case)
        await bench.call()
        for arguments in hostile(await bench.schema(), case.arguments):
            await bench.call(arguments)
        if case.outside:
            assert not hasattr(case.tool, "needs"), "a tool with effects of its own is judged as custom"
        else:
            assert bench.probe.reached == []

    async def test_it_declares_every_effect_that_it_has(self, case: ToolCase) -> None:
        """The gate judges what is declared; a touch beyond it would be judged by the handle alone."""
        bench = Bench(case)
        await bench.call()
        if not hasattr(case.tool, "needs"):
            return
        needs: frozenset[str] = frozenset(vars(bench.probe)["needs"])
        declared = _accesses(case.tool, bench.probe.taken) or [Access(action=a, target="") for a in needs]  # type: ignore[arg-type]  # checked when bound
        assert {access.action for access in declared} <= needs
        for used in bench.world.files.used:
            assert any(_covers(access, used) for access in declared), f"{used} is not declared"
        for request in bench.world.commands.used:
            assert any(a.action == "command.run" and a.target in ("", request.line) for a in declared), request

    async def test_its_effects_can_be_told_for_any_arguments(self, case: ToolCase) -> None:
        """Total, the same each time, and without touching anything."""
        for arguments in [dict(case.arguments), *hostile(await Bench(case).schema(), case.arguments)]:
            bench = Bench(case)
            await bench.call(arguments)
            before = (list(bench.world.files.used), list(bench.world.commands.used))
            with watched() as reached:
                first, second = (_accesses(case.tool, bench.probe.taken) for _ in range(2))
            assert first == second
            assert all(isinstance(access, Access) for access in first)
            assert (reached, before) == ([], (bench.world.files.used, bench.world.commands.used))

    async def test_a_preview_changes_nothing(self, case: ToolCase) -> None:
        """A person looks before anything is done; a preview that fails says so by an error of ours or the system's."""
        if not isinstance(case.tool, Previewing):
            return
        for arguments in [dict(case.arguments), *hostile(await Bench(case).schema(), case.arguments)]:
            bench = Bench(case)
            await bench.call(arguments)
            fresh = RamWorld(case.files)
            try:
                shown = await case.tool.preview(bench.probe.taken, _Looking(fresh))  # type: ignore[arg-type]  # a preview sees handles only
            except (FerruleError, OSError):
                shown = ""
            assert isinstance(shown, str)
            assert (fresh.files.kept, fresh.commands.used) == (dict(case.files), [])

    async def test_cancelling_leaves_no_process_and_no_half_written_file(self, case: ToolCase) -> None:
        """A cancelled call ends as cancelled, and nothing that it began goes on."""
        bench = Bench(case)
        bench.world.hang()
        before = asyncio.all_tasks()
        task = asyncio.create_task(bench.call())
        for _ in range(20):
            await asyncio.sleep(0)
        was_done = task.done()
        task.cancel()
        _, waiting = await asyncio.wait([task], timeout=SECONDS)
        assert not waiting, "it does not end"
        assert was_done or task.cancelled(), "the cancellation was swallowed"
        assert bench.world.commands.running == 0
        assert bench.world.files.kept == dict(case.files) or was_done
        assert asyncio.all_tasks() <= before | {task}, "a task goes on"

    async def test_its_output_has_a_bound(self, case: ToolCase) -> None:
        """A world of large things gives no result of the same size."""
        world = RamWorld(dict.fromkeys(case.files, b"line of text\n" * (HUGE // 13)), output="x" * HUGE)
        bench = Bench(case, world)
        await bench.call()
        given = bench.probe.given
        content = given.content if isinstance(given, ToolResult) else given
        assert content is None or len(str(content)) <= MOST_OUTPUT

    async def test_two_calls_at_once_do_not_disturb_each_other(self, case: ToolCase) -> None:
        """It keeps nothing between calls that another call could see."""
        results = await asyncio.gather(*(Bench(case).call() for _ in range(3)))
        assert [result.is_error for result in results] == [False] * 3, results


class _Looking:
    """The handles as a preview sees them."""

    def __init__(self, world: RamWorld) -> None:
        self.files = world.files
        self.commands = world.commands
        self.memory = world.memory


def _accesses(tool: Tool, taken: object) -> list[Access]:
    return list(tool.accesses(taken)) if isinstance(tool, Declaring) and taken is not None else []


def _covers(declared: Access, used: Access) -> bool:
    if declared.action != used.action:
        return False
    wanted, place = declared.target.rstrip("/"), used.target
    return wanted in ("", ".", place) or place.startswith(wanted + "/")
