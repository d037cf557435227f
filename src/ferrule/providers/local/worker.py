"""The program that holds a model: a child process, so that it can be stopped at any moment and its memory is freed.

It is started by its path and knows nothing of the rest. The first line of its
input says what to load; each further line is a job or stops one:

    {"model": "/path", "context": 2048, "batch": 64, "socket": "/folder/model.sock"}
    {"job": 1, "work": "chat", "body": {...}}
    {"stop": 1}

It answers with lines of a job's number, a word and JSON: ``begun``, ``chunk``,
``refused`` and ``end``; number 0 stands for the loading: ``ready`` or ``failed``.
The library starts a listener whether it is wanted or not; it gets a Unix
socket in a folder of this user, a random key, and nothing connects to it.
"""

from __future__ import annotations

import json
import os
import queue
import secrets
import sys
import threading
from typing import Any, BinaryIO


class Worker:
    """Does the jobs in the order in which they came."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._jobs: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._stopped: set[int] = set()
        self._server: Any = None

    def load(self, wish: dict[str, Any]) -> bool:
        """Load the model; tell how it went."""
        try:
            import xllamacpp  # type: ignore[import-untyped]  # ships no types
        except ImportError as error:
            self._say(0, "failed", {"kind": "package", "text": str(error)})
            return False
        params = xllamacpp.CommonParams()
        params.model.path = wish["model"]
        params.n_ctx = wish["context"]
        params.n_batch = params.n_ubatch = wish["batch"]
        params.n_parallel = 1
        params.warmup = False
        params.use_jinja = True
        params.verbosity = 1  # errors
        params.hostnames = [wish["socket"]]
        params.port = 0
        params.api_keys = [secrets.token_hex(16)]
        try:
            self._server = xllamacpp.Server(params)
        except (RuntimeError, ValueError) as error:
            self._say(0, "failed", {"kind": "load", "text": str(error)})
            return False
        self._say(0, "ready", {})
        return True

    def take(self, order: dict[str, Any]) -> None:
        """Note a job, or that one is no longer wanted."""
        if "stop" in order:
            self._stopped.add(order["stop"])
        else:
            self._jobs.put(order)

    def work(self) -> None:
        """Do jobs until the end is asked for."""
        while (job := self._jobs.get()) is not None:
            number = job["job"]
            self._say(number, "begun", {})
            if number not in self._stopped:
                self._do(number, job)
            self._stopped.discard(number)
            self._say(number, "end", {})

    def end(self) -> None:
        """Stop whatever runs, and let `work` return."""
        self._stopped = _Everything()
        self._jobs.put(None)

    def _do(self, number: int, job: dict[str, Any]) -> None:
        def heard(chunk: dict[str, Any]) -> bool:
            self._say(number, "chunk", chunk)
            return number in self._stopped

        call = self._server.handle_chat_completions if job["work"] == "chat" else self._server.handle_completions
        try:
            call({**job["body"], "stream": True, "return_progress": True}, heard)
        except (RuntimeError, ValueError) as error:
            self._say(number, "refused", {"error": {"code": 400, "message": str(error)}})

    def _say(self, number: int, word: str, body: dict[str, Any]) -> None:
        text = json.dumps(body, ensure_ascii=True, separators=(",", ":"))
        self._out.write(f"{number} {word} {text}\n".encode("ascii"))
        self._out.flush()


class _Everything(set[int]):
    """A set in which everything is."""

    def __contains__(self, number: object) -> bool:
        return True


def main() -> None:
    """Load, then work until the input ends; the parent's death ends it too."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the library prints is no answer
    worker = Worker(out)
    if not worker.load(json.loads(sys.stdin.buffer.readline())):
        return
    thread = threading.Thread(target=worker.work, daemon=True)
    thread.start()
    for line in sys.stdin.buffer:
        worker.take(json.loads(line))
    worker.end()
    thread.join(0.3)
    if thread.is_alive():
        os._exit(0)  # it computes, and nobody waits for it any more


if __name__ == "__main__":
    main()
