from __future__ import annotations

import difflib
import multiprocessing
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.config.document import digest_of
from ferrule.config.edit import Conflict, Editor
from ferrule.config.overrides import read_value
from ferrule.config.problems import InvalidConfig
from ferrule.config.rewrite import lead, put, remove, steps
from ferrule.config.shape import Shape
from ferrule.types.errors import UsageError
from tests.config._adapters import ADAPTERS

COMMENTED = """\
# my config
schema_version   =  1   # keep

[providers.acme.main]  # the good one
model = 'm'            # trailing
# api_key = "commented out"
   retries = 3

  # before a table
[agents.main]
provider = "acme.main"
tools = [ # inside
  "shell",   # why
]

# the other one
[agents.other]
provider = "acme.main"
# the end
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A private config."""
    file = tmp_path / "config.toml"
    file.write_text(COMMENTED)
    file.chmod(0o600)
    return file


@pytest.fixture
def editor(path: Path) -> Editor:
    return Editor(path=path, adapters=ADAPTERS)


def changed(before: str, after: str) -> list[str]:
    """List the lines that differ, with their sign."""
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    return [line for line in lines if line.startswith(("+", "-"))]


def test_a_changed_value_is_one_changed_line(path: Path, editor: Editor) -> None:
    editor.set("providers.acme.main.model", "x")
    assert changed(COMMENTED, path.read_text()) == [
        "- model = 'm'            # trailing",
        '+ model = "x"            # trailing',
    ]


@pytest.mark.parametrize(
    ("key", "value", "after"),
    [
        ("agents.main.instructions", "be brief", ("]", 'instructions = "be brief"')),
        ("agents.other.instructions", "be brief", ('provider = "acme.main"', 'instructions = "be brief"')),
        ("providers.acme.main.base_url", "http://x", ("   retries = 3", '   base_url = "http://x"')),
        (
            "providers.acme.main.api_key",
            '{ env = "KEY" }',
            (None, 'api_key = {env = "KEY"}'),
        ),
    ],
    ids=["below a list", "before a last comment", "indented like its neighbour", "a reference"],
)
def test_a_new_key_is_one_new_line_in_its_table(
    path: Path, editor: Editor, key: str, value: str, after: tuple[str | None, str]
) -> None:
    editor.set(key, value)
    text = path.read_text()
    assert changed(COMMENTED, text) == [f"+ {after[1]}"]
    if after[0] is not None:
        lines = text.splitlines()
        assert lines[lines.index(after[1]) - 1] == after[0]


def test_a_new_table_does_not_take_keys_from_its_neighbours(path: Path, editor: Editor) -> None:
    before = tomllib.loads(COMMENTED)
    editor.set("agents.third.provider", "acme.main")
    editor.set("agents.main.workspace.access.other", "read")
    editor.set("runtime_profiles.default.max_rounds", "unlimited")
    editor.set("observability.log_level", "debug")

    after = tomllib.loads(path.read_text())
    before["agents"]["third"] = {"provider": "acme.main"}
    before["agents"]["main"]["workspace"] = {"access": {"other": "read"}}
    before["runtime_profiles"] = {"default": {"max_rounds": "unlimited"}}
    before["observability"] = {"log_level": "debug"}
    assert after == before
    assert [line for line in changed(COMMENTED, path.read_text()) if line.startswith("-")] == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        ("true", True),
        ('"7"', "7"),
        ("[1, 2]", [1, 2]),
        ('["a"]', ["a"]),
        ("unlimited", "unlimited"),
        ("{ a = 1 }", {"a": 1}),
        ("1\nb = 2", "1\nb = 2"),
    ],
)
def test_a_value_is_toml_where_that_can_be_read_and_text_otherwise(text: str, value: object) -> None:
    from_text = tomllib.loads(put("", ("x",), value))["x"]
    assert from_text == value
    assert read(text) == value


def read(text: str) -> object:
    """Read a value for a key that may hold anything."""
    return read_value(text, ("x",), Shape({}))


def test_a_key_that_holds_text_gets_text(path: Path, editor: Editor) -> None:
    editor.set("agents.main.instructions", "true")
    editor.set("agents.other.instructions", '"quoted"')
    editor.set("providers.acme.main.model", "12")
    data = tomllib.loads(path.read_text())
    assert data["agents"]["main"]["instructions"] == "true"
    assert data["agents"]["other"]["instructions"] == "quoted"
    assert data["providers"]["acme"]["main"]["model"] == "12"


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("agents.main.tempreature", "1", "unknown key"),
        ("agents.main.provider", "acme.gone", r"there is no \[providers.acme.gone\]"),
        ("providers.acme.main.retries", "-1", "should be greater"),
        ("providers.acme.main.api_key", "***", "is the mask"),
        ("providers.acme.main.api_key", "${KEY}", r"write { env = \"KEY\" }"),
        ("gateway.port", "1", "not in this version"),
    ],
)
def test_a_change_that_would_make_a_fault_is_refused_and_nothing_is_written(
    path: Path, editor: Editor, key: str, value: str, message: str
) -> None:
    with pytest.raises(InvalidConfig, match=message):
        editor.set(key, value)
    assert path.read_text() == COMMENTED
    assert sorted(file.name for file in path.parent.iterdir()) == ["config.toml", "config.toml.lock"]


