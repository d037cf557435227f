"""Connections out of this process: what is sent, what comes back, and what an error may say."""

from __future__ import annotations

import asyncio
import gzip
import inspect
import traceback
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import client_exceptions, http_exceptions

from ferrule.ports.dialer import HttpRequest
from ferrule.sandbox.dialer import CAUSES, HttpDialer, cause_of, place_of
from ferrule.types.errors import ConnectionFailed, PolicyDenied
from tests.providers._vendor import LAST, STREAM_HEAD, Act, Step, chunk, vendor, whole
from tests.sandbox._certificate import untrusted


@pytest.fixture
async def dialer() -> AsyncIterator[HttpDialer]:
    it = HttpDialer({})
    yield it
    await it.close()


def get(url: str, **fields: object) -> HttpRequest:
    return HttpRequest(method="GET", url=url, **fields)  # type: ignore[arg-type] # a test's fields


async def refused(dialer: HttpDialer, request: HttpRequest) -> ConnectionFailed:
    with pytest.raises(ConnectionFailed) as caught:
        async with asyncio.timeout(10), dialer.open(request) as response:
            await response.read()
    return caught.value


class TestExchange:
    async def test_what_was_asked_for_is_sent_as_it_is_and_the_answer_comes_back(self, dialer: HttpDialer) -> None:
        async with vendor(whole(b"hello", headers="X-One: a\r\nX-One: b\r\nSet-Cookie: c=1\r\n")) as server:
            headers = {"Authorization": "Bearer good", "Content-Type": "text/plain"}
            request = HttpRequest(method="POST", url=f"{server.url}/p?q=1", headers=headers, body=b"body")
            for _ in range(2):
                async with dialer.open(request) as response:
                    assert (response.status, await response.read()) == (200, b"hello")
                    assert response.headers["x-one"] == "a, b"
                    assert response.headers is response.headers
        asked = server.asked[1]
        assert (asked.line, asked.body) == ("POST /p?q=1 HTTP/1.1", b"body")
        assert set(asked.headers) == {
            "host", "authorization", "content-type", "accept-encoding", "user-agent", "content-length",
        }  # fmt: skip
        assert asked.headers["authorization"] == "Bearer good"
        assert asked.headers["accept-encoding"] == "identity"
        assert server.connections == 1

    async def test_pieces_come_as_the_socket_gave_them(self, dialer: HttpDialer) -> None:
        gate = asyncio.Event()
        async with vendor([STREAM_HEAD, chunk(b"one"), gate, chunk(b"two"), LAST]) as server:
            async with dialer.open(get(server.url)) as response:
                pieces = response.pieces()
                assert await anext(pieces) == b"one"
                gate.set()
                assert [piece async for piece in pieces] == [b"two"]

    async def test_redirects_are_not_followed(self, dialer: HttpDialer) -> None:
        async with vendor(whole(b"", status="302 Found", headers="Location: /other\r\n")) as server:
            async with dialer.open(get(server.url)) as response:
                assert (response.status, response.headers["location"]) == (302, "/other")
        assert len(server.asked) == 1

    async def test_a_body_that_comes_compressed_against_our_wish_is_unpacked(self, dialer: HttpDialer) -> None:
        async with vendor(whole(gzip.compress(b"hello"), headers="Content-Encoding: gzip\r\n")) as server:
            async with dialer.open(get(server.url)) as response:
                assert await response.read() == b"hello"

    async def test_leaving_an_unread_answer_ends_it_at_the_server(self, dialer: HttpDialer) -> None:
        async with vendor([STREAM_HEAD, chunk(b"one"), Act.STALL]) as server:
            async with dialer.open(get(server.url)) as response:
                assert await anext(response.pieces()) == b"one"
            async with asyncio.timeout(5):
                await server.gone.wait()

    async def test_cancelling_while_the_head_is_awaited_ends_the_request(self, dialer: HttpDialer) -> None:
        async with vendor([Act.STALL]) as server:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1), dialer.open(get(server.url)):
                    raise AssertionError("answered")
            async with asyncio.timeout(5):
                await server.gone.wait()

    async def test_the_user_part_of_an_address_is_sent_unless_the_request_brings_its_own(
        self, dialer: HttpDialer
    ) -> None:
        async with vendor(whole(b"")) as server:
            url = server.url.replace("//", "//ann:pw@")
            for headers in ({}, {"authorization": "Bearer mine"}):
                async with dialer.open(get(url, headers=headers)):
                    pass
        assert [a.headers["authorization"] for a in server.asked] == ["Basic YW5uOnB3", "Bearer mine"]

    async def test_an_address_chosen_by_an_agent_is_refused_before_anything_is_sent(self, dialer: HttpDialer) -> None:
        async with vendor(whole(b"")) as server:
            with pytest.raises(PolicyDenied, match=r"127\.0\.0\.1"):
                async with dialer.open(get(server.url, purpose="agent_chosen")):
                    raise AssertionError("sent")
        assert server.connections == 0

    async def test_closing_twice_is_harmless_and_a_closed_dialer_says_so(self) -> None:
        dialer = HttpDialer()
        async with vendor(whole(b"")) as server:
            async with dialer.open(get(server.url)):
                pass
            await dialer.close()
            await dialer.close()
            assert "the dialer was closed" in str(await refused(dialer, get(server.url)))

    def test_one_dialer_serves_one_loop_after_another(self) -> None:
        dialer = HttpDialer({})

        async def once() -> bytes:
            async with vendor([*whole(b"hello", headers="Connection: close\r\n"), Act.DROP]) as server:
                async with dialer.open(get(server.url)) as response:
                    return await response.read()

        assert [asyncio.run(once()), asyncio.run(once())] == [b"hello", b"hello"]
        asyncio.run(dialer.close())


