"""A scripted model server on a real loopback socket: OpenAI-style, and Ollama's dialect.

    async with MockLLM([say("hello")]) as server:
        provider = OpenAI(model="any", base_url=server.base_url)

Each request takes the next step of the script; every request is recorded in
`server.requests`. Without a script the model's name says what to answer:
``mock-plain-N`` N words, ``mock-tools-K`` K rounds of one tool call each,
``mock-parallel-K`` K calls at once. `server.ollama_url` is the address for
Ollama's dialect. ``python -m ferrule.testing.mock_llm`` runs it by hand.
"""

from __future__ import annotations

from .script import Reply, call, calls, error, raw, say
from .server import MockLLM, Recorded

__all__ = ["MockLLM", "Recorded", "Reply", "call", "calls", "error", "raw", "say"]
