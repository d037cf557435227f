"""The same chunks in every form that lines and events may have."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

from .shape import Right, Script, a_call, chunk, lines, text, usage

DONE = "[DONE]"
TWO = [
    chunk(tool_calls=[a_call('{"p"', "look", id="x", index=0)]),
    chunk(tool_calls=[a_call(':"ä"}', index=0), a_call("", "now", id="y", index=1)]),
]

CONTENTS: dict[str, tuple[list[object], Right]] = {
    "text": ([chunk(role="assistant"), chunk(content="Hel"), chunk(content="lo"), chunk("stop")], Right(text="Hello")),
    "many alphabets": (
        [chunk(content="北京"), chunk(content="🌧\u2028é"), chunk("stop", content="e\u0301 \u0085 \x1c.")],
        Right(text="北京🌧\u2028ée\u0301 \u0085 \x1c."),
    ),
    "reasoning": (
        [chunk(reasoning_content="hm, "), chunk(reasoning_content="so"), chunk("stop", content="4")],
        Right(text="4", reasoning="hm, so", field="reasoning_content"),
    ),
    "two calls": (
        [chunk(content="See."), *TWO, chunk("tool_calls"), {"choices": [], **usage(11, 2)}],
        Right(
            text="See.",
            calls=(("x", "look", '{"p": "ä"}'), ("y", "now", "{}")),
            usage=(11, 2),
            reason="tool_calls",
        ),
    ),
    "a cut call": (
        [chunk(tool_calls=[a_call('{"p":"li', "look", id="x", index=0)]), chunk("length")],
        Right(calls=(("x", "look", "faulty"),), reason="length"),
    ),
}

Form = Callable[[Sequence[object]], bytes]


def ended(end: str) -> Form:
    """Write every line with this end."""
    return lambda payloads: lines([*payloads, DONE]).replace(b"\n", end.encode())


def mixed(payloads: Sequence[object]) -> bytes:
    """Write each line with another end; a CR is not followed by an LF, since that would be one end."""
    ends = ("\n\r\n", "\r\n\n", "\r\r", "\r\n\r\n", "\n\r")
    pairs = enumerate([*payloads, DONE])
    return "".join(f"data: {text(payload)}{ends[i % len(ends)]}" for i, payload in pairs).encode()


def several_lines(payloads: Sequence[object]) -> bytes:
    """Write each payload over several lines of data."""
    out = []
    for payload in payloads:
        pretty = json.dumps(payload, ensure_ascii=False, indent=1).split("\n")
        out.append("".join(f"data: {line}\n" for line in pretty) + "\n")
    return "".join(out).encode() + b"data: [DONE]\n\n"


def around(before: str, after: str = "\n\n", *, first: str = "", last: str = "data: [DONE]\n\n") -> Form:
    """Write each payload between two texts."""
    return lambda payloads: (first + "".join(f"{before}{text(p)}{after}" for p in payloads) + last).encode()


FORMS: dict[str, Form] = {
    "LF": ended("\n"),
    "CRLF": ended("\r\n"),
    "CR": ended("\r"),
    "mixed line ends": mixed,
    "no space after the colon": around("data:", last="data:[DONE]\n\n"),
    "two spaces after the colon": around("data:  "),
    "comments between": around(": keep-alive\n\n:\n\ndata: ", first=": hello\n\n"),
    "comments inside": around(": one\ndata: ", "\n: two\n\n"),
    "event names": around("event: message\ndata: "),
    "ids and retries": around("id: 7\nretry: 3000\ndata: "),
    "unknown fields": around("database: x\nx\n: \ndata: ", "\nfoo:bar\n\n"),
    "several lines of data": several_lines,
    "a byte order mark": around("data: ", first="\ufeff"),
    "blank lines first": around("data: ", first="\n\r\n\n"),
    "many blank lines": around("data: ", "\n\n\n\n\n"),
    "empty data": around("data:\n\ndata: ", "\n\ndata\n\n"),
    "blanks behind": around("data: ", " \t\n\n"),
    "no blank line at the end": around("data: ", last="data: [DONE]"),
    "no end mark": lines,
    "no end mark and no blank line": lambda payloads: lines(payloads).rstrip(b"\n"),
    "the end mark twice": around("data: ", last="data: [DONE]\n\n" * 2),
    "blanks around the end mark": around("data: ", last="data:   [DONE]  \n\n"),
    "an answer behind the end mark": lambda payloads: lines([*payloads, DONE, *payloads, DONE]),
    "rubbish behind the end mark": around("data: ", last="data: [DONE]\n\ndata: {oops\n\n<html>\n\n\0"),
    "NUL lines between": around("\0\n\0data\n\ndata: "),
    "a long comment": around("data: ", first=f":{'x' * 3000}\n\n"),
    "escapes for everything": lambda payloads: (
        b"".join(f"data: {json.dumps(p)}\n\n".encode() for p in payloads) + b"data: [DONE]\n\n"
    ),
}


def scripts() -> Iterator[Script]:
    """Give each content in each form."""
    for form, write in FORMS.items():
        for content, (payloads, right) in CONTENTS.items():
            yield Script(name=f"{content}: {form}", body=write(payloads), right=right)