class TestLimits:
    async def test_silence_before_the_head_and_inside_the_body_ends_at_the_idle_limit(self, dialer: HttpDialer) -> None:
        answers: list[list[Step]] = [[Act.STALL], [STREAM_HEAD, chunk(b"one"), Act.STALL]]
        for answer in answers:
            async with vendor(answer) as server:
                assert "idle limit" in str(await refused(dialer, get(server.url, idle_s=0.1)))

    async def test_a_slow_but_living_answer_is_not_idle(self, dialer: HttpDialer) -> None:
        gates = [asyncio.Event() for _ in range(8)]
        steps = [step for gate in gates for step in (gate, chunk(b"."))]
        async with vendor([STREAM_HEAD, *steps, LAST]) as server:
            async with dialer.open(get(server.url, idle_s=0.4)) as response:
                loop = asyncio.get_running_loop()
                for number, gate in enumerate(gates):
                    loop.call_later(0.1 * (number + 1), gate.set)
                assert await response.read() == b"." * 8  # takes twice the idle limit

    async def test_the_total_limit_names_itself(self, dialer: HttpDialer) -> None:
        async with vendor([STREAM_HEAD, chunk(b"one"), Act.STALL]) as server:
            assert "total limit" in str(await refused(dialer, get(server.url, total_s=0.1)))

    async def test_a_connection_that_is_never_finished_ends_at_the_connect_limit(self, dialer: HttpDialer) -> None:
        async with vendor([Act.STALL]) as server:  # it waits for a request, we for its TLS greeting
            error = await refused(dialer, get(server.url.replace("http:", "https:"), connect_s=0.1))
        assert "no connection within the time limit" in str(error)

    async def test_a_body_over_its_limit_is_refused(self, dialer: HttpDialer) -> None:
        async with vendor(whole(b"x" * 11)) as server:
            async with dialer.open(get(server.url, max_bytes=11)) as response:
                assert len(await response.read()) == 11
            assert "longer than 10 bytes" in str(await refused(dialer, get(server.url, max_bytes=10)))


