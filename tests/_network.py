"""No test leaves this machine: an audit hook of the interpreter, not a patch."""

from __future__ import annotations

from ipaddress import ip_address

LOCAL_NAMES = frozenset({"", "localhost", "ip6-localhost"})


def is_local(address: object) -> bool:
    """Say whether a socket address stays on this machine: unix sockets, netlink, loopback."""
    if not isinstance(address, tuple) or not address:
        return True
    host = address[0].decode("ascii", "replace") if isinstance(address[0], bytes) else address[0]
    if not isinstance(host, str) or host in LOCAL_NAMES:
        return True
    try:
        return ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def refuse_remote(event: str, arguments: tuple[object, ...]) -> None:
    """Raise when a test connects, sends or resolves anywhere but here.

    Raises:
        PermissionError: the address or name is not local; a test that wants a remote part brings a local one.
    """
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg") and not is_local(arguments[1]):
        raise PermissionError(f"a test tried to reach {arguments[1]!r}; only loopback is allowed")
    if event == "socket.getaddrinfo" and not is_local((arguments[0] or "",)):
        raise PermissionError(f"a test tried to resolve {arguments[0]!r}; only loopback is allowed")
