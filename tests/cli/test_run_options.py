"""`ferrule run`: what is set for one run, and what is sent along."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.testing.mock_llm import MockLLM, call, say
from tests.cli._program import in_shell, place_for

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8


async def test_the_model_is_asked_for_this_run_only(tmp_path: Path) -> None:
    async with MockLLM([say("one"), say("two")]) as server:
        place = place_for(tmp_path, server)
        assert (await place.run("run", "hi", "--model", "other")).out == "one\n"
        assert (await place.run("run", "hi")).out == "two\n"
        assert [(r.json or {})["model"] for r in server.requests] == ["other", "m"]


async def test_a_model_of_this_machine_is_a_file_that_exists(tmp_path: Path) -> None:
    place = place_for(tmp_path, None, "[providers.local.demo]")
    ran = await place.run("run", "hi", "--model", "other")
    assert (ran.code, "model: there is no file" in ran.err, "other" in ran.err) == (2, True, True)


async def test_the_folder_is_the_workspace_of_an_agent_that_names_none(tmp_path: Path) -> None:
    async with MockLLM([call("file_read", {"path": "a.txt"}), say("done")]) as server:
        place = place_for(tmp_path, server)
        (place.folder / "in").mkdir()
        (place.folder / "in" / "a.txt").write_text("found")
        ran = await place.run("run", "go", "--cwd", "in", "--json")
    assert [event["is_error"] for event in ran.events("tool.finished")] == [False]


async def test_the_folder_must_lie_where_a_named_workspace_allows(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "in").mkdir(parents=True)
    (work / "in" / "a.txt").write_text("found")
    named = f'[agents.default]\nprovider = "openai.main"\n[agents.default.workspace]\npath = "{work}"\n'
    async with MockLLM([call("file_read", {"path": "a.txt"}), say("done")]) as server:
        place = place_for(tmp_path, server, named)
        outside = await place.run("run", "go", "--cwd", str(tmp_path))
        assert (outside.code, server.requests) == (2, [])
        assert "outside the workspace" in outside.err
        assert f"name a folder in {work}" in outside.err
        inside = await place.run("run", "go", "--cwd", str(work / "in"), "--json")
    assert [event["is_error"] for event in inside.events("tool.finished")] == [False]


@pytest.mark.parametrize("limit", [("--max-rounds", "1"), ("--max-tokens", "5")])
async def test_a_limit_of_one_run_ends_it_with_its_own_exit_code(tmp_path: Path, limit: tuple[str, str]) -> None:
    async with MockLLM([call("list_directory", {"path": "."}), say("done")]) as server:
        ran = await place_for(tmp_path, server).run("run", "go", *limit)
        assert (ran.code, len(server.requests)) == (4, 1)
    assert "fix: " in ran.err


async def test_images_documents_and_text_go_along(tmp_path: Path) -> None:
    async with MockLLM([say("seen")]) as server:
        place = place_for(tmp_path, server)
        for name, data in (("a.png", PNG), ("b.pdf", b"%PDF-1.4 x"), ("c.txt", "\ufeffwörds".encode())):
            (place.folder / name).write_bytes(data)
        ran = await place.run("run", "look", "--attach", "a.png", "--attach", "b.pdf", "--attach", "c.txt")
        assert ran.code == 0, ran.err
        blocks = (server.requests[0].json or {})["messages"][-1]["content"]
    assert [block["type"] for block in blocks] == ["text", "image_url", "file"]
    assert blocks[0]["text"] == "look\nFile c.txt:\nwörds"
    assert blocks[1]["image_url"]["url"].startswith("data:image/png;base64,")
    assert blocks[2]["file"]["filename"] == "b.pdf"


UNSENDABLE = [
    ("ferrule run hi --attach none", "there is no such file", "check its path"),
    ("ferrule run hi --attach .", "it is a folder", "name the files in it"),
    (": >a; ferrule run hi --attach a", "the file is empty", "name a file"),
    ("mkfifo a; ferrule run hi --attach a", "it is no ordinary file", "copy what it gives"),
    ("ferrule run hi --attach /dev/zero", "it is no ordinary file", "copy what it gives"),
    ("ln -s a a; ferrule run hi --attach a", "symbolic links", "check its path"),
    ("printf 'a\\0b' >a.png; ferrule run hi --attach a.png", "neither UTF-8 text", "convert it"),
    ("printf 'a\\377' >a; ferrule run hi --attach a", "neither UTF-8 text", "iconv"),
    ("truncate -s 21M a; ferrule run hi --attach a", "longer than 20 MiB", "shrink or split"),
    ("ferrule run hi --cwd none", "there is no folder 'none'", "correct --cwd"),
]


@pytest.mark.parametrize(("line", "cause", "fix"), UNSENDABLE)
async def test_what_cannot_be_used_is_told_before_anything_is_asked(
    tmp_path: Path, line: str, cause: str, fix: str
) -> None:
    async with MockLLM([say("asked")]) as server:
        ran = await in_shell(place_for(tmp_path, server), line)
        assert (ran.code, server.requests) == (2, []), ran.err
    assert cause in ran.err
    assert fix in ran.err
    assert "Traceback" not in ran.err
