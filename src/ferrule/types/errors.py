"""Every error the runtime raises on purpose.

FerruleError
├─ ConfigError              the operator's file, flag or variable is wrong
├─ UsageError               the caller of a function or command is wrong
│  ├─ HookTypeError         a hook returned neither None nor a string
│  ├─ NestedSend            an agent was asked to send from inside its own turn
│  └─ IllegalTransition     a message cannot go from this status to that one
├─ PolicyDenied             a decision said no; never retried
├─ ProviderError            the model API failed
│  ├─ AuthenticationFailed  the key was refused
│  ├─ RateLimited           retry after ``retry_after_s`` seconds
│  ├─ Overloaded            the vendor is busy; retry with back-off
│  ├─ ConnectionFailed      no answer: refused, reset, timed out, TLS
│  ├─ StreamBroken          an answer began and did not end properly
│  ├─ EmptyAnswer           an answer without text, calls or reasoning
│  ├─ ContextOverflow       the request is too long; compact, then retry
│  └─ BadRequest            the vendor refused the request as it stands
├─ ToolError                shown to the model, which may adapt
├─ StoreError               bytes at rest could not be read or written
│  └─ SessionBusy           another process holds this session
└─ LimitReached             rounds, tool calls, tokens, money or wall time

``code`` is stable: logs, HTTP, events and exit codes share it. ``hint`` says
what to do about it, in one sentence.
"""

from __future__ import annotations


class FerruleError(Exception):
    """Root of the tree; ``str(error)`` names what and where, ``hint`` how to fix it."""

    code: str = "internal"

    def __init__(self, message: str, *, hint: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint
        if code is not None:
            self.code = code


class ConfigError(FerruleError):
    """The operator's file, flag or environment variable is wrong."""

    code = "config.invalid"


class UsageError(FerruleError):
    """The caller used a function or a command in a way that cannot work."""

    code = "usage"


class HookTypeError(UsageError):
    """A hook returned something that is neither None nor a string."""

    code = "hook.type"


class NestedSend(UsageError):
    """An agent was asked to send from inside its own turn, which would wait for itself."""

    code = "turn.nested"


class IllegalTransition(UsageError):
    """A message was asked to change into a status that its present status forbids."""

    code = "message.transition"


class PolicyDenied(FerruleError):
    """A decision said no; asking again gives the same answer."""

    code = "policy.denied"


class ProviderError(FerruleError):
    """The model API failed; ``retryable`` says whether the same request may succeed later."""

    code = "provider.failed"
    retryable = False


class AuthenticationFailed(ProviderError):
    """The key was refused (HTTP 401 or 403)."""

    code = "provider.authentication"


class RateLimited(ProviderError):
    """The vendor asked us to wait; ``retry_after_s`` in seconds, None when it did not say."""

    code = "provider.rate_limited"
    retryable = True

    def __init__(self, message: str, *, retry_after_s: float | None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after_s = retry_after_s


class Overloaded(ProviderError):
    """The vendor is busy or broken for now (HTTP 5xx, 529, overloaded_error)."""

    code = "provider.overloaded"
    retryable = True


class ConnectionFailed(ProviderError):
    """No answer came: refused, reset before a byte, timed out, TLS or name resolution."""

    code = "provider.connection"
    retryable = True


class StreamBroken(ProviderError):
    """An answer began and did not end properly: cut, silent, not UTF-8, not JSON."""

    code = "provider.stream_broken"
    retryable = True


class EmptyAnswer(ProviderError):
    """The vendor answered 200 without text, tool calls or reasoning."""

    code = "provider.empty_answer"
    retryable = True


class ContextOverflow(ProviderError):
    """The request is longer than the model's window."""

    code = "provider.context_overflow"


class BadRequest(ProviderError):
    """The vendor refused the request as it stands (HTTP 4xx); repeating it is useless."""

    code = "provider.bad_request"


class ToolError(FerruleError):
    """A tool could not do what was asked; the text is shown to the model."""

    code = "tool.failed"


class StoreError(FerruleError):
    """Bytes at rest could not be read or written; nothing was acknowledged."""

    code = "store.failed"


class SessionBusy(StoreError):
    """Another process, named by ``pid``, holds this session."""

    code = "session.busy"

    def __init__(self, session_id: str, *, pid: int | None) -> None:
        holder = f"process {pid}" if pid is not None else "another process"
        super().__init__(
            f"session {session_id!r} is in use by {holder}",
            hint="wait until it ends, or continue in a copy with --fork",
        )
        self.session_id = session_id
        self.pid = pid


class LimitReached(FerruleError):
    """A limit of the runtime profile stopped the turn; ``code`` names which one."""

    code = "limit.reached"
