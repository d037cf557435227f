"""The client for servers that are reached directly, against servers and callers that mean harm."""

from __future__ import annotations

import asyncio
import gzip
import os
import zlib
from collections.abc import AsyncIterator, Iterator

import pytest

from ferrule.ports.dialer import HttpRequest
from ferrule.sandbox._http1 import Broken, Target
from ferrule.sandbox.dialer import HttpDialer
from ferrule.types.errors import ConnectionFailed
from tests.providers._vendor import vendor, whole
from tests.sandbox.test_http1 import CHUNKED, NO_HTTP, asked, fetch, outcome, receive

SECRET = "sk-very-secret"


@pytest.fixture
async def dialer() -> AsyncIterator[HttpDialer]:
    it = HttpDialer({})
    yield it
    await it.close()


def target() -> Target:
    it = Target.of("http://h.test/")
    assert it is not None
    return it


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and everything that is tied to it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


class TestAnswers:
    @pytest.mark.parametrize(
        ("start", "more"),
        [
            (CHUNKED + b"1\r\nx\r\n0\r\nX: ", b"y" * 60_000),
            (CHUNKED + b"1\r\nx\r\n0\r\n", b"X: y\r\n" * 10_000),
            (CHUNKED + b"1;", b"e" * 60_000),
        ],
        ids=["a trailer", "trailers", "an extension"],
    )
    async def test_what_is_no_body_and_never_ends_is_given_up(self, start: bytes, more: bytes) -> None:
        connection, wire = asked()
        receive(connection, start)
        for _ in range(3):
            if not wire.is_gone:
                receive(connection, more)
        assert wire.is_gone
        assert await outcome(connection) == NO_HTTP

    async def test_a_long_body_in_the_smallest_chunks_is_no_such_thing(self) -> None:
        connection, wire = asked()
        receive(connection, CHUNKED)
        for _ in range(10):
            receive(connection, b"1\r\nx\r\n" * 5_000)
            assert await connection.piece() == b"x" * 5_000
        assert not wire.is_gone
        connection.finish()

    async def test_a_packed_body_that_was_cut_before_its_end_is_no_whole_answer(self, dialer: HttpDialer) -> None:
        for coding, packed in (("gzip", gzip.compress(os.urandom(9_000))), ("deflate", zlib.compress(b"x" * 9_000))):
            for end in (-1, -9):
                cut = whole(packed[:end], headers=f"Content-Encoding: {coding}\r\n")
                async with vendor(cut) as server:
                    with pytest.raises(ConnectionFailed, match="ended before it was complete"):
                        await fetch(dialer, server.url)

    async def test_what_follows_a_packed_body_is_refused(self, dialer: HttpDialer) -> None:
        packed = gzip.compress(b"body")
        for more in (b"garbage", b"x" * 500_000):
            async with vendor(whole(packed + more, headers="Content-Encoding: gzip\r\n")) as server:
                with pytest.raises(ConnectionFailed, match="damaged"):
                    await fetch(dialer, server.url)

    async def test_an_empty_body_may_say_that_it_is_packed(self, dialer: HttpDialer) -> None:
        async with vendor(whole(b"", headers="Content-Encoding: gzip\r\n")) as server:
            assert await fetch(dialer, server.url) == b""

    async def test_a_status_that_does_not_exist_is_no_answer(self) -> None:
        connection, wire = asked()
        receive(connection, b"HTTP/1.1 000 Zero\r\nContent-Length: 1\r\n\r\nx")
        assert wire.is_gone
        assert await outcome(connection) == NO_HTTP


