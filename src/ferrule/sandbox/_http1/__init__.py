"""A small HTTP/1.1 client over httptools: keep-alive connections to plain and TLS servers, one exchange at a time each.

It does what requests to model servers need and nothing else; proxies go
through aiohttp. Requests cost less than half of what they cost there, a piece
of a stream about a third, and a process that never needs a proxy does not
import it.
"""

from .connection import Broken
from .exchange import Exchange, Limits, Target
from .pool import Pool

__all__ = ["Broken", "Exchange", "Limits", "Pool", "Target"]
