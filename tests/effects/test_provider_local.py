"""``[providers.local.<alias>]``."""

from __future__ import annotations

from pathlib import Path

from tests.effects._program import Place


async def test_answer_tokens_is_the_longest_answer(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.write("[providers.local.main]\nanswer_tokens = 2\n[agents.default]\ntools = []\n")
    ran = await place.run("run", "Tell me a long story about the sea.")
    assert ran.code == 0, ran.err
    assert 0 < len(ran.out.split()) <= 2
