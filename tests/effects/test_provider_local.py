"""``[providers.local.<alias>]``."""

from __future__ import annotations

from pathlib import Path

from ferrule.providers.local.weights import find_weights
from tests.effects._program import Place


async def test_answer_tokens_is_the_longest_answer(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.write("[providers.local.main]\nanswer_tokens = 2\n[agents.default]\ntools = []\n")
    ran = await place.run("run", "Tell me a long story about the sea.")
    assert ran.code == 0, ran.err
    assert 0 < len(ran.out.split()) <= 2


async def test_context_tokens_is_the_window(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.write("[providers.local.main]\ncontext_tokens = 256\n[agents.default]\ntools = []\n")
    ran = await place.run("run", "word " * 400)
    assert ran.code != 0
    assert "256 tokens" in ran.err


async def test_model_is_the_file(tmp_path: Path) -> None:
    place, own = Place(tmp_path), tmp_path / "own.gguf"
    own.symlink_to(find_weights())
    place.write(f'[providers.local.main]\nmodel = "{own}"\nanswer_tokens = 2\n[agents.default]\ntools = []\n')
    ran = await place.run("run", "Tell me a story.")
    assert ran.code == 0, ran.err
    own.unlink()
    ran = await place.run("run", "Tell me a story.")
    assert ran.code != 0
    assert f"there is no file {own}" in ran.err
