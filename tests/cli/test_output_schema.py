"""`ferrule run --output-schema`: a document that follows a schema, or nothing."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from ferrule.testing.mock_llm import MockLLM, say
from tests.cli._program import on_terminal, place_for
from tests.effects._program import Place

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def place_with(tmp_path: Path, server: MockLLM | None, schema: bytes) -> Place:
    place = place_for(tmp_path, server)
    (place.folder / "city.json").write_bytes(schema)
    return place


async def test_only_the_document_is_printed(tmp_path: Path) -> None:
    answers = [say("I think Rome"), say('{"city": "Rome \u202e"}')]
    async with MockLLM(answers) as server:
        place = place_with(tmp_path, server, orjson.dumps(CITY))
        ran = await place.run("run", "Which?", "--output-schema", "city.json")
        asked = [(r.json or {}).get("response_format") for r in server.requests]
    assert (ran.code, ran.out) == (0, '{"city":"Rome \u202e"}\n')
    assert [orjson.loads(orjson.dumps(one))["json_schema"]["schema"] for one in asked] == [CITY] * 2


async def test_an_answer_that_never_fits_prints_nothing_and_fails(tmp_path: Path) -> None:
    async with MockLLM([say("Rome"), say('{"town": "Rome"}')]) as server:
        place = place_with(tmp_path, server, orjson.dumps(CITY))
        ran = await place.run("run", "Which?", "--output-schema", "city.json")
    assert (ran.code, ran.out) == (1, "")
    assert "does not fit the schema" in ran.err


async def test_events_carry_the_document(tmp_path: Path) -> None:
    async with MockLLM([say('{"city": "Rome"}')]) as server:
        place = place_with(tmp_path, server, orjson.dumps(CITY))
        ran = await place.run("run", "Which?", "--json", "--output-schema", "city.json")
    assert [event["output"] for event in ran.events("turn.finished")] == [{"city": "Rome"}]


async def test_a_person_gets_it_in_lines_without_control_signs(tmp_path: Path) -> None:
    async with MockLLM([say('{"city": "Rome \u202e"}')]) as server:
        place = place_with(tmp_path, server, orjson.dumps(CITY))
        async with on_terminal(place, "run", "Which?", "--output-schema", "city.json") as screen:
            await screen.until('"city": "Rome', "}")
            assert await screen.end() == 0
        assert "\u202e" not in screen.raw


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (b"{", "city.json: it is not JSON"),
        (b"[]", "city.json: it is no JSON object"),
        (b'{"type": "nothing"}', "city.json: the schema is not valid"),
        (b"\xff", "city.json: it is not JSON"),
    ],
)
async def test_a_schema_that_is_none_is_refused_before_anything_is_asked(
    tmp_path: Path, schema: bytes, said: str
) -> None:
    async with MockLLM([say("no")]) as server:
        ran = await place_with(tmp_path, server, schema).run("run", "hi", "--output-schema", "city.json")
        assert (ran.code, ran.out, server.requests) == (2, "", [])
    assert said in ran.err
    assert "fix:" in ran.err


async def test_a_schema_file_that_is_missing_or_a_folder_is_named(tmp_path: Path) -> None:
    place = place_with(tmp_path, None, b"")
    for name, said in (("none.json", "there is no such file"), (".", "it is a folder")):
        ran = await place.run("run", "hi", "--output-schema", name)
        assert (ran.code, f"--output-schema {name}: {said}" in ran.err) == (2, True)
