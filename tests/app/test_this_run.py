"""What is set for one run never loosens what is configured."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from ferrule.app import discovery
from ferrule.app.this_run import ThisRun, existing_folder, moved, tightened, with_model
from ferrule.policy.agent_policy import Root, policy_of
from ferrule.policy.paths import judge_path
from ferrule.types.access import Allow
from ferrule.types.errors import UsageError
from ferrule.types.limits import Limits

counts = st.none() | st.integers(1, 1_000)
POLICY = policy_of(
    level="full", workspace="/w", roots=[Root("/w/read", "read"), Root("/drop", "write")], forbidden=["/w/kept"]
)
PLACES = ("/w", "/w/a", "/w/read", "/w/read/a", "/w/kept", "/w/kept/a", "/drop", "/drop/a", "/", "/other")


@given(profile=counts, run=counts)
def test_a_limit_of_one_run_only_tightens_the_profile(profile: int | None, run: int | None) -> None:
    found = tightened(Limits(rounds=profile, tokens=profile), ThisRun(max_rounds=run, max_tokens=run))
    given_limits = [limit for limit in (profile, run) if limit is not None]
    assert found.rounds == found.tokens == (min(given_limits) if given_limits else None)


@pytest.mark.parametrize("folder", PLACES)
def test_another_folder_allows_nothing_that_was_denied(folder: str) -> None:
    readable = isinstance(judge_path(folder, "files.read", POLICY), Allow)
    if not readable:
        with pytest.raises(UsageError, match="--cwd"):
            moved(POLICY, ThisRun(folder=folder), "main")
        return
    there = moved(POLICY, ThisRun(folder=folder), "main")
    assert there.workspace == folder
    for place in PLACES:
        for action in ("files.read", "files.write"):
            assert judge_path(place, action, there) == judge_path(place, action, POLICY)


def test_a_folder_must_be_one(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert existing_folder(str(tmp_path / "x" / "..")) == str(tmp_path)
    with pytest.raises(UsageError, match="no folder"):
        existing_folder(str(tmp_path / "none"))
    with pytest.raises(UsageError, match="is no folder"):
        existing_folder(str(tmp_path / "file"))


def test_a_model_replaces_that_of_the_settings_and_nothing_else() -> None:
    server = discovery.find("providers", "openai")
    assert with_model({"model": "m", "api_key": "k"}, server, ThisRun(model="big")) == {"model": "big", "api_key": "k"}
    assert with_model({"model": "m"}, server, ThisRun()) == {"model": "m"}


class Alone(BaseModel):
    more: int = 7


def test_a_provider_of_one_model_takes_no_other() -> None:
    with pytest.raises(UsageError, match="no other model"):
        with_model({}, SimpleNamespace(name="one", settings=Alone), ThisRun(model="big"))