def test_a_plain_value_is_not_turned_into_a_table(editor: Editor) -> None:
    with pytest.raises(UsageError, match="schema_version is a plain value, no table"):
        editor.set("schema_version.x", "1")


@pytest.mark.parametrize("key", ["", "a b", "a = 1\nb", "a.", "x = { y", "[a]\nb"])
def test_a_key_that_is_none_is_refused(editor: Editor, key: str) -> None:
    with pytest.raises(UsageError, match=r"is not (a|one) key"):
        editor.set(key, "1")


def test_an_unset_key_is_one_line_less(path: Path, editor: Editor) -> None:
    editor.unset("providers.acme.main.retries")
    assert changed(COMMENTED, path.read_text()) == ["-    retries = 3"]


def test_an_unset_table_leaves_the_others(path: Path, editor: Editor) -> None:
    editor.unset("agents.other")
    assert list(tomllib.loads(path.read_text())["agents"]) == ["main"]


def test_what_is_not_in_the_file_cannot_be_unset(editor: Editor) -> None:
    for key in ("agents.main.instructions", "agents.main.provider.x", "runtime_profiles.x.y"):
        with pytest.raises(UsageError, match="is not in the file"):
            editor.unset(key)


def test_what_others_refer_to_cannot_be_unset(path: Path, editor: Editor) -> None:
    with pytest.raises(InvalidConfig, match=r"there is no \[providers.acme.main\]"):
        editor.unset("providers.acme.main")
    assert path.read_text() == COMMENTED


def test_an_editor_that_saw_an_older_version_gets_a_conflict(path: Path, editor: Editor) -> None:
    seen = digest_of(path.read_bytes())
    editor.set("agents.main.instructions", "one", expected=seen)
    with pytest.raises(Conflict) as raised:
        editor.set("agents.main.instructions", "two", expected=seen)
    assert raised.value.code == "config.conflict"
    assert 'instructions = "one"' in path.read_text()
    with pytest.raises(Conflict):
        editor.unset("agents.main.instructions", expected=seen)


