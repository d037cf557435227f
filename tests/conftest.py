"""What holds for every test: no socket leaves this machine."""

from __future__ import annotations

import sys
from ipaddress import ip_address

LOCAL_NAMES = frozenset({"", "localhost", "ip6-localhost"})


def is_local(address: object) -> bool:
    """Say whether a socket address stays on this machine: unix sockets, netlink, loopback."""
    if not isinstance(address, tuple) or not address or not isinstance(address[0], str):
        return True
    host = address[0].partition("%")[0]
    if host in LOCAL_NAMES:
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def refuse_remote(event: str, arguments: tuple[object, ...]) -> None:
    """An audit hook: connecting or sending anywhere but loopback is an error of the test."""
    if event in ("socket.connect", "socket.sendto") and not is_local(arguments[1]):
        raise PermissionError(f"a test tried to reach {arguments[1]!r}; only loopback is allowed")
    if event == "socket.getaddrinfo" and not is_local((arguments[0] or "", 0)):
        raise PermissionError(f"a test tried to resolve {arguments[0]!r}; only loopback is allowed")


sys.addaudithook(refuse_remote)
