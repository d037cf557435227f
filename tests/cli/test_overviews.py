"""Commands that show what there is, before anything runs."""

from __future__ import annotations

import json
from pathlib import Path

from tests.effects._program import Place

CONFIG = """
[providers.openai.main]
model = "m"

[agents.default]
provider = "openai.main"

[agents.reader]
provider = "openai.main"
risk_profile = "careful"
tools = ["file_read", "glob_search"]
workspace.path = "{workspace}"

[risk_profiles.careful]
level = "read_only"
"""


def place_for(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    (tmp_path / "papers").mkdir()
    place.write(CONFIG.format(workspace=tmp_path / "papers"))
    return place


async def test_agents_are_listed_with_who_answers_their_level_and_their_folder(tmp_path: Path) -> None:
    place = place_for(tmp_path)
    listed = await place.run("agents", "list")
    assert listed.out.splitlines()[1] == (
        f"reader            openai.main, read_only, 2 tools, in {tmp_path / 'papers'}"
    ), listed.err
    facts = json.loads((await place.run("agents", "list", "--json")).out)
    assert [(agent["alias"], agent["level"]) for agent in facts] == [("default", "supervised"), ("reader", "read_only")]
    assert facts[0]["workspace"] == str(place.folder)


async def test_a_tool_is_shown_with_its_arguments_and_what_it_may_touch(tmp_path: Path) -> None:
    place = place_for(tmp_path)
    shown = await place.run("tools", "show", "shell")
    assert "command         string, required. The command line." in shown.out
    assert "timeout_s       number, optional. Seconds until it is stopped." in shown.out
    assert shown.out.endswith("May touch: command.run\n")
    facts = json.loads((await place.run("tools", "show", "file_read", "--json")).out)
    assert (facts["name"], facts["needs"]) == ("file_read", ["files.read"])
    assert facts["schema"]["type"] == "object"


async def test_a_tool_that_an_agent_is_not_shown_is_an_error_that_lists_what_it_is_shown(tmp_path: Path) -> None:
    refused = await place_for(tmp_path).run("tools", "show", "shell", "--agent", "reader")
    assert (refused.code, refused.err) == (
        2,
        "error: reader is shown no tool 'shell'\n  fix: it is shown file_read, glob_search\n",
    )


async def test_doctor_names_the_tools_that_grants_leave_out(tmp_path: Path) -> None:
    more = '[[capabilities]]\ntype = "tool"\nname = "[a-e]*"\n[security.tools]\nfiles = true\n'
    place = place_for(tmp_path)
    assert "[[capabilities]]" not in (await place.run("doctor")).out
    place.write(more)
    ran = await place.run("doctor")
    assert "[[capabilities]] refuses file_edit, file_read, file_write" in ran.out
    assert "security.tools.files" in ran.out
    assert "content_search" not in ran.out
