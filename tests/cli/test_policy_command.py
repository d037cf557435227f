"""``ferrule policy``: the rules in words and as data, and why a call is allowed, asked about or refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.effects._program import Place
from tests.effects.test_outside_package import installed

CONFIG = """
[agents.default]
risk_profile = "careful"

[agents.reader]
risk_profile = "read_only"
tools = ["file_read"]

[agents.reader.show]
tools = { deny = ["shell"] }

[[agents.reader.capabilities]]
type = "tool"
name = "file_read"

[[agents.reader.capabilities]]
type = "file_read"
glob = "workspace:**"

[risk_profiles.careful]
level = "supervised"
allowed_commands = ["ls", "git"]
"""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    made.write(CONFIG)
    return made


async def test_show_tells_every_rule_in_words_and_as_data(place: Place) -> None:
    text = (await place.run("policy", "show", "--agent", "reader")).out
    for words in (
        "level: read_only",
        f"works in: {place.folder}",
        f"never, unless a folder above lies deeper: {place.home}",
        "shown tools: all but shell",
        "  allow file_read /**\n",
        "capabilities, list 2: all lists must agree\n  allow tool file_read\n",
        "refused by name: content_search, file_edit",
    ):
        assert words in text
    facts = json.loads((await place.run("policy", "show", "--json")).out)
    assert facts["level"] == "supervised"
    assert facts["allowed_commands"] == ["git", "ls"]
    assert facts["tools"]["shell"] == "callable"
    assert facts["revision"] in (await place.run("policy", "show")).out
    assert {"workspace", "roots", "forbidden", "unrestricted", "approvers", "show", "capabilities"} <= facts.keys()


@pytest.mark.parametrize(
    ("arguments", "first", "step"),
    [
        (("--tool", "shell"), "allow (rule declares.nothing)", "allow  shell: granted [grant.tool]"),
        (("--tool", "shell", "--agent", "reader"), "deny (rule show.tools)", "all but shell [show.tools]"),
        (("--path", "a.txt"), "allow (rule path.readable)", "[path.inside]"),
        (("--path", "a.txt", "--write"), "ask (rule level.supervised.write)", "ask    files.write a.txt: writes a.txt"),
        (("--path", "/etc/passwd"), "deny (rule path.outside)", "it lies in no folder of the agent"),
        (("--command", "ls; rm x"), "ask (rule command.risk.high)", "ask    rm: "),
        (("--command", ""), "ask (rule command.unknown)", "runs a command that is not known before"),
    ],
)
async def test_explain_says_the_decision_first_and_then_each_rule(
    place: Place, arguments: tuple[str, ...], first: str, step: str
) -> None:
    ran = await place.run("policy", "explain", *arguments)
    assert ran.out.splitlines()[0] == first
    assert step in ran.out
    facts = json.loads((await place.run("policy", "explain", *arguments, "--json")).out)
    assert first == f"{facts['decision']} (rule {facts['rule']})"
    assert facts["steps"]


@pytest.mark.parametrize("arguments", [(), ("--tool", "a", "--path", "b"), ("--tool", "a", "--write")])
async def test_explain_wants_one_thing(place: Place, arguments: tuple[str, ...]) -> None:
    ran = await place.run("policy", "explain", *arguments)
    assert ran.code == 2
    assert "fix:" in ran.err


async def test_diff_tells_where_two_agents_differ_and_who_has_more(place: Place) -> None:
    text = (await place.run("policy", "diff", "default", "reader")).out
    assert "level:\n  default: supervised\n  reader: read_only\n" in text
    assert "default has more than reader: " in text
    facts = json.loads((await place.run("policy", "diff", "default", "default", "--json")).out)
    assert facts == {
        "fields": {},
        "first_within_second": True,
        "second_within_first": True,
        "wider": {"default": []},
    }
    gone = await place.run("policy", "diff", "default", "nobody")
    assert gone.code == 2
    assert "reader" in gone.err


async def test_migrate_prints_grants_that_mean_the_same(place: Place, tmp_path: Path) -> None:
    environ = installed(tmp_path)
    place.write('[agents.default]\ntools = ["shell", "roll_dice"]\n[security.tools]\nfiles = false\n')
    before = json.loads((await place.run("policy", "show", "--json", environ=environ)).out)
    printed = await place.run("policy", "migrate", environ=environ)
    assert "(off: files)" in printed.out
    place.write(f'[agents.default]\ntools = ["shell", "roll_dice"]\n{printed.out}')
    after = json.loads((await place.run("policy", "show", "--json", environ=environ)).out)
    assert after["tools"] == before["tools"]
    (one,), (two,) = before["capabilities"], after["capabilities"]
    assert [grant for grant in one if grant["kind"] != "delegate"] == two
    assert {"kind": "tool", "patterns": ["roll_dice"], "effect": "allow", "ceiling": []} in two
    assert "already grant" in (await place.run("policy", "migrate", environ=environ)).out