class TestErrors:
    @pytest.mark.parametrize(
        ("answer", "said"),
        [
            ([STREAM_HEAD, chunk(b"one"), Act.DROP], "the body ended before it was complete"),
            ([b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", Act.DROP], "the body ended before it was complete"),
            ([Act.DROP], "closed the connection without an answer"),
            ([b"SSH-2.0-server\r\n", Act.DROP], "the answer is not valid HTTP"),
        ],
    )
    async def test_what_goes_wrong_is_said(self, dialer: HttpDialer, answer: list[bytes | Act], said: str) -> None:
        async with vendor(answer) as server:
            assert said in str(await refused(dialer, get(server.url)))

    async def test_no_error_shows_a_secret_of_the_address_or_the_headers(
        self, dialer: HttpDialer, tmp_path: Path
    ) -> None:
        tail = "/botcanary-1/send?key=canary-2"
        headers = {"Authorization": "Bearer canary-3"}
        async with vendor([Act.STALL], tls=untrusted(tmp_path)) as secure, vendor([Act.STALL]) as silent:
            for base, said in {
                "http://127.0.0.1:1": "connection refused",
                f"https://127.0.0.1:{secure.port}": "TLS certificate is not valid",
                f"https://127.0.0.1:{silent.port}": "no connection within",
                f"http://127.0.0.1:{silent.port}": "idle limit",
                "http://127.0.0.1:99999": "not a valid",
                "ftp://127.0.0.1": "not an http",
                "http:": "not a",
            }.items():
                url = base.replace("//", "//canary-4:canary-5@") + tail
                patience_s = 20 if str(secure.port) in base else 0.2  # a handshake takes its time on a busy machine
                error = await refused(dialer, get(url, headers=headers, connect_s=patience_s, idle_s=0.2))
                assert said in str(error)
                assert "canary" not in repr(error)
                assert "canary" not in "".join(traceback.format_exception(error))

    async def test_a_header_with_a_line_break_is_refused(self, dialer: HttpDialer) -> None:
        async with vendor(whole(b"")) as server:
            error = await refused(dialer, get(server.url, headers={"X-A": "canary\r\nX-B: 1"}))
        assert "characters that HTTP forbids" in str(error)
        assert server.asked == []

    def test_every_exception_of_the_library_has_words_of_its_own(self) -> None:
        kinds = [
            kind
            for module in (client_exceptions, http_exceptions)
            for _, kind in inspect.getmembers(module, inspect.isclass)
            if issubclass(kind, Exception) and kind.__module__ == module.__name__
        ]
        assert len(kinds) > 30
        general = {"ClientError", "Exception", "BaseException", "object"}
        for kind in kinds:
            nearest = next((c.__name__ for c in kind.__mro__ if c.__name__ in CAUSES), "")
            assert nearest, f"{kind.__name__} has no cause"
            assert nearest not in general or kind is aiohttp.ClientError, f"{kind.__name__} has only a general cause"

    def test_system_errors_are_named_by_the_system(self) -> None:
        assert cause_of(ConnectionRefusedError(111, "x")) == "connection refused"
        assert cause_of(OSError(113, "No route to canary")) == "the connection failed: No route to host"
        assert cause_of(OSError("canary")) == "the connection failed"
        assert cause_of(RuntimeError("canary")) == "the connection failed"

    def test_places_are_named_by_host_and_port(self) -> None:
        assert place_of("https://u:p@api.x.test/v1?k=1") == "api.x.test"
        assert place_of("http://[::1]:8080/") == "[::1]:8080"
        assert place_of("nothing") == "an address without a host"
        assert place_of("http://h:99999") == "an address that cannot be read"


class TestProxies:
    async def test_a_proxy_of_the_environment_gets_the_whole_address_and_its_own_credentials(self) -> None:
        async with vendor(whole(b"via")) as proxy:
            dialer = HttpDialer({"HTTP_PROXY": proxy.url.replace("//", "//ann:p%40w@")})
            async with dialer.open(get("http://model.test/v1")) as response:
                assert await response.read() == b"via"
            await dialer.close()
        assert proxy.asked[0].line == "GET http://model.test/v1 HTTP/1.1"
        assert proxy.asked[0].headers["proxy-authorization"] == "Basic YW5uOnBAdw=="

    async def test_loopback_and_exempt_hosts_are_reached_directly(self) -> None:
        dialer = HttpDialer({"http_proxy": "http://127.0.0.1:1"})
        async with vendor(whole(b"direct")) as server:
            async with dialer.open(get(server.url)) as response:
                assert await response.read() == b"direct"
        await dialer.close()

    async def test_a_proxy_that_refuses_or_is_not_there_is_named_as_the_cause(self) -> None:
        async with vendor([*whole(b"", status="403 Forbidden"), Act.DROP]) as proxy:
            dialer = HttpDialer({"https_proxy": proxy.url})
            assert "the proxy refused" in str(await refused(dialer, get("https://model.test/")))
            await dialer.close()
        assert proxy.asked[0].line == "CONNECT model.test:443 HTTP/1.1"
        for address, said in (
            ("127.0.0.1:1", "the proxy could not be reached"),
            ("http://ann:canary@127.0.0.1:1", "the proxy could not be reached"),
            ("socks5://canary@127.0.0.1:1", "socks5 is no kind of proxy that can be used"),
        ):
            dialer = HttpDialer({"ALL_PROXY": address})
            error = str(await refused(dialer, get("http://model.test/")))
            assert said in error
            assert "canary" not in error
            await dialer.close()
