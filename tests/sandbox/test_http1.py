"""The client for servers that are reached directly: framing, reuse, limits and ends."""

from __future__ import annotations

import asyncio
import gzip
import os
import random
import socket
import subprocess
import sys
import zlib
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path

import pytest

from ferrule.ports.dialer import HttpRequest
from ferrule.sandbox._http1 import Broken, Target
from ferrule.sandbox._http1.connection import MOST_BUFFERED, Connection
from ferrule.sandbox.dialer import HttpDialer, cause_of
from ferrule.types.errors import ConnectionFailed
from tests.providers._vendor import LAST, STREAM_HEAD, Act, Step, chunk, vendor, whole
from tests.sandbox._certificate import CERTIFICATE

Answer = tuple[int, bytes] | str


@pytest.fixture
async def dialer() -> AsyncIterator[HttpDialer]:
    it = HttpDialer({})
    yield it
    await it.close()


def get(url: str, **fields: object) -> HttpRequest:
    return HttpRequest(method="GET", url=url, **fields)  # type: ignore[arg-type] # a test's fields


async def fetch(dialer: HttpDialer, url: str, **fields: object) -> bytes:
    async with asyncio.timeout(10), dialer.open(get(url, **fields)) as response:
        return await response.read()


class Wire(asyncio.Transport):
    """The sending side of a connection that a test feeds by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = b""
        self.pauses = self.resumes = 0
        self.is_gone = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent += bytes(data)

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        self.sent += b"".join(list_of_data)

    def pause_reading(self) -> None:
        self.pauses += 1

    def resume_reading(self) -> None:
        self.resumes += 1

    def abort(self) -> None:
        self.is_gone = True

    def is_closing(self) -> bool:
        return self.is_gone


def asked() -> tuple[Connection, Wire]:
    """Make a connection that has sent a request."""
    connection, wire = Connection(memoryview(bytearray(64 * 1024))), Wire()
    connection.connection_made(wire)
    connection.send(b"GET / HTTP/1.1\r\n\r\n", None, idle_s=60, total_s=None)
    return connection, wire


def receive(connection: Connection, data: bytes) -> None:
    """Give bytes as a transport does: as many at a time as fit."""
    while data:
        room = connection.get_buffer(-1)
        size = min(len(room), len(data))
        room[:size] = data[:size]
        connection.buffer_updated(size)
        data = data[size:]


async def outcome(connection: Connection) -> Answer:
    """Read an answer whole."""
    try:
        await connection.head_arrived()
        body = b""
        while piece := await connection.piece():
            body += piece
    except Broken as error:
        return error.cause
    return connection.status, body


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
CUT, NO_HTTP = "the body ended before it was complete", "the answer is not valid HTTP"
NO_ANSWER = "the server closed the connection without an answer"

ANSWERS: dict[str, tuple[bytes, Answer]] = {
    "length": (OK + b"Content-Length: 5\r\n\r\nhello", (200, b"hello")),
    "chunks": (CHUNKED + b"2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n", (200, b"hello")),
    "trailers": (CHUNKED + b"1\r\nh\r\n0\r\nX-A: b\r\n\r\n", (200, b"h")),
    "no body": (b"HTTP/1.1 204 No Content\r\n\r\n", (204, b"")),
    "interim": (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + OK + b"Content-Length: 2\r\n\r\nok",
        (200, b"ok"),
    ),
    "two answers": ((OK + b"Content-Length: 1\r\n\r\nx") * 2, (200, b"x")),
    "old": (b"HTTP/1.0 200 OK\r\n\r\nto the end", (200, b"to the end")),
    "cut length": (OK + b"Content-Length: 9\r\n\r\nhello", CUT),
    "cut chunks": (CHUNKED + b"2\r\nhe\r\n", CUT),
    "cut head": (OK + b"Content-Le", NO_ANSWER),
    "nothing": (b"", NO_ANSWER),
    "no http": (b"SSH-2.0-x\r\n", NO_HTTP),
    "bad chunk": (CHUNKED + b"zz\r\n", NO_HTTP),
    "two lengths": (OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nab", NO_HTTP),
    "switch": (b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", NO_HTTP),
}


class TestFraming:
    @pytest.mark.parametrize("name", ANSWERS)
    async def test_an_answer_is_the_same_however_its_bytes_are_cut(self, name: str) -> None:
        data, expected = ANSWERS[name]
        for at in range(len(data) + 1):
            for pieces in ([data[:at], data[at:]], [bytes([byte]) for byte in data]):
                connection, wire = asked()
                for piece in pieces:
                    if piece and not wire.is_gone:
                        receive(connection, piece)
                connection.connection_lost(None)
                assert await outcome(connection) == expected, pieces

    async def test_random_bytes_end_in_an_outcome_and_never_in_an_exception(self) -> None:
        chance = random.Random(7)
        starts = [data for data, _ in ANSWERS.values()]
        for _ in range(3_000):
            data = bytearray(chance.choice(starts))
            for _ in range(chance.randrange(4)):
                if data:
                    data[chance.randrange(len(data))] = chance.randrange(256)
            connection, wire = asked()
            while data and not wire.is_gone:
                size = chance.randrange(1, 40)
                receive(connection, bytes(data[:size]))
                del data[:size]
            connection.connection_lost(None)
            assert isinstance(await outcome(connection), tuple | str)
            connection.finish()

    async def test_a_head_without_end_is_given_up(self) -> None:
        connection, wire = asked()
        receive(connection, b"HTTP/1.1 200 OK\r\n")
        for number in range(3_000):
            if not wire.is_gone:
                receive(connection, b"X-%d: %b\r\n" % (number, b"y" * 100))
        assert wire.is_gone
        assert await outcome(connection) == "the answer is not valid HTTP"

    async def test_a_reader_that_is_slow_stops_the_socket_and_starts_it_again(self) -> None:
        connection, wire = asked()
        receive(connection, b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        fed = 0
        while not wire.pauses:
            receive(connection, b"x" * 10_000)
            fed += 10_000
        assert fed <= MOST_BUFFERED + 10_000
        assert len(await connection.piece()) == fed
        assert (wire.pauses, wire.resumes) == (1, 1)
        connection.finish()

    async def test_a_lost_connection_is_no_end_of_a_body_that_runs_to_the_end(self) -> None:
        connection, _ = asked()
        receive(connection, b"HTTP/1.0 200 OK\r\n\r\nto the")
        connection.connection_lost(ConnectionResetError())
        assert await outcome(connection) == "the body ended before it was complete"

    async def test_the_first_cause_stays_whatever_the_closing_socket_says(self) -> None:
        connection, wire = asked()
        connection.fail("silent")
        connection.connection_lost(None)
        connection.fail("later")
        assert (await outcome(connection), wire.is_gone) == ("silent", True)


class TestReuse:
    async def test_a_connection_is_used_again_after_a_whole_answer(self, dialer: HttpDialer) -> None:
        async with vendor(whole(b"one"), [STREAM_HEAD, chunk(b"two"), LAST], whole(b"", status="404 No")) as server:
            assert [await fetch(dialer, server.url) for _ in range(3)] == [b"one", b"two", b""]
        assert server.connections == 1

    @pytest.mark.parametrize(
        "answer",
        [
            whole(b"x", headers="Connection: close\r\n"),
            [b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx"],
            [*whole(b"x"), b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nsmuggle"],
        ],
    )
    async def test_it_is_not_used_again_when_the_server_says_so_or_says_too_much(
        self, dialer: HttpDialer, answer: list[Step]
    ) -> None:
        async with vendor(answer) as server:
            for _ in range(2):
                assert await fetch(dialer, server.url) == b"x"
                await asyncio.sleep(0.02)  # what is said too much arrives
        assert server.connections == 2

    async def test_requests_at_the_same_time_have_a_connection_each_and_keep_them(self, dialer: HttpDialer) -> None:
        async with vendor(whole(b"x")) as server:
            for _ in range(3):
                await asyncio.gather(*(fetch(dialer, server.url) for _ in range(5)))
        assert server.connections <= 6

    async def test_one_that_the_server_closed_meanwhile_is_not_used(self, dialer: HttpDialer) -> None:
        async with vendor([*whole(b"x"), Act.DROP]) as server:
            for _ in range(3):
                assert await fetch(dialer, server.url) == b"x"
                await asyncio.sleep(0.02)  # the end arrives
        assert server.connections == 3

    async def test_a_cancelled_answer_takes_its_connection_with_it(self, dialer: HttpDialer) -> None:
        async with vendor([STREAM_HEAD, chunk(b"one"), Act.STALL], whole(b"two")) as server:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await fetch(dialer, server.url)
            assert await fetch(dialer, server.url) == b"two"
        assert server.connections == 2

    async def test_no_descriptor_is_left_when_the_dialer_is_closed(self) -> None:
        before = len(os.listdir("/proc/self/fd"))
        async with vendor(whole(b"x")) as server:
            dialer = HttpDialer({})
            await asyncio.gather(*(fetch(dialer, server.url) for _ in range(5)))
            await dialer.close()
            await asyncio.sleep(0.05)  # the server sees it
        assert len(os.listdir("/proc/self/fd")) == before

    def test_tls_is_checked_and_its_connection_used_again(self, tmp_path: Path) -> None:
        code = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from ferrule.ports.dialer import HttpRequest
from ferrule.sandbox.dialer import HttpDialer
from tests.providers._vendor import vendor, whole
from tests.sandbox._certificate import untrusted

async def main():
    dialer = HttpDialer({})
    async with vendor(whole(b"secret"), tls=untrusted(Path(sys.argv[1]))) as server:
        for host in ("localhost", "127.0.0.1", "localhost"):
            url = f"https://{host}:{server.port}/"
            async with dialer.open(HttpRequest(method="GET", url=url)) as response:
                print((await response.read()).decode(), server.connections)
    await dialer.close()

asyncio.run(main())
"""
        (tmp_path / "ca.pem").write_text(CERTIFICATE)
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path), str(Path(__file__).parents[2])],
            env={**os.environ, "SSL_CERT_FILE": str(tmp_path / "ca.pem")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout.splitlines() == ["secret 1", "secret 2", "secret 2"], done.stderr


class TestBodies:
    @pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
    async def test_a_packed_body_is_unpacked_up_to_the_limit(
        self, dialer: HttpDialer, pack: Callable[[bytes], bytes]
    ) -> None:
        coding = "gzip" if pack is gzip.compress else "deflate"
        packed = pack(b"x" * 1_000_000)
        async with vendor(whole(packed, headers=f"Content-Encoding: {coding}\r\n")) as server:
            assert len(await fetch(dialer, server.url)) == 1_000_000
            with pytest.raises(ConnectionFailed, match="longer than 50000 bytes"):
                await fetch(dialer, server.url, max_bytes=50_000)

    async def test_a_body_packed_otherwise_or_badly_is_refused(self, dialer: HttpDialer) -> None:
        for coding, said in (("br", "not asked for"), ("gzip", "damaged")):
            async with vendor(whole(b"no gzip at all", headers=f"Content-Encoding: {coding}\r\n")) as server:
                with pytest.raises(ConnectionFailed, match=said):
                    await fetch(dialer, server.url)

    async def test_a_long_request_body_arrives_whole(self, dialer: HttpDialer) -> None:
        body = os.urandom(3_000_000)
        async with vendor(whole(b"ok")) as server:
            async with dialer.open(HttpRequest(method="POST", url=server.url, body=body)) as response:
                assert await response.read() == b"ok"
        assert server.asked[0].body == body

    async def test_an_answer_without_a_body_to_a_question_for_the_head_alone(self, dialer: HttpDialer) -> None:
        async with vendor([b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"]) as server:
            async with asyncio.timeout(5), dialer.open(HttpRequest(method="HEAD", url=server.url)) as response:
                assert (response.headers["content-length"], await response.read()) == ("5", b"")


class TestTargets:
    @pytest.mark.parametrize(
        ("address", "host", "path"),
        [
            ("http://h.test", "h.test", "/"),
            ("https://h.test:8443/a b?q=ü&x=%20", "h.test:8443", "/a%20b?q=%C3%BC&x=%20"),
            ("http://[::1]:80/x", "[::1]:80", "/x"),
            ("http://bücher.test/", "xn--bcher-kva.test", "/"),
            ("http://u:p@h.test/?a=1#part", "h.test", "/?a=1"),
        ],
    )
    def test_an_address_is_taken_apart(self, address: str, host: str, path: str) -> None:
        target = Target.of(address)
        assert target is not None
        assert (target.host, target.path) == (host, path)

    @pytest.mark.parametrize(
        "address", ["", "h.test", "ftp://h", "http://", "http://h:0/", "http://h:99999/", "http://[x"]
    )
    def test_what_is_no_address_is_none(self, address: str) -> None:
        assert Target.of(address) is None

    def test_no_header_can_bring_another_one_along(self) -> None:
        target = Target.of("http://h.test/")
        assert target is not None
        for name, value in (
            ("A\r\nB", "x"),
            ("A", "x\r\nB: y"),
            ("A", "x\ny"),
            ("A b", "x"),
            ("", "x"),
            ("A", "\u20ac"),
        ):
            with pytest.raises(Broken, match="characters that HTTP forbids"):
                target.head("GET", {name: value}, None)

    def test_the_own_fields_of_a_request_win(self) -> None:
        target = Target.of("http://u:p@h.test/")
        assert target is not None
        sent = target.head("POST", {"authorization": "Bearer x", "user-agent": "me"}, None).decode()
        assert "Basic" not in sent
        assert "ferrule" not in sent
        assert sent.endswith("Content-Length: 0\r\n\r\n")
        assert target.head("GET", {}, None).decode().count("Content-Length") == 0


def test_a_name_that_cannot_be_resolved_is_the_cause() -> None:
    assert cause_of(socket.gaierror(-2, "Name or service not known")) == "the host name could not be resolved"


async def test_a_process_that_needs_no_proxy_does_not_load_the_large_client(tmp_path: Path) -> None:
    async with vendor(whole(b"ok")) as server:
        code = (
            "import asyncio, sys\n"
            "from ferrule.ports.dialer import HttpRequest\n"
            "from ferrule.sandbox.dialer import HttpDialer\n"
            "async def main():\n"
            "    dialer = HttpDialer({})\n"
            "    async with dialer.open(HttpRequest(method='GET', url=sys.argv[1])) as response:\n"
            "        print(await response.read(), 'aiohttp' in sys.modules)\n"
            "    await dialer.close()\n"
            "asyncio.run(main())\n"
        )
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, server.url, stdout=asyncio.subprocess.PIPE
        )
        out, _ = await process.communicate()
    assert out == b"b'ok' False\n"
