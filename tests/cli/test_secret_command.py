from __future__ import annotations

import asyncio
import json
import os
import pty
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ferrule.app.checkup import check_up
from ferrule.cli.config_command import config
from ferrule.cli.secret_command import secret
from ferrule.storage.vault import INSTALL, Altered, KeyMissing, vault_in
from ferrule.storage.vault.cipher import new_key
from ferrule.testing.mock_llm import MockLLM, say
from ferrule.types.errors import ConfigError, UsageError
from tests.effects._program import Place

KEY = "providers.openai.main.api_key"
CONFIG = """\
# mine
[providers.openai.main]
model = "m"
api_key = "sk-canary-plain"      # secret

[agents.writer]
instructions = "be brief"   # short
"""

Run = Callable[..., Result]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    (folder / "config.toml").write_text(CONFIG)
    (folder / "config.toml").chmod(0o600)
    return folder


@pytest.fixture
def run(home: Path) -> Run:
    """Run the command in this process, with `piped` on standard input."""

    def invoke(*arguments: str, piped: str | bytes = "", **environ: str) -> Result:
        home_set = {"FERRULE_HOME": str(home), **environ}
        return CliRunner().invoke(secret, list(arguments), input=piped, env=home_set, standalone_mode=False)

    return invoke


def everything(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file())


def test_a_key_of_the_config_is_encrypted_in_place_and_no_former_version_keeps_it_readable(
    run: Run, home: Path
) -> None:
    done = run("set", KEY, piped="sk-canary-new\n")
    assert (done.exit_code, done.output) == (0, f"{KEY}: encrypted in {home}/config.toml\n")
    text = (home / "config.toml").read_text()
    value = text.partition('api_key = "')[2].partition('"')[0]
    assert vault_in(home / "vault", {}).open(value, namespace=INSTALL, place=KEY) == "sk-canary-new"
    assert text == CONFIG.replace("sk-canary-plain", value)
    assert (home / "config.toml.bak").exists()
    assert b"canary" not in everything(home)


def test_a_named_secret_is_kept_and_the_config_refers_to_it(run: Run, home: Path) -> None:
    done = run("set", "openai", piped="sk-canary\r\n")
    assert '{ secret = "openai" }' in done.output
    environ = {"FERRULE_HOME": str(home)}
    CliRunner().invoke(config, ["set", KEY, '{ secret = "openai" }'], env=environ)
    assert CliRunner().invoke(config, ["validate"], env=environ).exit_code == 0
    assert CliRunner().invoke(config, ["get", KEY], env=environ).output == '{ secret = "openai" }\n'
    assert run("list").output == f"openai: in vault, opens, used by {KEY}\n"
    refused = run("remove", "openai")
    assert isinstance(refused.exception, UsageError)
    assert KEY in str(refused.exception)
    assert vault_in(home / "vault", {}).get(INSTALL, "openai") == "sk-canary"


def test_the_value_is_never_an_argument_and_is_not_repeated(run: Run, home: Path) -> None:
    refused = run("set", "openai", "sk-canary-argument")
    assert isinstance(refused.exception, UsageError)
    assert "canary" not in f"{refused.exception} {refused.exception.hint} {refused.output}"
    assert not (home / "vault").exists()


@pytest.mark.parametrize(
    ("arguments", "piped", "words"),
    [
        (["set", "openai"], "", "empty"),
        (["set", "openai"], "\n", "empty"),
        (["set", "openai"], b"\xff\xfe", "not UTF-8"),
        (["set", "Open AI"], "sk-canary", "no name for a secret"),
        (["set", "../key"], "sk-canary", "is not a key"),
        (["set", "a/"], "sk-canary", "no name for a secret"),
        (["set", "providers.openai.main.model"], "sk-canary", "is no secret"),
        (["set", "providers.openai.other.api_key"], "sk-canary", "model"),
        (["set", KEY, "--agent", "writer"], "sk-canary", "needs no --agent"),
        (["set", "openai", "--agent", "anna"], "sk-canary", "there is no agent 'anna'"),
        (["set", "openai"], "x" * 65_537, "longer than 65536 bytes"),
        (["remove", "openai"], "", "there is no secret"),
        (["remove", KEY], "", "there is no secret"),
    ],
)
def test_what_cannot_be_done_is_said_and_changes_nothing(
    run: Run, home: Path, arguments: list[str], piped: str | bytes, words: str
) -> None:
    refused = run(*arguments, piped=piped)
    assert refused.exception is not None
    assert words in str(refused.exception)
    assert "canary" not in f"{refused.exception} {refused.output}"
    assert (home / "config.toml").read_text() == CONFIG
    assert not (home / "vault" / "secrets.json").exists()


