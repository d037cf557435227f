"""The laws of a tool turn red on tools that break them."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import pytest

from ferrule.core.agent import Agent
from ferrule.ports.gate import GateKeeper
from ferrule.ports.handles import CommandRequest
from ferrule.ports.provider import Provider
from ferrule.ports.tool import Tool, ToolContext
from ferrule.testing.contracts.tool import AgentLike, ToolCase, ToolContract
from ferrule.types.access import Access
from ferrule.types.errors import UsageError
from ferrule.types.tools import ToolResult

PATH: dict[str, object] = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
    "additionalProperties": False,
}
Arguments = dict[str, str]


class Good:
    """Say a path back."""

    name = "good"
    needs: frozenset[str] = frozenset()
    input_schema: Mapping[str, object] = PATH
    began = 0

    async def execute(self, arguments: Arguments, context: ToolContext) -> ToolResult | str:
        return ToolResult.text(arguments["path"][:100])


class Silent(Good):
    """ """

    description = " "


class Open(Good):
    """Accept anything."""

    input_schema = {"type": "object", "properties": {"path": {}}, "required": ["path"]}


class List(Good):
    """Take a list."""

    input_schema = {"type": "array"}


class Unsteady(Good):
    """Change its schema."""

    made = 0

    def input_schema(self) -> Mapping[str, object]:  # type: ignore[override]  # a tool may compute it
        Unsteady.made += 1
        return {**PATH, "title": str(Unsteady.made)}


class Failing(Good):
    """Never succeed."""

    async def execute(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        return ToolResult.failed("no.luck", "no")


class Raising(Good):
    """Break on what it did not expect."""

    async def execute(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        if arguments["path"] != "a.txt":
            raise KeyError(arguments["path"])
        return ToolResult.text("ok")


class Codeless(Good):
    """Fail without a code."""

    async def execute(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        is_bad = arguments["path"] != "a.txt"
        return ToolResult(content="bad", is_error=is_bad, code="Bad!" if is_bad else "")


class Opening(Good):
    """Open a file of its own, in a thread."""

    async def execute(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        return ToolResult.text(await asyncio.to_thread(Path("/proc/self/comm").read_text))


class Running(Good):
    """Run a program of its own."""

    async def execute(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        return ToolResult.text(subprocess.run(["true"], check=False).args[0])


class Undeclared(Good):
    """Write without saying so."""

    needs = frozenset({"files.read"})

    def accesses(self, arguments: Arguments) -> Sequence[Access]:
        return (Access(action="files.read", target=arguments["path"]),)

    async def execute(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        await context.files.write("other.txt", b"half")
        return ToolResult.text("ok")


class Partial(Undeclared):
    """Tell its effects for some arguments only."""

    def accesses(self, arguments: Arguments) -> Sequence[Access]:
        return (Access(action="files.read", target={"a.txt": "a.txt"}[arguments["path"]]),)


class Doing(Good):
    """Do it while it is only looked at."""

    async def preview(self, arguments: Arguments, context: ToolContext) -> str:
        await context.files.write("a.txt", b"done")
        return "looked"


class Deaf(Good):
    """Swallow a cancellation."""

    async def execute(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        try:
            await context.commands.run(CommandRequest(line="sleep 9"))
        except asyncio.CancelledError:
            task = asyncio.current_task()
            assert task is not None
            task.uncancel()
        return ToolResult.text("ok")


class Leaving(Good):
    """Leave a task behind."""

    async def execute(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        self.task = asyncio.create_task(context.commands.run(CommandRequest(line="sleep 9")))
        await asyncio.shield(self.task)
        return ToolResult.text("ok")


class Endless(Good):
    """Give back everything."""

    async def execute(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        found = await context.files.read("a.txt", max_bytes=10**9)
        return ToolResult.text(found.data.decode())


class Shared(Good):
    """Remember between calls."""

    async def execute(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        self.began += 1
        mine = self.began
        await asyncio.sleep(0)
        return ToolResult.text("ok") if mine == self.began else ToolResult.failed("lost.track", "lost")


def one_tool_agent(provider: Provider, gate: GateKeeper, tool: Tool) -> AgentLike:
    return Agent(provider, gate=gate, tools=[tool])


def case(tool: Tool) -> ToolCase:
    return ToolCase(tool=tool, arguments={"path": "a.txt"}, agent=one_tool_agent, files={"a.txt": b"x"})


Law = Callable[[ToolContract, ToolCase], Awaitable[None]]
C = ToolContract
BROKEN: list[tuple[Tool, Law]] = [
    (Silent(), C.test_it_says_what_it_does),
    (List(), C.test_its_schema_is_valid_describes_an_object_and_does_not_change),
    (Unsteady(), C.test_its_schema_is_valid_describes_an_object_and_does_not_change),
    (Failing(), C.test_it_does_what_it_is_for),
    (Open(), C.test_arguments_that_do_not_fit_are_refused_by_code_before_it_runs),
    (Raising(), C.test_bad_values_give_a_coded_error_and_no_traceback),
    (Codeless(), C.test_bad_values_give_a_coded_error_and_no_traceback),
    (Opening(), C.test_it_touches_the_world_through_its_handles_only),
    (Running(), C.test_it_touches_the_world_through_its_handles_only),
    (Undeclared(), C.test_it_declares_every_effect_that_it_has),
    (Partial(), C.test_its_effects_can_be_told_for_any_arguments),
    (Doing(), C.test_a_preview_changes_nothing),
    (Deaf(), C.test_cancelling_leaves_no_process_and_no_half_written_file),
    (Leaving(), C.test_cancelling_leaves_no_process_and_no_half_written_file),
    (Endless(), C.test_its_output_has_a_bound),
    (Shared(), C.test_two_calls_at_once_do_not_disturb_each_other),
]


@pytest.mark.parametrize(("broken", "law"), BROKEN, ids=lambda x: type(x).__name__)
async def test_a_tool_that_breaks_a_law_fails_it(broken: Tool, law: Law) -> None:
    with pytest.raises((AssertionError, KeyError)):
        await law(ToolContract(), case(broken))
    if isinstance(broken, Leaving):
        broken.task.cancel()
        await asyncio.wait([broken.task])


async def test_a_name_that_vendors_refuse_is_seen() -> None:
    long = Good()
    long.name = "a name"
    with pytest.raises(AssertionError):
        await C().test_its_name_can_be_sent_to_every_vendor(case(long))
    with pytest.raises(UsageError):
        await C().test_it_says_what_it_does(case(long))


async def test_a_tool_with_effects_of_its_own_must_be_judged_as_custom() -> None:
    hidden = ToolCase(tool=Opening(), arguments={"path": "a.txt"}, agent=one_tool_agent, outside=True)
    with pytest.raises(AssertionError, match="custom"):
        await C().test_it_touches_the_world_through_its_handles_only(hidden)


class TestGood(ToolContract):
    @pytest.fixture
    def case(self) -> ToolCase:
        return case(Good())
