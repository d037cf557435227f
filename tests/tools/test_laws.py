"""Every built-in tool keeps the laws of its port."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ferrule.app import discovery
from ferrule.core.agent import Agent
from ferrule.ports.gate import GateKeeper
from ferrule.ports.provider import Provider
from ferrule.ports.tool import Tool
from ferrule.testing.contracts._probe import Bench
from ferrule.testing.contracts.tool import AgentLike, ToolCase, ToolContract

SUCCEEDS: dict[str, Mapping[str, object]] = {
    "content_search": {"pattern": "one", "path": "sub"},
    "file_edit": {"path": "a.txt", "old": "one", "new": "two"},
    "file_read": {"path": "a.txt"},
    "file_write": {"path": "new/b.txt", "content": "x"},
    "glob_search": {"pattern": "**", "path": "sub"},
    "list_directory": {"path": "sub"},
    "memory_recall": {"query": "one"},
    "memory_store": {"text": "one"},
    "shell": {"command": "true"},
}
FILES = {"a.txt": b"one\n", "sub/b.txt": b"one\n", "sub/deep/c.txt": b"two\n"}


def one_tool_agent(provider: Provider, gate: GateKeeper, tool: Tool) -> AgentLike:
    return Agent(provider, gate=gate, tools=[tool])


class TestBuiltIn(ToolContract):
    @pytest.fixture(params=sorted(discovery.BUILT_IN["tools"]))
    def case(self, request: pytest.FixtureRequest) -> ToolCase:
        name = str(request.param)
        return ToolCase(tool=discovery.tool(name), arguments=SUCCEEDS[name], agent=one_tool_agent, files=FILES)

    async def test_its_schema_is_closed_and_its_needs_are_declared(self, case: ToolCase) -> None:
        """Ours promise more than the port asks: an argument that nobody reads is refused, no tool is `custom`."""
        assert hasattr(case.tool, "needs")
        bound = await probe_schema(case)
        assert bound["additionalProperties"] is False


async def probe_schema(case: ToolCase) -> dict[str, object]:

    return await Bench(case).schema()