class TestReuse:
    async def test_a_connection_whose_request_is_not_all_sent_is_not_used_again(self, dialer: HttpDialer) -> None:
        seen: list[bytes] = []
        ended = asyncio.Event()

        async def answer_early(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            seen.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
            await ended.wait()
            writer.transport.abort()

        server = await asyncio.start_server(answer_early, "127.0.0.1", 0, limit=1_000)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        async with server, asyncio.timeout(10):
            for _ in range(2):
                async with dialer.open(HttpRequest(method="POST", url=url, body=bytes(8_000_000))) as response:
                    assert response.status == 413
            ended.set()
        assert len(seen) == 2

    async def test_an_answer_that_outlives_the_dialer_leaves_no_descriptor(self) -> None:
        before = len(os.listdir("/proc/self/fd"))
        go = asyncio.Event()
        async with vendor([*whole(b"x" * 9), go]) as server:
            dialer = HttpDialer({})
            async with dialer.open(HttpRequest(method="GET", url=server.url)) as response:
                assert await response.read() == b"x" * 9
                await dialer.close()
            go.set()
            async with asyncio.timeout(5):
                await server.gone.wait()
            await asyncio.sleep(0.05)  # its own socket is closed
        assert len(os.listdir("/proc/self/fd")) <= before


class TestCallers:
    def test_no_error_is_tied_to_one_that_holds_a_header(self) -> None:
        for value in (SECRET + "\u20ac", SECRET + "\r\n", SECRET + "\x01", SECRET + "\x7f"):
            with pytest.raises(Broken, match="characters that HTTP forbids") as caught:
                target().head("GET", {"Authorization": value}, None)
            for error in chain(caught.value):
                assert SECRET not in repr(error), repr(error)

    def test_a_target_does_not_show_its_password(self) -> None:
        it = Target.of("http://me:hidden@h.test/?key=hidden")
        assert it is not None
        assert "hidden" not in repr(it)
        assert str(it.user) not in repr(it)

    def test_headers_that_were_changed_meanwhile_are_sent_as_they_are_now(self) -> None:
        it, headers = target(), {"Authorization": "old"}
        assert b"old" in it.head("GET", headers, None)
        headers["Authorization"] = "new"
        assert b"Authorization: new" in it.head("GET", headers, None)

    @pytest.mark.parametrize("name", ["Content-Length", "transfer-encoding"])
    def test_nobody_else_says_how_long_a_request_is(self, name: str) -> None:
        with pytest.raises(Broken, match="not its caller's to say"):
            target().head("POST", {name: "5"}, b"hello")

    @pytest.mark.parametrize("address", ["http://a\0b.test/", "http://a b.test/"])
    async def test_a_host_that_cannot_be_one_is_no_address(self, dialer: HttpDialer, address: str) -> None:
        with pytest.raises(ConnectionFailed, match="not a valid http or https URL"):
            await fetch(dialer, address)


@pytest.mark.parametrize(
    "codings",
    ["gzip", "xchunked", "identity", "gzip, chunked", "chunked, gzip", "chunked\r\nTransfer-Encoding: chunked"],
)
async def test_a_body_coded_for_its_transfer_otherwise_than_in_chunks_is_refused(
    dialer: HttpDialer, codings: str
) -> None:
    head = f"HTTP/1.1 200 OK\r\nTransfer-Encoding: {codings}\r\n\r\n".encode()
    async with vendor([head + b"3\r\nabc\r\n0\r\n\r\n"]) as server:
        with pytest.raises(ConnectionFailed, match="transfer coding that was not asked for"):
            await fetch(dialer, server.url)


class Nameless(asyncio.SelectorEventLoop):
    """A loop whose resolver knows every host and no address."""

    async def getaddrinfo(self, *args: object, **named: object) -> list[object]:  # type: ignore[override]  # it answers nothing
        return []


def test_a_host_without_any_address_is_named_as_that() -> None:
    async def go() -> None:
        dialer = HttpDialer({})
        try:
            with pytest.raises(ConnectionFailed, match=r"^model\.test: the host name has no address$"):
                async with dialer.open(HttpRequest(method="GET", url="http://model.test/v1")):
                    pass
        finally:
            await dialer.close()

    with asyncio.Runner(loop_factory=Nameless) as runner:
        runner.run(go())
