"""Which proxy the environment names for an address."""

from __future__ import annotations

import pytest

from ferrule.sandbox._proxies import Proxies

P = "http://proxy.test:3128"


def proxy(
    environ: dict[str, str], scheme: str = "http", host: str = "model.test", port: int | None = None
) -> str | None:
    found = Proxies.of(environ).for_url(scheme, host, port)
    return found.address if found else None


def test_each_scheme_has_its_variable_and_one_serves_all() -> None:
    assert proxy({"HTTP_PROXY": P}) == P
    assert proxy({"HTTP_PROXY": P}, "https") is None
    assert proxy({"HTTPS_PROXY": P}, "https") == P
    assert proxy({"ALL_PROXY": P}, "https") == P
    assert proxy({"http_proxy": P, "HTTP_PROXY": "http://other.test"}) == P
    assert proxy({"HTTP_PROXY": " "}) is None
    assert proxy({"HTTP_PROXY": "proxy.test:3128"}) == P


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST.", "127.0.0.1", "127.8.8.8", "::1"])
def test_loopback_is_never_sent_to_a_proxy(host: str) -> None:
    assert proxy({"HTTP_PROXY": P}, host=host) is None


@pytest.mark.parametrize(
    ("rule", "host", "port", "direct"),
    [
        ("*", "model.test", None, True),
        ("model.test", "model.test", None, True),
        ("MODEL.test", "model.TEST", None, True),
        ("model.test", "api.model.test", None, True),
        (".model.test", "api.model.test", None, True),
        ("*.model.test", "api.model.test", None, True),
        ("model.test", "notmodel.test", None, False),
        ("a.test, model.test", "model.test", None, True),
        ("model.test:8080", "model.test", 8080, True),
        ("model.test:8080", "model.test", 80, False),
        ("10.0.0.0/8", "10.1.2.3", None, True),
        ("10.0.0.0/8", "11.1.2.3", None, False),
        ("10.0.0.0/8", "model.test", None, False),
        ("nonsense/8", "10.1.2.3", None, False),
        ("10.1.2.3", "10.1.2.3", None, True),
        ("[2001:db8::1]", "2001:db8::1", None, True),
        ("2001:db8::1", "2001:db8::1", None, True),
        (".", "model.test", None, False),
        ("", "model.test", None, False),
    ],
)
def test_exempt_hosts_are_names_addresses_networks_and_ports(
    rule: str, host: str, port: int | None, direct: bool
) -> None:
    assert (proxy({"HTTP_PROXY": P, "NO_PROXY": rule}, host=host, port=port) is None) is direct


def test_the_credentials_of_a_proxy_are_no_part_of_its_printed_form() -> None:
    found = Proxies.of({"HTTP_PROXY": "http://ann:canary@proxy.test"})
    assert "canary" not in repr(found)
    assert "ann" not in repr(found)
