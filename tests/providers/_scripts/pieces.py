"""Two calls in all the ways in which servers cut, number and name them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .shape import MADE, Right, Script, a_call, chunk, lines

INDEXES: dict[str, tuple[object, object]] = {
    "index": (0, 1),
    "no index": (None, None),
    "null index": (..., ...),
    "index from one": (1, 2),
    "shuffled index": (1, 0),
    "index in quotes": ("0", "1"),
}
IDS = ("id first", "id always", "no id", "id changes", "id empty later")
NAMES = ("name first", "name always", "name in pieces", "name grows", "name empty later")
ARGUMENTS: dict[str, tuple[object, ...]] = {
    "in one piece": ("{whole}",),
    "empty first": ("", "{whole}"),
    "empty last": ("{whole}", ""),
    "in halves": ("{half}", "{rest}"),
    "by the character": ("{each}",),
    "as an object": ({},),
    "sent again": ("{half}", "{rest}", "{whole}"),
}
ORDERS = ("one after the other", "interleaved", "in one chunk")


@dataclass(frozen=True, slots=True)
class Way:
    """One way of sending."""

    index: str
    ids: str
    names: str
    arguments: str
    order: str

    @property
    def title(self) -> str:
        """All of it, in words."""
        return f"calls: {self.index}, {self.ids}, {self.names}, arguments {self.arguments}, {self.order}"

    @property
    def is_clear(self) -> bool:
        """Whether the pieces say which call they belong to; a decoder cannot know more than was said."""
        if (self.order, self.names, self.arguments) == ("in one chunk", "name always", "sent again"):
            return False  # a second call could look the same
        if "no index" not in self.index and "null" not in self.index:
            return self.ids != "id changes" or self._changes_clearly
        if self.order == "interleaved":
            return self.ids == "id always"
        if self.order == "in one chunk":
            return self._single or (self.ids == "id always" and self.names in ("name first", "name empty later"))
        whole_names = self.names not in ("name in pieces", "name grows")
        if self.ids == "id changes":
            return self.names in ("name first", "name empty later") and self.arguments not in (
                "empty last",
                "empty first",
            )
        return whole_names or self.ids == "id always"

    @property
    def _single(self) -> bool:
        """Whether each call is one piece."""
        whole_name = self.names not in ("name in pieces", "name grows")
        return whole_name and self.arguments in ("in one piece", "as an object")

    @property
    def _changes_clearly(self) -> bool:
        if self.names == "name always":
            return self.arguments in ("in one piece", "in halves", "by the character", "as an object")
        return self.names in ("name first", "name empty later")


def cut(way: Way, name: str, arguments: Mapping[str, object], raw: str) -> Iterator[dict[str, object]]:
    """Give the functions of the pieces of one call."""
    names = {"name in pieces": [name[:2], name[2:]], "name grows": [name[:2], name]}.get(way.names, [name])
    for early in names[:-1]:
        yield {"name": early}
    half = len(raw) // 2
    words = {"{whole}": [raw], "{half}": [raw[:half]], "{rest}": [raw[half:]], "{each}": list(raw)}
    parts: list[object] = []
    for part in ARGUMENTS[way.arguments]:
        parts += words.get(part, [part]) if isinstance(part, str) else [arguments]
    for number, part in enumerate(parts):
        piece: dict[str, object] = {"arguments": part}
        if number == 0 or way.names == "name always":
            piece["name"] = names[-1]
        elif way.names == "name empty later":
            piece["name"] = ""
        yield piece


def numbered(way: Way, call: int, call_id: str, functions: Iterator[dict[str, object]]) -> list[dict[str, object]]:
    """Give the pieces of one call."""
    pieces = []
    index = INDEXES[way.index][call]
    for number, function in enumerate(functions):
        piece: dict[str, object] = {"type": "function", "function": function}
        if index is not None:
            piece["index"] = None if index is ... else index
        if way.ids == "id always" or (number == 0 and way.ids != "no id"):
            piece["id"] = call_id
        elif way.ids == "id changes":
            piece["id"] = f"{call_id}{number}"
        elif way.ids == "id empty later":
            piece["id"] = ""
        pieces.append(piece)
    return pieces


def sent(way: Way, first: Sequence[object], second: Sequence[object]) -> list[list[object]]:
    """Give the pieces chunk by chunk."""
    if way.order == "interleaved":
        pairs = itertools.zip_longest(first, second)
        return [[piece] for pair in pairs for piece in pair if piece is not None]
    if way.order == "in one chunk":
        return [[*first, *second]]
    return [[piece] for piece in (*first, *second)]


def script(way: Way) -> Script:
    """Write two calls in this way."""
    one = numbered(way, 0, "x", cut(way, "look", {"a": 1}, '{"a":1}'))
    two = numbered(way, 1, "y", cut(way, "find", {"b": "}"}, '{"b":"}"}'))
    ids = (f"{MADE}_0", f"{MADE}_1") if way.ids == "no id" else ("x", "y")
    chunks = [chunk(tool_calls=pieces) for pieces in sent(way, one, two)]
    calls = ((ids[0], "look", '{"a": 1}'), (ids[1], "find", '{"b": "}"}'))
    return Script(
        name=way.title,
        body=lines([*chunks, chunk("tool_calls"), "[DONE]"]),
        right=Right(calls=calls, reason="tool_calls"),
    )


def ways() -> Iterator[Way]:
    """Give every way that is clear."""
    for parts in itertools.product(INDEXES, IDS, NAMES, ARGUMENTS, ORDERS):
        way = Way(*parts)
        if way.is_clear:
            yield way


def odd() -> Iterator[tuple[str, list[object], Right]]:
    """Give what does not fit the table: repetitions, ids used twice, older and stranger shapes."""
    both = ("tool_calls",)
    a, b = '{"p":"a"}', '{"p":"b"}'
    twice = Right(calls=(("c", "f", '{"p": "a"}'), ("c", "f", '{"p": "b"}')), reason="tool_calls")
    once = Right(calls=(("c", "f", '{"p": "a"}'),), reason="tool_calls")
    old = Right(calls=((f"{MADE}_0", "f", '{"p": "a"}'),), reason="tool_calls")
    first, second = a_call(a, "f", id="c", index=0), a_call(b, "f", id="c", index=0)
    yield "one id and index for two calls", [chunk(tool_calls=[first]), chunk(*both, tool_calls=[second])], twice
    yield (
        "one id for two calls in one chunk",
        [chunk(*both, tool_calls=[a_call(a, "f", id="c"), a_call(b, "f", id="c")])],
        twice,
    )
    yield (
        "one id for two calls",
        [chunk(tool_calls=[a_call(a, "f", id="c")]), chunk(*both, tool_calls=[a_call(b, "f", id="c")])],
        twice,
    )
    yield "a whole call sent twice", [chunk(tool_calls=[first]), chunk(*both, tool_calls=[first])], once
    yield "a whole call sent three times", [*[chunk(tool_calls=[first])] * 3, chunk(*both)], once
    yield "no wrapper", [chunk(*both, tool_calls=[{"id": "c", "name": "f", "arguments": a}])], once
    yield "odd pieces between", [chunk(*both, tool_calls=["x", None, 7, first, []])], once
    yield (
        "the older call in pieces",
        [
            chunk(function_call={"name": "f", "arguments": ""}),
            chunk(function_call={"arguments": a[:4]}),
            chunk("function_call", function_call={"arguments": a[4:]}),
        ],
        old,
    )
    yield "the older call whole", [chunk("function_call", function_call={"name": "f", "arguments": a})], old
    yield "both dialects", [chunk(*both, tool_calls=[first], function_call={"name": "f", "arguments": a})], once
    yield (
        "both dialects by turns",
        [chunk(tool_calls=[first]), chunk(function_call={"name": "f", "arguments": a}), chunk(*both)],
        once,
    )
    yield "the reason stop", [chunk("stop", tool_calls=[first])], once
    yield "no reason", [chunk(tool_calls=[first])], once
    yield "a null list", [chunk(tool_calls=None), chunk(*both, tool_calls=[first])], once
    yield (
        "text behind the call",
        [chunk(tool_calls=[first]), chunk(*both, content="so")],
        Right(text="so", calls=once.calls, reason="tool_calls"),
    )


FAULTS = {
    "single quotes": "{'path': 'a.txt'}",
    "null": "null",
    "a list": "[1,2]",
    "a string": '"text"',
    "two objects": '{"a":1}{"b":2}',
    "cut": '{"a":',
    "rubbish": "look at a.txt",
    "too large a number": '{"a":123456789012345678901234567890}',
    "not a number": '{"a":NaN}',
    "deep": '{"a":' * 300 + "1" + "}" * 300,
    "NUL": '{"a":"\x00"}',
}
GOOD = {
    "nothing": ("", "{}"),
    "blanks": (" \n", "{}"),
    "blanks around": (' {"a" : 1}\n', '{"a": 1}'),
    "a pair in escapes": ('{"a":"\\ud83c\\udf27"}', '{"a": "🌧"}'),
    "half a pair": ('{"a":"ok \\ud83c"}', '{"a": "ok \ufffd"}'),
    "an escaped NUL": ('{"a":"\\u0000"}', '{"a": "\\u0000"}'),
    "brackets in strings": ('{"a":"}{]["}', '{"a": "}{]["}'),
    "nested": ('{"a":{"b":[{"c":{}}]}}', '{"a": {"b": [{"c": {}}]}}'),
    "a long text": (f'{{"a":"{"x" * 3000}"}}', f'{{"a": "{"x" * 3000}"}}'),
}


def scripts() -> Iterator[Script]:
    """Give them all."""
    for way in ways():
        yield script(way)
    for name, payloads, right in odd():
        yield Script(name=f"calls: {name}", body=lines([*payloads, "[DONE]"]), right=right)
    for name, (raw, read) in GOOD.items():
        yield arguments(name, raw, read)
    for name, raw in FAULTS.items():
        yield arguments(name, raw, "faulty")


def arguments(name: str, raw: str, read: str) -> Script:
    """Write one call whose arguments come in two pieces."""
    first, rest = a_call(raw[:2], "f", id="c", index=0), a_call(raw[2:], index=0)
    body = lines([chunk(tool_calls=[first]), chunk(tool_calls=[rest]), chunk("tool_calls"), "[DONE]"])
    return Script(name=f"arguments: {name}", body=body, right=Right(calls=(("c", "f", read),), reason="tool_calls"))