def test_a_file_that_does_not_exist_is_made_private(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config.toml"
    Editor(path=path, adapters=ADAPTERS).set("agents.main.instructions", "x")
    assert path.read_text() == '[agents.main]\ninstructions = "x"\n'
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert not path.with_name("config.toml.bak").exists()


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_the_mode_of_the_file_is_kept_and_backups_are_private(path: Path, editor: Editor, mode: int) -> None:
    path.chmod(mode)
    editor.set("agents.main.instructions", "x")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert stat.S_IMODE(path.with_name("config.toml.bak").stat().st_mode) == 0o600


def test_the_two_former_versions_are_kept(path: Path, editor: Editor) -> None:
    for text in ("1", "2", "3"):
        editor.set("providers.acme.main.retries", text)
    backup = path.with_name("config.toml.bak")
    assert "retries = 2" in backup.read_text()
    assert "retries = 1" in backup.with_name("config.toml.bak.1").read_text()


def test_setting_what_is_already_so_writes_nothing(path: Path, editor: Editor) -> None:
    editor.set("providers.acme.main.retries", "3")
    assert path.read_text() == COMMENTED
    assert not path.with_name("config.toml.bak").exists()


def test_a_config_that_is_a_link_stays_one(path: Path, editor: Editor) -> None:
    real = path.parent / "dotfiles" / "ferrule.toml"
    real.parent.mkdir()
    path.rename(real)
    path.symlink_to(real)
    editor.set("providers.acme.main.retries", "4")
    assert path.is_symlink()
    assert "retries = 4" in real.read_text()
    assert path.with_name("config.toml.bak").read_text() == COMMENTED
    assert sorted(file.name for file in real.parent.iterdir()) == ["ferrule.toml", "ferrule.toml.lock"]


def test_what_a_killed_writer_left_behind_is_removed_by_the_next(path: Path, editor: Editor) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait(30)
    left = path.with_name(f".ferrule-{gone.pid}-abcd.tmp")
    left.write_text("half")
    editor.set("providers.acme.main.retries", "4")
    assert not left.exists()


def test_a_broken_file_is_not_written_over(path: Path, editor: Editor) -> None:
    path.write_text("[agents\n")
    with pytest.raises(InvalidConfig, match="not TOML"):
        editor.set("agents.main.instructions", "x")
    assert path.read_text() == "[agents\n"


def test_windows_line_ends_are_kept(path: Path, editor: Editor) -> None:
    path.write_bytes(COMMENTED.replace("\n", "\r\n").encode())
    editor.set("agents.other.instructions", "x")
    content = path.read_bytes()
    assert content.count(b"\n") == content.count(b"\r\n") == COMMENTED.count("\n") + 1


def _set(path: Path, number: int) -> None:
    Editor(path=path, adapters=ADAPTERS).set(f"agents.main.workspace.access.a{number}", "read")


def test_no_change_of_many_writers_at_the_same_time_is_lost(path: Path) -> None:
    text = COMMENTED + "".join(f"[agents.a{number}]\nprovider = 'acme.main'\n" for number in range(50))
    path.write_text(text)
    with multiprocessing.get_context("forkserver").Pool(4) as pool:
        pool.starmap(_set, [(path, number) for number in range(50)], chunksize=1)
    access = tomllib.loads(path.read_text())["agents"]["main"]["workspace"]["access"]
    assert access == {f"a{number}": "read" for number in range(50)}


def older(data: dict[str, object]) -> dict[str, object]:
    """Lead a made-up version 1 to version 2: a key is renamed."""
    renamed = data.pop("observability", None)
    return {**data, "observation": renamed} if renamed is not None else data


def test_a_migration_keeps_comments_and_the_former_file(path: Path, editor: Editor) -> None:
    path.write_text(COMMENTED + '[observability]\nlog_level = "debug"\n')
    before = path.read_text()

    assert editor.migrate(steps=(older,)) == (1, 2)

    data = tomllib.loads(path.read_text())
    assert data["schema_version"] == 2
    assert data["observation"] == {"log_level": "debug"}
    assert "observability" not in data
    assert "# trailing" in path.read_text()
    assert path.with_name("config.toml.bak").read_text() == before
    assert editor.migrate(steps=(older,)) == (2, 2)


def test_a_current_file_is_not_touched_by_a_migration(path: Path, editor: Editor) -> None:
    assert editor.migrate() == (1, 1)
    assert path.read_text() == COMMENTED
    assert not path.with_name("config.toml.bak").exists()


NAMES = st.sampled_from(["a", "b", "c", "odd key", 'q"'])
SCALARS = st.one_of(st.integers(-9, 9), st.booleans(), st.text(max_size=5).filter(lambda t: "\r" not in t))
VALUES = st.one_of(SCALARS, st.lists(st.integers(), max_size=2), st.dictionaries(NAMES, SCALARS, max_size=2))


@given(path=st.lists(NAMES, min_size=1, max_size=3), value=VALUES, other=st.lists(NAMES, min_size=1, max_size=3))
def test_what_was_put_is_read_again_and_removing_it_undoes_it(path: list[str], value: object, other: list[str]) -> None:
    start = put("# head\n", tuple(other), 1)
    try:
        text = put(start, tuple(path), value)
    except UsageError:
        assert tuple(path[: len(other)]) == tuple(other)
        return
    found: object = tomllib.loads(text)
    for step in path:
        assert isinstance(found, dict)
        found = found[step]
    assert found == value
    assert text.startswith("# head\n")
    assert put(text, tuple(path), value) == text
    gone: object = tomllib.loads(remove(text, tuple(path)))
    for step in path[:-1]:
        gone = gone.get(step, {}) if isinstance(gone, dict) else {}
    assert isinstance(gone, dict)
    assert path[-1] not in gone


TREES = st.recursive(SCALARS, lambda inner: st.dictionaries(NAMES, inner, max_size=3), max_leaves=6)


@given(old=st.dictionaries(NAMES, TREES, max_size=3), new=st.dictionaries(NAMES, TREES, max_size=3))
def test_a_text_can_be_led_to_any_other_content(old: dict[str, object], new: dict[str, object]) -> None:
    text = lead("", old)
    assert tomllib.loads(text) == old
    assert tomllib.loads(lead(text, new)) == new


@given(path=st.lists(st.text(min_size=1, max_size=4).filter(str.isprintable), min_size=1, max_size=3))
def test_a_quoted_key_is_read_step_by_step(path: list[str]) -> None:
    quoted = ".".join('"' + step.replace("\\", "\\\\").replace('"', '\\"') + '"' for step in path)
    assert steps(quoted) == tuple(path)


def test_a_change_that_would_touch_another_key_is_refused(path: Path, editor: Editor) -> None:
    with pytest.raises(InvalidConfig, match="the change would touch other keys"):
        editor.change(("agents", "main", "instructions"), lambda text: text.replace("retries = 3", "retries = 4"))
    assert path.read_text() == COMMENTED
