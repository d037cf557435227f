"""Which proxy the environment names for an address."""

from __future__ import annotations

import base64
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit, urlunsplit


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy: its address without user part, and the header that carries the user part."""

    address: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Proxies:
    """The proxy variables of an environment.

    Attributes:
        by_scheme: Proxy for ``http`` and ``https`` targets.
        exempt: Hosts that are reached directly, lower case, as written in ``NO_PROXY``.
    """

    by_scheme: Mapping[str, Proxy]
    exempt: tuple[str, ...]

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Proxies:
        """Read ``HTTP_PROXY``, ``HTTPS_PROXY``, ``ALL_PROXY`` and ``NO_PROXY``; lower case names win, as in curl."""
        found: dict[str, Proxy] = {}
        for scheme in ("http", "https"):
            address = _variable(environ, f"{scheme}_proxy") or _variable(environ, "all_proxy")
            if address:
                found[scheme] = _proxy(address)
        exempt = _variable(environ, "no_proxy").lower().replace(",", " ").split()
        return cls(found, tuple(exempt))

    def for_url(self, scheme: str, host: str, port: int | None) -> Proxy | None:
        """Return the proxy for a target; None for a direct connection, which loopback always gets.

        A proxy's loopback is another machine, so sending ours there never
        reaches what was meant (the rule of Go's ``net/http``).
        """
        proxy = self.by_scheme.get(scheme)
        if proxy is None or _is_loopback(host) or any(_exempts(rule, host.lower(), port) for rule in self.exempt):
            return None
        return proxy


def _variable(environ: Mapping[str, str], name: str) -> str:
    return (environ.get(name) or environ.get(name.upper()) or "").strip()


def _proxy(address: str) -> Proxy:
    """Split a proxy's address; one without a scheme means http."""
    parts = urlsplit(address if "://" in address else f"http://{address}")
    if parts.username is None:
        return Proxy(urlunsplit(parts))
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2])
    user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    token = base64.b64encode(user.encode()).decode()
    return Proxy(urlunsplit(bare), {"Proxy-Authorization": f"Basic {token}"})


def _is_loopback(host: str) -> bool:
    if host.lower().rstrip(".") == "localhost":
        return True
    address = _address(host)
    return address is not None and address.is_loopback


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _exempts(rule: str, host: str, port: int | None) -> bool:
    """Tell whether one entry of ``NO_PROXY`` covers a host: ``*``, a name and all below it, an address, a network."""
    if rule == "*":
        return True
    address = _address(host)
    if address is not None and "/" in rule:
        try:
            return address in ipaddress.ip_network(rule, strict=False)
        except ValueError:
            return False  # a rule that is no network covers nothing
    name, _, wanted = rule.rpartition(":")
    if name and wanted.isdigit() and _address(rule) is None:
        return port == int(wanted) and _exempts(name, host, None)
    bare = rule.strip("[]").lstrip("*").lstrip(".")
    return bool(bare) and (host == bare or host.endswith(f".{bare}"))
