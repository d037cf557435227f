"""Keys whose effect needs a part of an outside package: it comes in through the same door as ours."""

from __future__ import annotations

from pathlib import Path

from tests.effects._program import Place

PRICED = """
from contextlib import asynccontextmanager

from pydantic import BaseModel, ConfigDict

from ferrule.ports.adapter import Adapter
from ferrule.testing.scripted import ScriptedProvider, say
from ferrule.types.usage import Usage


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid")


@asynccontextmanager
async def open_priced(settings, parts):
    yield ScriptedProvider(say("expensive", usage=Usage(input=1, output=1, cost_micro_usd=2_000)))


ADAPTER = Adapter(kind="providers", name="priced", settings=Settings, open=open_priced)
"""


def install(folder: Path) -> None:
    """Write a package as an installer would leave it."""
    facts = folder / "priced-1.0.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: priced\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[ferrule.providers]\npriced = priced:ADAPTER\n")
    (folder / "priced.py").write_text(PRICED)


async def test_max_cost_ends_a_turn(tmp_path: Path) -> None:
    install(tmp_path / "site")
    place = Place(tmp_path)
    place.write(
        '[agents.default]\nprovider = "priced.default"\n[runtime_profiles.default]\nmax_cost_micro_usd = 1_000\n'
    )
    ran = await place.run("run", "hi", environ={"PYTHONPATH": str(tmp_path / "site")})
    assert ran.code == 4, ran.err
