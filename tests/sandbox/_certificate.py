"""A certificate that nobody vouches for, made for these tests only."""

from __future__ import annotations

import ssl
from pathlib import Path

CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUAgv1wN/5xm3c/LbvNKgiGiMCG1EwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTIwMTAwMjUzMVoYDzIxMjYxMTA3
MDAyNTMxWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARzK1n/Hqn/OHcSXTyeWq5pQw5ntzbT3Ls7gAmB2LnEwJNdGIWVo2mU
7Memm9TT9OSOQv9SyA3bY6HAMFUF56zio28wbTAdBgNVHQ4EFgQUEpS+9yhdbkmC
da+/pgD3kpABdtgwHwYDVR0jBBgwFoAUEpS+9yhdbkmCda+/pgD3kpABdtgwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSAAwRQIhAPMQvfV5ARCD+RwwOy3fb9xQYVx9t+yiKzgXJ72UMpUiAiAz
t+U+MZvk8iJV81wZZbw/GuuGhYZDECnKUoiVUvi56A==
-----END CERTIFICATE-----
"""

KEY = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgocLpTNUI1bQ6mOT/
J5j3NdK8RyZbRBTvOyKjwTlSEXOhRANCAARzK1n/Hqn/OHcSXTyeWq5pQw5ntzbT
3Ls7gAmB2LnEwJNdGIWVo2mU7Memm9TT9OSOQv9SyA3bY6HAMFUF56zi
-----END PRIVATE KEY-----
"""


def untrusted(folder: Path) -> ssl.SSLContext:
    """Make a server's context."""
    pair = folder / "pair.pem"
    pair.write_text(KEY + CERTIFICATE)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair)
    return context
