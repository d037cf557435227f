"""Tools for files, through the real gate and the real handles."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from ferrule.app import discovery
from ferrule.app.gate import Gate
from ferrule.core.agent import Agent
from ferrule.testing.scripted import ScriptedProvider
from ferrule.types.access import ApprovalAnswer, ApprovalRequest
from ferrule.types.parts import ImagePart
from ferrule.types.tools import ToolResult

Use = Callable[..., Awaitable[ToolResult]]
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


@pytest.fixture
def use(tmp_path: Path) -> Use:
    gate = Gate.of(level="full", workspace=tmp_path, allowed_commands=("grep", "ls"))
    names = [name for name in discovery.BUILT_IN["tools"] if name not in discovery.OF_MEMORY]
    agent = Agent(ScriptedProvider(), gate=gate, tools=[discovery.tool(name) for name in names], approver=Yes())

    async def call(name: str, **arguments: object) -> ToolResult:
        return await agent.call(name, arguments)

    return call


class Yes:
    """Agrees, and keeps what was shown."""

    shown: list[ApprovalRequest] = []

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        self.shown.append(request)
        return ApprovalAnswer(answer="allow", by="operator")


async def test_a_file_is_read_in_pages_with_numbers_if_wanted(use: Use, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"line {i}\n" for i in range(1, 11)))
    page = await use("file_read", path="a.txt", start_line=3, max_lines=2, line_numbers=True)
    assert page.content == "     3  line 3\n     4  line 4\n\n[6 more lines; go on with start_line=5]"
    assert (page.origin, page.trusted, page.truncated) == ("file", False, True)
    assert (await use("file_read", path="a.txt")).truncated is False
    assert (await use("file_read", path="a.txt", start_line=99)).code == "file.range"


async def test_text_of_other_encodings_is_read_and_binary_is_described(use: Use, tmp_path: Path) -> None:
    (tmp_path / "utf16").write_bytes("häl\n".encode("utf-16"))
    (tmp_path / "bad").write_bytes(b"a" * 1000 + b"\xff" + b"b" * 1000)
    (tmp_path / "p.png").write_bytes(PNG)
    (tmp_path / "nul").write_bytes(b"a\0b")
    (tmp_path / "noise").write_bytes(bytes(range(128, 256)) * 50)
    (tmp_path / "empty").write_bytes(b"")
    assert (await use("file_read", path="utf16")).content == "häl\n"
    assert "[1 bytes are no valid text" in (await use("file_read", path="bad")).content
    picture = await use("file_read", path="p.png")
    assert picture.content == "binary, image/png, 28 bytes"
    assert picture.parts == (ImagePart(media_type="image/png", data=PNG),)
    for name in ("nul", "noise"):
        assert "no text to read" in (await use("file_read", path=name)).content
    assert (await use("file_read", path="empty")).content == ""
    (tmp_path / "huge").write_bytes(b"x" * (4 * 1024 * 1024 + 5))
    assert "[only the first 4,194,304" in (await use("file_read", path="huge")).content[-100:]


@pytest.mark.parametrize("name", ["file_read", "file_edit"])
async def test_what_the_system_refuses_is_told_with_what_may_be_meant(use: Use, tmp_path: Path, name: str) -> None:
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "sub").mkdir()
    more = {"old": "x", "new": "y"} if name == "file_edit" else {}
    missing = await use(name, path="note.txt", **more)
    assert (missing.code, "notes.txt" in missing.content) == ("file.missing", True)
    assert (await use(name, path="sub", **more)).code == "file.is_directory"
    assert (await use(name, path="notes.txt/x", **more)).code == "file.not_directory"
    assert (await use(name, path="none/x", **more)).code == "file.missing"
    assert (await use(name, path="x" * 300, **more)).code == "file.failed"
    (tmp_path / "loop").symlink_to("loop")
    assert (await use(name, path="loop", **more)).code == "file.failed"
    assert (await use(name, path="../x", **more)).code == "policy.denied"


async def test_a_file_is_written_whole(use: Use, tmp_path: Path) -> None:
    result = await use("file_write", path="new/a.txt", content="ok \ud83d")
    assert result.content == "wrote 6 bytes to new/a.txt"
    assert (tmp_path / "new/a.txt").read_text() == "ok \ufffd"
    (tmp_path / "sub").mkdir()
    assert (await use("file_write", path="sub", content="x")).code == "file.is_directory"


async def test_an_edit_changes_exactly_one_place_and_keeps_line_ends_and_marks(use: Use, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\nthree")
    assert not (await use("file_edit", path="a.txt", old="one\ntwo", new="1\n2\r\nx")).is_error
    assert path.read_bytes() == b"\xef\xbb\xbf1\r\n2\r\nx\r\nthree"
    path.write_text("aaa\nbaab\n")
    many = await use("file_edit", path="a.txt", old="aa", new="x")
    assert (many.code, "3 times (lines 1, 1, 2)" in many.content) == ("edit.many", True)
    none = await use("file_edit", path="a.txt", old="baaab", new="x")
    assert (none.code, "number 2" in none.content) == ("edit.none", True)
    assert (await use("file_edit", path="a.txt", old="zzzz", new="x")).code == "edit.none"
    assert (await use("file_edit", path="a.txt", old="", new="x")).code == "edit.empty"
    path.write_bytes(PNG)
    assert (await use("file_edit", path="a.txt", old="P", new="x")).code == "file.binary"
    path.write_bytes(b"x" * (8 * 1024 * 1024 + 1))
    assert (await use("file_edit", path="a.txt", old="P", new="x")).code == "file.too_large"


async def test_a_folder_is_listed_with_kinds(use: Use, tmp_path: Path) -> None:
    assert (await use("list_directory")).content == "(empty folder)"
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.txt").touch()
    (tmp_path / "way").symlink_to("a.txt")
    assert (await use("list_directory", path=".")).content == "a.txt\nsub/\nway@"
    assert (await use("list_directory", path="a.txt")).code == "file.not_directory"
    assert (await use("list_directory", path="none")).code == "file.missing"
    for i in range(1001):
        (tmp_path / "sub" / str(i)).touch()
    assert "[more than 1000 entries" in (await use("list_directory", path="sub")).content


async def test_names_and_lines_are_searched(use: Use, tmp_path: Path) -> None:
    (tmp_path / "src" / ".git").mkdir(parents=True)
    (tmp_path / "src" / "a.py").write_text("def x():\n    return 'TODO'\n")
    (tmp_path / "src" / "b.md").write_text("todo\n")
    (tmp_path / "src" / ".git" / "c.py").write_text("TODO")
    (tmp_path / "src" / "bin").write_bytes(b"TODO\0")
    assert (await use("glob_search", pattern="**/*.py")).content == "src/.git/c.py\nsrc/a.py"
    assert (await use("glob_search", pattern="*.py")).content == "no files match (normal)"
    assert (await use("glob_search", pattern="**", path="none")).code == "file.missing"
    found = await use("content_search", pattern=r"TO\w+")
    assert found.content == "src/a.py:2:     return 'TODO'"
    both = await use("content_search", pattern="todo", ignore_case=True, files="*", path="src")
    assert both.content == "src/a.py:2:     return 'TODO'\nsrc/b.md:1: todo"
    assert (await use("content_search", pattern="x", path="src/b.md")).content == "no matches (normal)"
    one = await use("content_search", pattern=".", max_matches=1)
    assert "[more than 1 matches" in one.content
    assert (await use("content_search", pattern="(")).code == "search.pattern"
    assert (await use("content_search", pattern="x", path="none")).code == "file.missing"
    for i in range(501):
        (tmp_path / f"{i}.log").touch()
    assert "[more than 500 files" in (await use("glob_search", pattern="*.log")).content


async def test_a_pattern_that_would_take_for_ever_elsewhere_is_quick(use: Use, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a" * 1900 + "!")
    for pattern in ("(a|a)*b", "((a+))+$", "(a|aa)+$", "a*a*a*a*a*b"):
        assert (await use("content_search", pattern=pattern)).content == "no matches (normal)"


async def test_a_command_tells_its_streams_its_exit_and_what_is_normal(use: Use, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x\n")
    both = await use("shell", command="echo out; echo err >&2; exit 3")
    assert (both.content, both.code) == ("out\nstderr:\nerr\n[exit code 3]", "command.failed")
    assert both.details["exit_code"] == 3
    nothing = await use("shell", command="grep needle a.txt")
    assert (nothing.content, nothing.is_error) == ("[exit code 1: no matches (normal)]", False)
    slow = await use("shell", command="sleep 30", timeout_s=1)
    assert (slow.code, "[stopped after 1 s]" in slow.content) == ("command.timed_out", True)
    assert (await use("shell", command="true")).content == ""
    assert "in the workspace, at most 120 s" in Yes.shown[-1].preview


async def test_what_changes_is_shown_before_a_person_agrees(tmp_path: Path) -> None:
    gate, person = Gate.of(level="supervised", workspace=tmp_path), Yes()
    tools = [discovery.tool("file_write"), discovery.tool("file_edit")]
    agent = Agent(ScriptedProvider(), gate=gate, tools=tools, approver=person)
    await agent.call("file_write", {"path": "a.txt", "content": "one\n"})
    assert person.shown[-1].preview == "--- a/a.txt\n+++ b/a.txt\n@@ -0,0 +1 @@\n+one"
    await agent.call("file_edit", {"path": "a.txt", "old": "one", "new": "two"})
    assert "-one\n+two" in person.shown[-1].preview
    await agent.call("file_write", {"path": "a.txt", "content": "\n".join(map(str, range(500)))})
    assert "more lines of the diff" in person.shown[-1].preview
    (tmp_path / "a.txt").write_bytes(PNG)
    await agent.call("file_write", {"path": "a.txt", "content": "x"})
    assert person.shown[-1].preview == "replaces 28 binary bytes of a.txt"


async def test_a_long_file_is_searched_to_its_end_and_one_that_is_too_long_is_named(use: Use, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("".join(f"line {i} ä\n" for i in range(400_000)) + "needle ß")
    (tmp_path / "wide.txt").write_bytes("one\r\nneedle\r\n".encode("utf-16"))
    (tmp_path / "old.bin").write_bytes(b"needle\0" * 10)
    with (tmp_path / "huge.txt").open("wb") as file:
        file.truncate(65 * 1024 * 1024)
    found = await use("content_search", pattern="needle|line 399999 ")
    assert found.content.splitlines() == [
        "long.txt:400000: line 399999 ä",
        "long.txt:400001: needle ß",
        "wide.txt:2: needle",
        "[not searched, because longer than 67,108,864 bytes: huge.txt]",
    ]
    assert (await use("content_search", pattern="^$", path="long.txt")).content == "no matches (normal)"


async def test_an_edit_keeps_the_line_ends_of_the_place_it_is_made(use: Use, tmp_path: Path) -> None:
    mixed = tmp_path / "mixed.txt"
    mixed.write_bytes(b"one\r\ntwo\nthree\r\nfour")
    await use("file_edit", path="mixed.txt", old="one", new="1\n1b")
    await use("file_edit", path="mixed.txt", old="two\nth", new="2\nth")
    await use("file_edit", path="mixed.txt", old="three\nfour", new="3\n4")
    assert mixed.read_bytes() == b"1\r\n1b\r\n2\n3\r\n4"


async def test_the_exit_code_of_a_pipeline_is_not_explained_by_its_first_word(use: Use, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\n")
    plain = await use("shell", command="grep nothing a")
    assert (plain.is_error, plain.content, plain.trusted) == (False, "[exit code 1: no matches (normal)]", False)
    piped = await use("shell", command="grep x a | false")
    assert (piped.is_error, piped.code) == (True, "command.failed")


async def test_output_that_only_talks_of_what_was_left_out_is_not_cut(use: Use, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("[... 3 of 9 bytes left out ...]\n")
    (tmp_path / "b").write_text("x" * 70_000)
    assert (await use("shell", command="grep -h . a")).truncated is False
    assert (await use("shell", command="grep -h . b")).truncated is True