def test_each_agent_has_names_of_its_own(run: Run) -> None:
    run("set", "token", piped="sk-one")
    run("set", "token", "--agent", "writer", piped="sk-two")
    run("set", "token2", "--agent", "default", piped="sk-three")
    assert run("list").output.splitlines() == [
        "token: in vault, opens",
        "token2 (agent/default): in vault, opens",
        "token (agent/writer): in vault, opens",
    ]
    assert run("remove", "token").exit_code == 0
    mistyped = run("remove", "tokem", "--agent", "writer")
    assert isinstance(mistyped.exception, UsageError)
    assert mistyped.exception.hint == "did you mean 'token'?"
    assert run("list").output.count("token") == 2


def test_an_encrypted_key_of_the_config_can_be_removed(run: Run, home: Path) -> None:
    run("set", KEY, piped="sk-canary")
    assert run("remove", KEY).exit_code == 0
    assert "api_key" not in (home / "config.toml").read_text()


def test_the_list_says_what_does_not_open_and_why_and_never_a_value(run: Run, home: Path) -> None:
    run("set", KEY, piped="sk-canary-1")
    run("set", "kept", piped="sk-canary-2")
    with (home / "config.toml").open("a") as file:
        file.write('[providers.openai.b]\nmodel = "m"\napi_key = { secret = "gone" }\n')
    (home / "vault" / "key").write_text(new_key().text)
    shown = run("list")
    assert [line.partition(": the value was")[0] for line in shown.output.splitlines()] == [
        "gone: DOES NOT OPEN: it is not there: ferrule secret set gone, used by providers.openai.b.api_key",
        "kept: in vault, DOES NOT OPEN",
        f"{KEY}: in config.toml, DOES NOT OPEN",
    ]
    rows = json.loads(run("list", "--json").output)
    assert [(row["name"], row["kept"], row["opens"]) for row in rows] == [
        ("gone", "", False),
        ("kept", "vault", False),
        (KEY, "config.toml", False),
    ]
    assert "canary" not in shown.output
    files = [home / "config.toml", home / "vault" / "secrets.json"]
    before = [path.read_bytes() for path in files]
    rotated = run("rotate")
    assert rotated.return_value == 1
    assert rotated.stderr.count("does not open") == 2
    assert [path.read_bytes() for path in files] == before, "what does not open is never overwritten"


def test_after_the_key_was_lost_one_can_begin_anew_but_not_by_accident(run: Run, home: Path) -> None:
    run("set", KEY, piped="sk-canary-1")
    (home / "vault" / "key").unlink()
    refused = run("set", "other", piped="sk-canary-2")
    assert isinstance(refused.exception, KeyMissing)
    assert run("remove", KEY).exit_code == 0
    assert run("set", "other", piped="sk-canary-2").exit_code == 0


def test_a_rotation_moves_config_former_versions_and_vault(run: Run, home: Path) -> None:
    run("set", KEY, piped="sk-canary-1")
    run("set", KEY, piped="sk-canary-2")
    run("set", "named", piped="sk-canary-3")
    text = (home / "config.toml").read_text()
    done = run("rotate")
    assert (done.return_value, done.output) == (0, "new key: 4 values encrypted anew\n"), "two are in former versions"
    assert "DOES NOT" not in run("list").output
    after = (home / "config.toml").read_text()
    assert after != text
    assert after.partition("enc2:")[0] == text.partition("enc2:")[0]
    assert after.endswith("# short\n")
    former = (home / "config.toml.bak").read_text().partition('api_key = "')[2].partition('"')[0]
    assert vault_in(home / "vault", {}).open(former, namespace=INSTALL, place=KEY) == "sk-canary-1"


def test_an_interrupted_rotation_is_noted_and_finished(run: Run, home: Path) -> None:
    run("set", "named", piped="sk-canary")
    (home / "vault" / "key.next").write_text(new_key().text)
    (home / "vault" / "key.next").chmod(0o600)
    assert "the old key is still there" in run("list").stderr
    assert run("rotate").output == "the rotation that was interrupted is finished: 1 value encrypted anew\n"
    assert run("list").stderr == ""


def test_a_config_with_faults_does_not_stop_a_rotation(run: Run, home: Path) -> None:
    run("set", KEY, piped="sk-canary")
    with (home / "config.toml").open("a") as file:
        file.write("this is no TOML\n")
    assert run("rotate").return_value == 0
    assert isinstance(run("list").exception, ConfigError)


def test_a_damaged_value_is_a_vault_error_with_a_fix(run: Run, home: Path) -> None:
    run("set", "named", piped="sk-canary")
    path = home / "vault" / "secrets.json"
    path.write_text(path.read_text().replace('"\n', 'AAAA"\n', 1))
    with pytest.raises(Altered) as raised:
        vault_in(home / "vault", {}).get(INSTALL, "named")
    assert "ferrule secret set" in str(raised.value.hint)


