"""Whatever way a message comes in, the same calls get the same answers: the entry points are found in the code."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ferrule import Agent, AgentOptions, Bounds, Gate, Limits, OpenAI
from ferrule.app.discovery import BUILT_IN, OF_MEMORY, tool
from ferrule.policy.families import FAMILIES, grants_of_switches
from ferrule.types.access import Level
from tests.effects._program import Place, call, config, say
from tests.gates._tree import SRC, python_files, syntax
from tests.providers._vendor import vendor

COMMANDS = ("ls", "wc", "touch", "git", "cp", "echo", "cat")
PATHS = (
    "a.txt",
    "src/note",
    "missing",
    "../out/secret",
    "/etc/passwd",
    "kept/x",
    ".git/config",
    ".ferrule/a",
    "/dev/null",
    "",
)
LINES = (
    "ls",
    "ls src | wc -l",
    "wc -c src/note",
    "cat ../out/secret",
    "cat kept/x",
    "touch made",
    "rm a.txt",
    "python3 -c 1",
    "ls; rm a.txt",
    "echo $(ls)",
    "git status -s",
    "git push",
    "echo x > made",
    "echo x > ../out/made",
    "cp a.txt .git/config",
    "env ls",
    "sudo ls",
    "./ls",
    "ls ~",
    "",
)
CALLS: tuple[tuple[str, dict[str, str]], ...] = (
    *(("file_read", {"path": path}) for path in PATHS),
    *(("file_write", {"path": path, "content": "new"}) for path in PATHS),
    *(("list_directory", {"path": path}) for path in (".", "src", "kept", "..", "/")),
    *(("glob_search", {"pattern": "*", "path": path}) for path in ("src", "kept", "../out")),
    *(("content_search", {"pattern": "e", "path": path}) for path in ("src", "kept", "../out")),
    *(("file_edit", {"path": path, "old": "the", "new": "a"}) for path in ("src/note", "kept/x", "../out/secret")),
    *(("shell", {"command": line}) for line in LINES),
    ("memory_store", {}),
    *(("file_read", {"path": path}) for path in ("src", "./src/../a.txt", "//etc/hostname", "kept/../a.txt")),
    ("no_such_tool", {}),
)
RULES = """
[risk_profiles.own]
level = "{level}"
allowed_commands = {commands}
forbidden_paths = ["{kept}"]
[runtime_profiles.default]
parallel_tools = 1
"""


def entry_points(source: Path) -> dict[str, list[str]]:
    """Find what lets messages in: files that open an agent of the config, and what builds agents and gates."""
    found: dict[str, list[str]] = {"opens": [], "builds": []}
    for path in python_files(source):
        name = path.relative_to(source).as_posix()
        for node in ast.walk(syntax(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "open_agent":
                found["opens"].append(name)
            if (
                isinstance(node, ast.ClassDef)
                and node.name in ("Agent", "Gate", "Scope")
                and name.split("/")[0]
                in (
                    "core",
                    "app",
                )
            ):
                found["builds"] += [f"{node.name}.{name}" for one in node.body for name in _builder(one, node.name)]
    return {kind: sorted(set(names)) for kind, names in found.items()}


def _builder(node: ast.stmt, owner: str) -> list[str]:
    """Name a member that makes an object of its class: the constructor, and class methods that return one."""
    if not isinstance(node, ast.FunctionDef):
        return []
    makes = isinstance(node.returns, ast.Name) and node.returns.id == owner
    is_builder = makes and any(ast.unparse(one) == "classmethod" for one in node.decorator_list)
    return [node.name] if is_builder or node.name == "__init__" else []


def test_every_entry_point_of_the_code_is_in_the_matrix() -> None:
    found = entry_points(SRC)
    ways = {"chat" if "chat" in name else "run" if name == "cli/run_command.py" else name for name in found["opens"]}
    assert ways == {"chat", "run"}
    assert found["builds"] == ["Agent.__init__", "Gate.__init__", "Gate.from_policy", "Gate.of"]


def test_a_new_entry_point_is_seen(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "new.py").write_text(
        "class Gate:\n    @classmethod\n    def quick(cls) -> Gate: ...\nasync def f():\n    open_agent(1)\n"
    )
    assert entry_points(tmp_path) == {"opens": ["app/new.py"], "builds": ["Gate.quick"]}


def folder_for(root: Path) -> Path:
    """Lay out the same folder anew."""
    shutil.rmtree(root, ignore_errors=True)
    for name in ("here/src", "here/kept", "here/.git", "out"):
        (root / name).mkdir(parents=True)
    for name in ("here/a.txt", "here/src/note", "here/kept/x", "out/secret", "here/.git/config"):
        (root / name).write_text("the text\n")
    return root / "here"


Answers = list[str]
OPTIONS = AgentOptions(limits=Limits(parallel_tools=1))


async def by_command(root: Path, level: str, *arguments: str, typed: str = "") -> Answers:
    """Send one message to the program; returns what the model was told about each call."""
    here = folder_for(root)
    async with vendor(call(*CALLS), say("done")) as server:
        place = Place(root)
        rules = RULES.format(level=level, commands=json.dumps(list(COMMANDS)), kept=here / "kept")
        place.write(config(server, agent='risk_profile = "own"', more=rules))
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI", "FERRULE"))}
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "ferrule", *arguments),
            cwd=here,
            env={**kept, "FERRULE_HOME": str(place.home)},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        _, err = await asyncio.wait_for(child.communicate(typed.encode()), 60)
        assert len(server.asked) == 2, err.decode()
        return answers(server.asked[-1].json)


async def by_constructor(root: Path, make: Callable[[Path], Gate]) -> Answers:
    """Send one message to an embedded agent."""
    here = folder_for(root)
    tools = [tool(name) for name in sorted(BUILT_IN["tools"].keys() - OF_MEMORY)]
    async with vendor(call(*CALLS), say("done")) as server:
        async with OpenAI(model="m", base_url=f"{server.url}/v1") as provider:
            from_code = Agent(provider, gate=make(here), tools=tools, options=OPTIONS)
            await from_code.send("go")
        return answers(server.asked[-1].json)


def answers(asked: object) -> Answers:
    """Return the results of the calls, in their order."""
    assert isinstance(asked, dict)
    found = [str(message["content"]) for message in asked["messages"] if message["role"] == "tool"]
    assert len(found) == len(CALLS)
    return found


@pytest.mark.parametrize("level", ["read_only", "supervised", "full"])
async def test_sixty_calls_get_the_same_answers_by_every_entry_point(level: Level, tmp_path: Path) -> None:
    assert len(CALLS) == 60
    root = tmp_path / "root"

    def policy(here: Path) -> Gate:
        grants = grants_of_switches(FAMILIES)
        bounds = Bounds(forbidden=(str(here / "kept"), str(root / "home")), grants=grants)
        return Gate.of(level=level, workspace=here, allowed_commands=COMMANDS, bounds=bounds)

    first = await by_command(root, level, "run", "go")
    ways: dict[str, Answers] = {
        "chat": await by_command(root, level, "chat", typed="go\n"),
        "Gate.of": await by_constructor(root, policy),
        "Gate.from_policy": await by_constructor(root, lambda here: Gate.from_policy(policy(here).policy)),
        "Gate": await by_constructor(root, lambda here: Gate(policy(here).policy, policy(here).handles)),
    }
    for way, found in ways.items():
        for asked, one, other in zip(CALLS, first, found, strict=True):
            assert one == other, (way, asked)
    words = " ".join(first)
    assert "Denied by path.forbidden" in words
    assert "Denied by path.outside" in words
    assert ("no approver is available" in words) == (level != "read_only")
