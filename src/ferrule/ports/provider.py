"""A model API."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol, runtime_checkable

from ..types.completion import Completion, ProviderEvent, Request


@runtime_checkable
class Provider(Protocol):
    """A model API that turns one request into one stream of events.

    Implementations are stateless between calls and safe to share between
    tasks. They map every vendor failure to a `ProviderError`; no vendor
    exception crosses this line. `Finished` is the last event of a good
    stream; a stream that merely ends is an error. `CallReady` comes only
    after the whole answer has arrived, so nothing of a partial call can run.
    Closing the iterator early ends the request at the vendor.
    """

    @property
    def name(self) -> str:
        """Stable identifier used in config, logs and model ids, for example ``openai.main``."""
        ...

    def stream(self, request: Request) -> AsyncIterator[ProviderEvent]:
        """Ask the model once.

        Raises:
            AuthenticationFailed: the key was refused.
            RateLimited: the vendor asked us to wait; `retry_after_s` in seconds.
            ContextOverflow: the request is longer than the model's window.
            StreamBroken: the answer began and did not end properly.
            ProviderError: anything else went wrong on the vendor's side.
        """
        ...


@runtime_checkable
class CompletionProvider(Protocol):
    """The smallest provider: it answers whole. It is wrapped into the same events."""

    @property
    def name(self) -> str:
        """Stable identifier used in config, logs and model ids."""
        ...

    async def complete(self, request: Request) -> Completion:
        """Ask the model once and return the whole answer.

        Raises:
            ProviderError: as for `Provider.stream`.
        """
        ...
