"""The commonest mistakes end with the right exit code, cause and fix; docs/troubleshooting.md lists the same."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ferrule.testing.mock_llm import MockLLM, Reply, error, raw
from tests.cli._program import in_shell, place_for

PAGE = Path(__file__).resolve().parents[2] / "docs" / "troubleshooting.md"
NOTHING = Reply()
HTML = raw(b"<html>hello</html>", headers={"content-type": "text/html"})


@dataclass(frozen=True, slots=True)
class Mistake:
    """A line of shell, how it ends, and words of its cause and its fix."""

    name: str
    line: str
    code: int
    cause: str
    fix: str
    environ: dict[str, str] = field(default_factory=dict)
    config: str = ""
    reply: Reply | None = None


MISTAKES = [
    Mistake("unknown command", "ferrule chta", 2, "there is no command 'chta'", "did you mean 'chat'"),
    Mistake("no message", "ferrule run", 2, "there is no message", "write one"),
    Mistake("standard output closed", "ferrule run hi >&-", 2, "standard output is closed", ">/dev/null"),
    Mistake("standard output full", "ferrule tools list >/dev/full", 1, "No space left on device", "free space"),
    Mistake("standard input not UTF-8", "printf 'a\\377' | ferrule run", 2, "not UTF-8 text", "iconv"),
    Mistake("standard input binary", "printf 'a\\0b' | ferrule run", 2, "holds a NUL", "put it into a file"),
    Mistake("argument not UTF-8", "ferrule run $'a\\xff'", 2, "argument 2", "iconv"),
    Mistake(
        "working folder deleted", "mkdir g; cd g; rmdir ../g; ferrule run hi", 2, "has been deleted", "cd to a folder"
    ),
    Mistake("fork without a session", "ferrule run hi --fork", 2, "--fork copies a session", "--session ID"),
    Mistake("home is a file", "ferrule run hi", 2, "is a file", "FERRULE_HOME", {"FERRULE_HOME": "/etc/passwd"}),
    Mistake(
        "home below a file", "ferrule run hi", 2, "Not a directory", "FERRULE_HOME", {"FERRULE_HOME": "/etc/passwd/x"}
    ),
    Mistake("home cannot be made", "ferrule run hi", 2, "cannot be made", "FERRULE_HOME", {"FERRULE_HOME": "/proc/x"}),
    Mistake("home is relative", "ferrule run hi", 2, "relative path", "absolute path", {"FERRULE_HOME": "here"}),
    Mistake("home of nobody", "ferrule run hi", 2, "no such user", "absolute path", {"FERRULE_HOME": "~nobody-here/x"}),
    Mistake("home open to others", 'chmod 755 "$FERRULE_HOME"; ferrule run hi', 2, "open to others", "chmod 700"),
    Mistake(
        "log below a file", "ferrule logs", 1, "Not a directory", "another folder", {"FERRULE_HOME": "/etc/passwd/x"}
    ),
    Mistake("no such agent", "ferrule run hi --agent nobody", 2, "no agent 'nobody'", "agents list"),
    Mistake(
        "base URL malformed",
        "ferrule run hi",
        2,
        "OPENAI_BASE_URL",
        "https://HOST/v1",
        {"OPENAI_BASE_URL": "http://[::1"},
    ),
    Mistake(
        "base URL not http",
        "ferrule run hi",
        2,
        "OPENAI_BASE_URL",
        "https://HOST/v1",
        {"OPENAI_BASE_URL": "ftp://x/v1"},
    ),
    Mistake(
        "base URL without host", "ferrule run hi", 2, "OPENAI_BASE_URL", "https://HOST/v1", {"OPENAI_BASE_URL": "x"}
    ),
    Mistake(
        "port out of range", "ferrule run hi", 2, "OPENAI_BASE_URL", "HOST:PORT", {"OPENAI_BASE_URL": "http://h:99999"}
    ),
    Mistake("line end in the key", "ferrule run hi", 2, "OPENAI_API_KEY", "copy the key", {"OPENAI_API_KEY": "a\nb"}),
    Mistake(
        "no server",
        "ferrule run hi",
        1,
        "connection refused",
        "a server answers",
        {"OPENAI_BASE_URL": "http://127.0.0.1:9"},
    ),
    Mistake("key refused", "ferrule run hi", 1, "HTTP 401", "check the api_key", reply=error(401, {"error": "no"})),
    Mistake(
        "key expired", "ferrule run hi", 1, "HTTP 403", "check the api_key", reply=error(403, {"error": "expired"})
    ),
    Mistake(
        "no such model", "ferrule run hi", 1, "HTTP 404", "check that the model", reply=error(404, {"error": "none"})
    ),
    Mistake("no credit left", "ferrule run hi", 1, "HTTP 402", "no credit", reply=error(402, {"error": "pay"})),
    Mistake("a web page, no API", "ferrule run hi", 1, "openai.main", "base_url", reply=HTML),
    Mistake("no such session", "ferrule run hi --session none", 1, "none", "ferrule sessions", reply=NOTHING),
    Mistake(
        "home too long",
        "ferrule run hi",
        2,
        "File name too long",
        "FERRULE_HOME",
        {"FERRULE_HOME": "/tmp/" + "a" * 300},
    ),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m.name)
async def test_a_mistake_is_told_with_its_cause_and_its_fix(tmp_path: Path, mistake: Mistake) -> None:
    async with MockLLM([mistake.reply] if mistake.reply else []) as server:
        place = place_for(tmp_path, server if mistake.reply else None, mistake.config)
        ran = await in_shell(place, mistake.line, mistake.environ)
    told = " ".join(ran.err.split())
    assert ran.code == mistake.code, told
    assert mistake.cause in told
    assert mistake.fix in told
    assert "Traceback" not in told


def test_the_page_lists_exactly_these_mistakes() -> None:
    rows = re.findall(r"^\| (.+?) \| (\d+) \| `(.+?)` \| `(.+?)` \|$", PAGE.read_text(), re.MULTILINE)
    assert rows == [(m.name, str(m.code), m.cause, m.fix) for m in MISTAKES]
