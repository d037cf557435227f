"""Texts and reasoning: alphabets, escapes, tags, fields, and the shapes in which content comes."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.types.errors import EmptyAnswer

from .shape import Right, Script, chunk, fails, lines, whole

Case = tuple[str, list[object], Right]

HALF = "\ufffd"
FIELDS = ("reasoning_content", "reasoning", "reasoning_text", "thinking")


def raw(*contents: str) -> list[object]:
    """Make chunks from contents that are JSON strings already, escapes and all."""
    made: list[object] = [f'{{"choices":[{{"delta":{{"content":{content}}}}}]}}' for content in contents]
    return [*made, chunk("stop")]


def said(*contents: object) -> list[object]:
    """Make one chunk from each content."""
    return [*[chunk(content=content) for content in contents], chunk("stop")]


def alphabets() -> Iterator[Case]:
    """Give texts that are hard to cut."""
    for word in (
        "北京🌧",
        "e\u0301",
        "👩‍👩‍👧‍👦",
        "שלום עולם",
        "a\u2028\u2029\x85b",
        "\ufeffmark",
        "a\x1c\x1d\x1eb",
        "tab\there",
        "\\n is no end",
    ):
        yield f"one point at a time: {word!a}", said(*word), Right(text=word)
    yield "a pair in escapes", raw('"\\ud83c\\udf27"'), Right(text="🌧")
    yield "escapes in capitals", raw('"\\uD83C\\uDF27"'), Right(text="🌧")
    yield "a pair over two chunks", raw('"a\\ud83c"', '"\\udf27b"'), Right(text="a🌧b")
    yield "a pair over three chunks", raw('"\\ud83c"', '""', '"\\udf27"'), Right(text="🌧")
    yield "pairs cut twice", raw('"\\ud83c"', '"\\udf27\\ud83c"', '"\\udf27"'), Right(text="🌧🌧")
    yield "a first half alone", raw('"ok \\ud83c"'), Right(text=f"ok {HALF}")
    yield "a first half, then text", raw('"\\ud83c"', '"x"'), Right(text=f"{HALF}x")
    yield "a second half alone", raw('"\\udf27x"'), Right(text=f"{HALF}x")
    yield "halves the wrong way round", raw('"\\udf27\\ud83c"'), Right(text=HALF * 2)
    yield "only half a pair", raw('"\\ud83c"'), Right(text=HALF)
    yield "an escaped NUL", raw('"a\\u0000b"'), Right(text="a\0b")
    yield "all short escapes", raw('"\\"\\\\\\/\\b\\f\\n\\r\\t"'), Right(text='"\\/\b\f\n\r\t')
    yield "escaped line ends", said("a\n", "\nb\r\n", "\rc"), Right(text="a\n\nb\r\n\rc")
    yield "what looks like the protocol", said("data: [DONE]\n\n", "data: x"), Right(text="data: [DONE]\n\ndata: x")
    yield "the end mark as text", said("[DONE]"), Right(text="[DONE]")
    yield "blanks only around", said("  a  "), Right(text="  a  ")
    yield "a very long line", said("x" * 8000), Right(text="x" * 8000)
    yield "many chunks", said(*"many words " * 12), Right(text="many words " * 12)
    yield "JSON as text", said('{"name":"look","arguments":{}}'), Right(text='{"name":"look","arguments":{}}')


def shapes() -> Iterator[Case]:
    """Give content of every shape."""
    part = {"type": "text", "text": "Hi"}
    yield "content in parts", said([part, {"type": "text", "text": "!"}]), Right(text="Hi!")
    yield "parts over chunks", said([part], [part]), Right(text="HiHi")
    yield "content in strings", said(["H", "i"]), Right(text="Hi")
    yield "odd parts", said([7, None, {}, {"type": "image"}, part]), Right(text="Hi")
    yield "a refusal", [chunk(refusal="No"), chunk("stop", refusal=".")], Right(text="No.")
    yield "a refusal as a part", said([{"type": "refusal", "refusal": "No."}]), Right(text="No.")
    yield "null beside a refusal", [chunk("stop", content=None, refusal="No.")], Right(text="No.")
    yield "thinking as a part", said([{"type": "thinking", "thinking": "hm"}, part]), Right(text="Hi", reasoning="hm")
    yield (
        "thinking in parts of a part",
        said([{"type": "thinking", "thinking": [{"text": "h"}, {"text": "m"}]}, part]),
        Right(text="Hi", reasoning="hm"),
    )
    yield (
        "the role in every chunk",
        [chunk(role="assistant", content="H"), chunk("stop", role="assistant", content="i")],
        Right(text="Hi"),
    )
    yield "roles only", [chunk(role="assistant"), chunk("stop", role="assistant")], fails(EmptyAnswer)
    yield (
        "empty deltas between",
        [chunk(), chunk(content=""), chunk(content="Hi"), chunk(content=None), chunk("stop")],
        Right(text="Hi"),
    )
    yield "content as an object", said({"text": "Hi"}), fails(EmptyAnswer)
    yield "content as a number", said(7), fails(EmptyAnswer)


def fields() -> Iterator[Case]:
    """Give reasoning under every name."""
    for name in FIELDS:
        yield (
            f"{name}",
            [chunk(**{name: "h"}), chunk(**{name: "m"}), *said("Hi")],
            Right(text="Hi", reasoning="hm", field=name),
        )
        yield f"{name}, empty", [chunk(**{name: ""}), *said("Hi")], Right(text="Hi", field=name)
        yield f"{name}, null", [chunk(**{name: None}), *said("Hi")], Right(text="Hi")
        yield f"{name} alone", [chunk(**{name: "hm"}), chunk("stop")], Right(reasoning="hm", field=name)
        yield f"{name}, empty and alone", [chunk(**{name: ""}), chunk("stop")], fails(EmptyAnswer, field=name)
        yield f"{name} as a list", [chunk(**{name: ["hm"]}), *said("Hi")], Right(text="Hi")
        yield (
            f"{name} in a plain message",
            [whole({name: "hm", "content": "Hi"}).decode()],
            Right(text="Hi", reasoning="hm", field=name),
        )
    hm = Right(text="Hi", reasoning="hm", field="reasoning_content")
    both = {"reasoning_content": "hm", "reasoning": "hm"}
    yield "two fields with one text", [chunk(**both), *said("Hi")], hm
    empty = {"reasoning_content": "", "reasoning": "hm"}
    yield (
        "an empty field beside a full one",
        [chunk(**empty), *said("Hi")],
        Right(text="Hi", reasoning="hm", field="reasoning"),
    )
    yield (
        "an empty field, then a full one",
        [chunk(reasoning_content=""), chunk(**empty), *said("Hi")],
        Right(text="Hi", reasoning="hm", field="reasoning"),
    )
    yield (
        "reasoning and text by turns",
        [chunk(reasoning_content="h"), chunk(content="H"), chunk(reasoning_content="m"), *said("i")],
        hm,
    )
    yield "reasoning beside content", [chunk(reasoning_content="hm", content="Hi"), chunk("stop")], hm
    yield (
        "half a pair in reasoning",
        [
            '{"choices":[{"delta":{"reasoning":"\\ud83c"}}]}',
            '{"choices":[{"delta":{"reasoning":"\\udf27\\ud83c"}}]}',
            *said("Hi"),
        ],
        Right(text="Hi", reasoning=f"🌧{HALF}", field="reasoning"),
    )


def tags() -> Iterator[Case]:
    """Give reasoning between tags."""
    hello = Right(text="Hello", reasoning="secret")
    for tag in ("think", "thinking"):
        text = f"<{tag}>secret</{tag}>Hello"
        yield f"<{tag}> whole", said(text), hello
        yield f"<{tag}> by the character", said(*text), hello
        yield f"<{tag}> cut in the tags", said(text[:4], text[4:-9], text[-9:-3], text[-3:]), hello
        yield (
            f"<{tag}> and line ends",
            said(f"\n <{tag}>\n", "secret", f"</{tag}>\n\n", "Hello"),
            Right(text="Hello", reasoning="\nsecret"),
        )
        yield f"<{tag}> never closed", said(f"<{tag}>", "it is 4"), Right(text="it is 4", reasoning="it is 4")
        yield f"<{tag}> closed in part", said(f"<{tag}>4</th"), Right(text="4</th", reasoning="4")
        yield f"<{tag}> begun only", said(f"<{tag}"), Right(text=f"<{tag}")
        yield f"<{tag}> empty", said(f"<{tag}></{tag}>Hello"), Right(text="Hello")
        yield f"<{tag}> twice", said(f"<{tag}>a</{tag}>\n<{tag}>b</{tag}>Hello"), Right(text="Hello", reasoning="ab")
        yield f"<{tag}> in a line", said(f"Say <{tag}>x</{tag}>"), Right(text=f"Say <{tag}>x</{tag}>")
        yield f"<{tag}> in a later line", said("A\n", f"<{tag}>x</{tag}>", "B"), Right(text="A\nB", reasoning="x")
        yield f"<{tag}> alone", said(f"<{tag}>x</{tag}>"), Right(reasoning="x")
        yield f"<{tag}> in a plain message", [whole({"content": text}).decode()], hello
        call = {"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}
        yield (
            f"<{tag}> never closed, with a call",
            [chunk(content=f"<{tag}>x"), chunk("tool_calls", tool_calls=[call])],
            Right(reasoning="x", calls=(("c", "f", "{}"),), reason="tool_calls"),
        )
    yield "a tag that is none", said("<th", "ree>"), Right(text="<three>")
    yield "less than", said("<", " 4"), Right(text="< 4")


def scripts() -> Iterator[Script]:
    """Give them all, ended in the ordinary way."""
    for group in (alphabets, shapes, fields, tags):
        for name, payloads, right in group():
            yield Script(name=f"{group.__name__}: {name}", body=lines([*payloads, "[DONE]"]), right=right)