async def test_the_doctor_says_what_does_not_open(run: Run, home: Path) -> None:
    run("set", "named", piped="sk-canary")
    environ = {"FERRULE_HOME": str(home)}

    async def findings() -> list[tuple[str, str]]:
        return [(found.state, found.text) for found in await check_up(environ) if found.topic == "secrets"]

    assert await findings() == [("ok", "1 opens")]
    run("set", KEY, piped="sk-canary")
    assert await findings() == [("ok", "2 open")]
    (home / "vault" / "key.next").write_text(new_key().text)
    (home / "vault" / "key.next").chmod(0o600)
    assert [state for state, _ in await findings()] == ["warning"]
    (home / "vault" / "key").write_text(new_key().text)
    assert [state for state, _ in await findings()] == ["error", "error", "warning"]
    (home / "vault" / "secrets.json").write_text("{")
    assert [state for state, _ in await findings()] == ["error"]


def test_a_secret_too_short_to_be_masked_is_noted(run: Run) -> None:
    assert "not masked" in run("set", "pin", piped="1234").stderr


async def started(place: Place, *arguments: str, stdin: int = asyncio.subprocess.PIPE) -> asyncio.subprocess.Process:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI", "FERRULE"))}
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ferrule", *arguments),
        cwd=place.folder,
        env={**kept, "FERRULE_HOME": str(place.home), "TERM": "dumb"},
        stdin=stdin,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )


async def test_an_encrypted_key_is_sent_to_the_model_and_seen_nowhere_else(tmp_path: Path) -> None:
    place = Place(tmp_path)
    async with MockLLM([say("it is sk-canary-42, and in base64 c2stY2FuYXJ5LTQy")]) as server:
        place.write(f'[providers.openai.main]\nmodel = "m"\nbase_url = "{server.base_url}"\n')
        process = await started(place, "secret", "set", KEY)
        out, err = await asyncio.wait_for(process.communicate(b"sk-canary-42\n"), 40)
        assert process.returncode == 0, err.decode()
        ran = await place.run("run", "--json", "what is the key?")
    assert ran.code == 0, ran.err
    assert {request.headers["authorization"] for request in server.requests} == {"Bearer sk-canary-42"}
    assert "[secret]" in ran.out
    seen = out + err + ran.out.encode() + ran.err.encode() + everything(place.home)
    for text in (b"sk-canary-42", b"c2stY2FuYXJ5LTQy"):
        assert text not in seen


async def test_the_key_of_the_vault_is_masked_like_a_secret_wherever_it_comes_from(tmp_path: Path) -> None:
    place, key = Place(tmp_path), new_key().text
    async with MockLLM([say(f"the key is {key}")]) as server:
        place.write(f'[providers.openai.main]\nmodel = "m"\nbase_url = "{server.base_url}"\n')
        ran = await place.run("run", "--json", "go", environ={"FERRULE_KEY": key})
    assert "[secret]" in ran.out
    assert key.encode() not in ran.out.encode() + ran.err.encode() + everything(place.home)


async def test_a_value_that_does_not_open_ends_a_run_before_anything_is_sent(tmp_path: Path) -> None:
    place = Place(tmp_path)
    async with MockLLM([say("never asked")]) as server:
        place.write(f'[providers.openai.main]\nmodel = "m"\nbase_url = "{server.base_url}"\napi_key = "enc2:AXBF"\n')
        ran = await place.run("run", "go")
        assert server.requests == []
    assert ran.code == 2
    assert "config.toml:4: providers.openai.main.api_key: the encrypted value is cut off" in ran.err
    assert "Traceback" not in ran.err


async def test_a_person_at_a_terminal_is_asked_and_the_answer_is_not_echoed(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.write("")
    ours, theirs = pty.openpty()
    process = await started(place, "secret", "set", "openai", stdin=theirs)
    os.close(theirs)
    assert process.stderr is not None
    echoed = b""
    async with asyncio.timeout(40):
        asked = b""
        while b"openai" not in asked:
            asked += await process.stderr.read(100)
        await asyncio.to_thread(os.write, ours, b"sk-canary-typed\n")
        out, err = await process.communicate()
        while chunk := await asyncio.to_thread(read_terminal, ours):
            echoed += chunk
    os.close(ours)
    assert process.returncode == 0, err.decode()
    assert b"canary" not in asked + out + err + echoed
    assert vault_in(place.home / "vault", {}).get(INSTALL, "openai") == "sk-canary-typed"


def read_terminal(descriptor: int) -> bytes:
    """Read what the terminal shows; b"" at its end."""
    try:
        return os.read(descriptor, 4096)
    except OSError:
        return b""
